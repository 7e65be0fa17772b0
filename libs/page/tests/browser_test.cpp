// The page in a real browser, headless: what it shows of a farm that is made up, and what one can do there.
#include "browser.hpp"

#include "made_up_farm.hpp"
#include "weir_catch.hpp"
#include <weir/page/page.hpp>

#include <cstdio>
#include <mutex>

using namespace weir;
using namespace weir::page;
using test::Browser;

namespace {

struct Served {
  Served(unsigned readouts, unsigned dcms)
      : farm(readouts, dcms, 2), page(settings(), [this](const Command& command) {
          const std::lock_guard lock(mutex);
          return farm.command(command);
        }) {
    // To where the second last of its processes is dead.
    for (int i = 0; i < 14; ++i) step();
    page.log({test::MadeUpFarm::kBeginUtcNs, "dcm-0", LogLevel::error, "<img src=x onerror=alert(1)>"});
  }
  static PageSettings settings() {
    PageSettings settings;
    settings.token = "sesame";
    return settings;
  }
  void step() {
    const std::lock_guard lock(mutex);
    farm.step();
    page.update(farm.farm());
    for (const LogLine& line : farm.logged()) page.log(line);
  }
  [[nodiscard]] control::State state() {
    const std::lock_guard lock(mutex);
    return farm.farm().state;
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(page.endpoint().port) + "/";
  }

  std::mutex mutex;
  test::MadeUpFarm farm;
  Page page;
};

bool no_browser() {
  if (!test::chromium().empty()) return false;
  std::puts("SKIPPED: no Chromium here; apt-get install chromium");  // ctest looks for these words
  return true;
}

std::string count(const std::string& selector) {
  return "document.querySelectorAll('" + selector + "').length";
}
std::string text_of(const std::string& selector) {
  return "document.querySelector('" + selector + "').textContent";
}

// Presses Tab until the element has the focus; false when it does not come by.
bool tab_to(Browser& browser, const std::string& selector) {
  constexpr int kStopsMax = 60;
  for (int i = 0; i < kStopsMax; ++i) {
    browser.press("Tab");
    if (browser.value("String(document.activeElement.matches('" + selector + "'))") == "true") return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the page shows the farm's state, its processes, plots, ledger, log and runs") {
  if (no_browser()) return;
  Served served(4, 3);
  Browser browser;
  browser.size(1280, 900, false);
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
  CHECK(browser.value("document.title") == "made-up: running");
  CHECK(browser.eventually(text_of("#link") + " === 'live'"));
  CHECK(browser.value(count(".node")) == "10");
  CHECK(browser.value(text_of("#reasons")).find("is dead: its slices went to the others") !=
        std::string::npos);
  // A state is told by its word and its shape, too.
  CHECK(browser.value(count(".node[data-kind=error] .state svg")) == "1");
  CHECK(browser.value(text_of(".node[data-kind=error] .state")) == "dead");
  CHECK(browser.value(text_of(".node[data-kind=error] .reason")).find("signal 9") != std::string::npos);
  CHECK(browser.eventually(count("svg.plot path.line") + " === 8"));
  CHECK(browser.value("String([...document.querySelectorAll('svg.plot path.line')].every((line) => "
                      "line.getAttribute('d').length > 50))") == "true");
  CHECK(browser.value(count("#members tbody tr")) == "10");
  CHECK(browser.value(text_of("#equations")).find("same ids") != std::string::npos);
  CHECK(browser.eventually(count("#run-table tbody tr") + " === 4"));
  // What a process logs is text.
  CHECK(browser.value(text_of("#log-lines")).find("<img src=x") != std::string::npos);
  CHECK(browser.value(count("#log-lines img")) == "0");
  CHECK(browser.errors().empty());
}

TEST_CASE("the page follows the farm without being asked, and searches its log") {
  if (no_browser()) return;
  Served served(2, 2);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
  const std::string before = browser.value(text_of("#run"));
  served.step();
  CHECK(browser.eventually(text_of("#run") + " !== '" + before + "'"));
  served.page.log({test::MadeUpFarm::kBeginUtcNs, "dcm-1", LogLevel::warning, "a new line"});
  CHECK(browser.eventually(text_of("#log-lines li .text") + " === 'a new line'"));
  REQUIRE(tab_to(browser, "#log-text"));
  browser.type("KILLED");
  CHECK(browser.eventually(count("#log-lines li") + " === 1"));
  CHECK(browser.errors().empty());
}

TEST_CASE("an operator commands the farm by keyboard alone, and stopping is asked twice") {
  if (no_browser()) return;
  Served served(2, 2);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
  CHECK(browser.value(count(".command:disabled")) == "7");
  REQUIRE(tab_to(browser, "#token"));
  browser.type("sesame");
  browser.press("Enter");
  CHECK(browser.eventually(count(".command:not(:disabled)") + " === 3"));
  browser.value("document.activeElement.blur()");
  REQUIRE(tab_to(browser, ".command.pause"));
  browser.press("Enter");
  CHECK(browser.eventually(text_of("#answer") + " === 'pause is under way'"));
  CHECK(served.state() == control::State::paused);
  served.step();
  CHECK(browser.eventually(text_of("#farm-state") + " === 'paused'"));
  REQUIRE(tab_to(browser, ".command.stop"));
  browser.press("Enter");
  CHECK(browser.value(text_of(".command.stop")) == "really stop?");
  CHECK(served.state() == control::State::paused);
  browser.press("Enter");
  CHECK(browser.eventually(text_of("#answer") + " === 'stop is under way'"));
  CHECK(served.state() == control::State::ready);
  served.step();
  CHECK(browser.eventually(count("#run-table tbody tr") + " === 5"));
  CHECK(browser.errors().empty());
}

TEST_CASE("a wrong token is refused, forgotten, and nothing happens to the farm") {
  if (no_browser()) return;
  Served served(2, 2);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
  REQUIRE(tab_to(browser, "#token"));
  browser.type("simsalabim");
  browser.press("Enter");
  browser.value("document.querySelector('.command.pause').click()");
  CHECK(browser.eventually(text_of("#answer") + ".startsWith('Refused: ')"));
  CHECK(browser.eventually(count(".command:disabled") + " === 7"));
  CHECK(served.state() == control::State::running);
}

TEST_CASE("arrows walk a group of processes, Enter shows one, Escape goes back to it") {
  if (no_browser()) return;
  Served served(4, 2);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(count(".node") + " === 9"));
  REQUIRE(tab_to(browser, ".readout .node"));
  browser.press("ArrowRight");
  browser.press("ArrowDown");
  browser.press("Enter");
  CHECK(browser.value(text_of("#details[open] h2")) == "readout-2");
  CHECK(browser.value(text_of("#details-list")).find("fe-0") != std::string::npos);
  browser.press("Escape");
  CHECK(browser.eventually(count("#details[open]") + " === 0"));
  CHECK(browser.value("document.activeElement.querySelector('.name').textContent") == "readout-2");
}

TEST_CASE(
    "a phone of 360 pixels shows 300 processes as tiles, those in trouble by name, and nothing sticks out") {
  if (no_browser()) return;
  Served served(200, 98);
  for (int i = 0; i < 2; ++i) served.step();  // to where a readout is throttled, too
  Browser browser;
  browser.size(360, 740, true);
  browser.go(served.url());
  REQUIRE(browser.eventually(count(".tile") + " === 298"));
  CHECK(browser.value(text_of(".column.writer")).find("1 dead") != std::string::npos);
  CHECK(browser.value(count(".node")) == "4");  // the supervisor, the writers, and the one of the readouts
  CHECK(browser.value(text_of(".readout .node")).find("readout_buffer_bytes") != std::string::npos);
  CHECK(browser.value("String(document.documentElement.scrollWidth <= 360)") == "true");
  CHECK(browser.errors().empty());
}
