// Tests the page in a real headless browser: its display of a simulated farm, and its controls.
#include "browser.hpp"

#include "made_up_farm.hpp"
#include "skip.hpp"
#include "weir_catch.hpp"
#include <weir/page/page.hpp>

#include <mutex>
#include <optional>

using namespace weir;
using namespace weir::page;
using test::Browser;

namespace {

struct Served {
  Served(unsigned readouts, unsigned dcms)
      : farm(readouts, dcms, 2),
        running(std::in_place, settings(),
                [this](const RequestedCommand& command) {
                  const std::lock_guard lock(mutex);
                  return farm.command(command);
                }),
        page(*running) {
    // Runs until the second last process is dead.
    for (int i = 0; i < 14; ++i) step();
    page.log({test::MadeUpFarm::kBeginUtcNs, "dcm-0", LogLevel::error, "<img src=x onerror=alert(1)>"});
  }
  static PageSettings settings() {
    PageSettings settings;
    settings.token = "sesame";
    settings.recorded_histograms = [](std::uint32_t run) {
      return run == 2 ? std::string() : test::MadeUpFarm::histograms(run, 50);
    };
    settings.show_run = [](const RunQuery& query) { return failed_run(query); };
    return settings;
  }
  // Any run failed, and run 1 before it was good.
  static Expected<std::string, std::string> failed_run(const RunQuery& query) {
    if (!query.contains("with"))
      return std::string(
          R"({"number": 4, "outcome": "failed", "failure": "the disk was full", "balanced": true,
        "good_before": 1, "fields": {}})");
    return std::string(R"({"missing": [], "differences": [
      {"part": "settings", "key": "dcm.credits", "left": "8", "right": "4"},
      {"part": "numbers", "key": "latency_us.p99", "left": "2100", "right": "8400", "change": 3},
      {"part": "numbers", "key": "triggered", "left": "1000", "right": "1001", "change": 0.001}]})");
  }
  void step() {
    const std::lock_guard lock(mutex);
    farm.step();
    page.update(farm.farm());
    for (const LogLine& line : farm.logged()) page.log(line);
  }
  void show_histograms() {
    const std::lock_guard lock(mutex);
    page.show_histograms(test::MadeUpFarm::histograms(farm.farm().run, 100));
    Farm shown = farm.farm();
    shown.histograms = 1;
    page.update(shown);
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
  std::optional<Page> running;
  Page& page;  // while the page runs
};

bool no_browser() {
  if (!test::chromium().empty()) return false;
  weir::skip_test("no Chromium here; apt-get install chromium");
  return true;
}

std::string count(const std::string& selector) {
  return "document.querySelectorAll('" + selector + "').length";
}
std::string text_of(const std::string& selector) {
  return "document.querySelector('" + selector + "').textContent";
}

// Presses Tab until the element has the focus. Returns false if it never gets it.
bool tab_to(Browser& browser, const std::string& selector) {
  constexpr int kStopsMax = 150;  // once around the page, and more
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
  CHECK(browser.value("document.title") == "made-up: writer lost");
  CHECK(browser.eventually(text_of("#link") + " === 'live'"));
  CHECK(browser.value(count(".node")) == "10");
  CHECK(browser.value(text_of("#farm-state")) == "writer lost");
  CHECK(browser.value(text_of("#why")).find("writer-0 (not heard): the others store") == 0);
  // A state has a word and a shape, not only a colour.
  CHECK(browser.value(count(".node[data-kind=error] .state svg")) == "1");
  CHECK(browser.value(text_of(".node[data-kind=error] .state")) == "dead");
  CHECK(browser.value(text_of(".node[data-kind=error] .reason")).find("signal 9") != std::string::npos);
  CHECK(browser.eventually(count("svg.plot path.line") + " === 8"));
  CHECK(browser.value("String([...document.querySelectorAll('svg.plot path.line')].every((line) => "
                      "line.getAttribute('d').length > 50))") == "true");
  CHECK(browser.value(count("#members tbody tr")) == "10");
  CHECK(browser.value(count("#disk-table tbody tr")) == "2");
  CHECK(browser.value(text_of("#disk-table tbody tr:last-child")).find("writer-0, writer-1") !=
        std::string::npos);
  CHECK(browser.value(text_of("#figures")).find("Disk free25\u202f%") != std::string::npos);
  CHECK(browser.value(text_of("#equations")).find("same ids") != std::string::npos);
  CHECK(browser.eventually(count("#run-table tbody tr") + " === 4"));
  // Log lines are shown as text, not as HTML.
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

TEST_CASE("an operator commands the farm by keyboard alone, and stopping needs a confirmation") {
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
  served.step();
  CHECK(browser.eventually(text_of("#answer") + " === 'pause is done: the farm is paused'"));
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

TEST_CASE("alarms are listed, and acknowledged by a named operator; sound waits for a click") {
  if (no_browser()) return;
  Served served(2, 2);
  control::Alarm alarm;
  alarm.name = "blocked";
  alarm.gravity = control::Gravity::error;
  alarm.reason = "writer-0: <b>full</b>";
  alarm.since_utc = test::MadeUpFarm::kBeginUtcNs;
  served.farm.set_alarms({alarm});
  served.step();
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(count("#alarm-list li") + " === 1"));
  CHECK(browser.value(text_of("#alarm-list li")).find("blocked writer-0: <b>full</b> since ") == 0);
  CHECK(browser.value(count("#alarm-list b")) == "0");
  CHECK(browser.value(count("#alarm-list button")) == "0");
  CHECK(browser.value(text_of("#alarm-sound")).find("Sound is off") == 0);
  REQUIRE(tab_to(browser, "#token"));
  browser.type("sesame");
  browser.press("Enter");
  CHECK(browser.eventually("(" + text_of("label[for=token]") + " === 'You are the operator.')"));
  served.step();
  REQUIRE(browser.eventually(count("#alarm-list button") + " === 2"));
  browser.value("document.querySelector('#alarm-list button').click()");
  CHECK(browser.eventually(text_of("#alarm-answer") + ".startsWith('Fill in')"));
  browser.type("Ada");
  browser.value("document.querySelector('#alarm-list button').click()");
  CHECK(browser.eventually(text_of("#alarm-answer") + " === 'ack is done'"));
  served.step();
  CHECK(browser.eventually(text_of("#alarm-list li") + ".includes('acknowledged by Ada')"));
  CHECK(browser.value(count("#alarm-list button")) == "1");
  CHECK(browser.errors().empty());
}

TEST_CASE("the next run's settings are a form: edits are checked at once, and set by an expert") {
  if (no_browser()) return;
  Served served(2, 2);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
  CHECK(browser.value(count("#settings:not([hidden])")) == "0");
  REQUIRE(tab_to(browser, "#token"));
  browser.type("sesame");
  browser.press("Enter");
  CHECK(browser.eventually("(" + text_of("label[for=token]") + " === 'You are the operator.')"));
  served.step();
  REQUIRE(browser.eventually(count("#settings:not([hidden])") + " === 1"));
  REQUIRE(tab_to(browser, "#settings summary"));
  browser.press("Enter");
  REQUIRE(browser.eventually(count("#settings-rows tr") + " === 3"));
  CHECK(browser.value(text_of("#settings-rows tr")) == "dcm.creditsfarm.yaml:7");
  browser.value("document.querySelector('#settings-filter').focus()");
  browser.type("mode of triggers");
  CHECK(browser.value(count("#settings-rows tr:not([hidden])")) == "1");
  CHECK(browser.value(count("#settings-rows tr:not([hidden]) option")) == "3");
  browser.value(
      "document.querySelector('#settings-filter').value = '', "
      "document.querySelector('#settings-filter').dispatchEvent(new "
      "Event('input'))");
  const std::string credits = "document.querySelector('[aria-label=\"dcm.credits\"]')";
  browser.value(credits + ".focus(), " + credits + ".select()");
  CHECK(browser.value(text_of("#settings-help")).find("dcm.credits (integer, 1…4096; default 16)") == 0);
  browser.type("4");
  CHECK(browser.eventually(text_of("#settings-answer") + " === 'dcm.credits: 8 -> 4'"));
  CHECK(browser.value(count("#settings-rows tr.edited")) == "1");
  browser.value("document.querySelector('#settings-keys').focus()");
  browser.type("dcm.credit=3");
  CHECK(browser.eventually(text_of("#settings-answer") + ".startsWith('Refused: ')"));
  CHECK(browser.value(credits + ".getAttribute('aria-invalid')") == "true");
  browser.value("document.querySelector('#settings-keys').value = ''");
  browser.value("document.querySelector('#settings-form').requestSubmit()");
  CHECK(browser.eventually(text_of("#settings-answer") + " === '1 key set for the next configure'"));
  CHECK(browser.eventually(count("#settings-rows tr.edited") + " === 0"));
  CHECK(browser.errors().empty());
}

TEST_CASE(
    "a click on a run that failed compares it with the last good one, without small changes of numbers") {
  if (no_browser()) return;
  Served served(2, 2);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(count("#run-table tbody button") + " > 0"));
  browser.value("document.querySelector('#run-table tbody button').click()");
  REQUIRE(browser.eventually(count("#run-differences tbody tr") + " === 2"));
  CHECK(browser.value(text_of("#run-details-list")).find("Failurethe disk was full") != std::string::npos);
  CHECK(browser.value(text_of("#run-answer")) == "3 differences from run 1");
  CHECK(browser.value(text_of("#run-differences tbody tr:last-child")) ==
        "numberslatency_us.p9921008400+300\u202f%");
  CHECK(browser.value(text_of("#compare-good")) == "Compare with run 1, the last good one");
  browser.value("document.querySelector('#compare-small').click()");
  CHECK(browser.value(count("#run-differences tbody tr")) == "3");
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
  CHECK(browser.eventually(text_of("#answer") + ".startsWith('Refused: ')"));
  CHECK(browser.value(text_of("label[for=token]")) == "Operator’s token");
  CHECK(browser.value(count(".command:disabled")) == "7");
  CHECK(browser.value("String(sessionStorage.getItem('weir-token'))") == "null");
  CHECK(served.state() == control::State::running);
}

namespace {

struct Emergency {
  const char* what;
  void (*strike)(test::MadeUpFarm& farm);
  const char* word;
  const char* reason;
  const char* gravity;
};

constexpr Emergency kEmergencies[] = {
    {"disk full",
     [](test::MadeUpFarm& farm) { farm.strike("writer", "blocked", "WRITER_DISK_FULL writer-0"); }, "blocked",
     "WRITER_DISK_FULL", "error"},
    {"all DCMs dead", [](test::MadeUpFarm& farm) { farm.strike("dcm", "dead", ""); }, "no DCM",
     "no slice is built", "error"},
    {"nobody heard",
     [](test::MadeUpFarm& farm) {
       for (const char* role : {"supervisor", "readout", "dcm", "writer"}) farm.strike(role, "dead", "");
     },
     "nobody heard", "the bus cannot reach", "error"},
    {"slow writer", [](test::MadeUpFarm& farm) { farm.strike("dcm", "blocked", "WRITER_TOO_SLOW dcm-0"); },
     "throttled", "WRITER_TOO_SLOW", "warning"},
    {"fragments missing",
     [](test::MadeUpFarm& farm) {
       farm.strike("dcm", "running", "");
       farm.lose_lately({{"missing.deadline", 12}});
     },
     "fragments missing", "12 fragments were missing in the last 10 s (deadline)", "warning"},
    {"a run that ended badly", [](test::MadeUpFarm& farm) { farm.end_badly(); }, "run 42 ended badly",
     "its ledger does not balance", "error"},
};

// Checks that the element is inside the window without scrolling, and not cut off.
std::string is_seen(const std::string& selector) {
  return "(() => { const one = document.querySelector('" + selector +
         "'); const at = one.getBoundingClientRect(); return String(!one.hidden && at.height > 0 && at.top "
         ">= "
         "0 && at.left >= 0 && at.bottom <= innerHeight && at.right <= innerWidth && one.scrollWidth <= "
         "one.clientWidth + 1); })()";
}

std::string colour_of(const std::string& selector) {
  return "getComputedStyle(document.querySelector('" + selector + "')).backgroundColor";
}

// `live` keeps sending updates while the header is checked; null: no more updates arrive.
void check_header(Browser& browser, Served* live, const char* word, const std::string& reason,
                  const std::string& gravity) {
  for (const bool dark : {false, true}) {
    for (const bool phone : {false, true}) {
      if (live != nullptr) live->step();
      INFO((dark ? "dark " : "light ") << (phone ? "phone" : "wide"));
      browser.dark(dark);
      browser.size(phone ? 360 : 1280, phone ? 640 : 800, phone);
      CHECK(browser.eventually(text_of("#farm-state") + " === '" + word + "'"));
      CHECK(browser.value(text_of("#why")).find(reason) != std::string::npos);
      CHECK(browser.value(is_seen("#farm-state")) == "true");
      CHECK(browser.value(is_seen("#why")) == "true");
      CHECK(browser.value("document.title").find(word) != std::string::npos);
      CHECK(browser.value("document.querySelector('#farm-state').dataset.kind") == gravity);
      // Nothing in the header has the colour of a good state.
      CHECK(browser.value(colour_of("#top")) != browser.value(colour_of(".card")));
      CHECK(browser.value("String(document.documentElement.scrollWidth <= innerWidth)") == "true");
    }
  }
}

}  // namespace

TEST_CASE("in an emergency the header shows the worst finding and its reason, at two sizes, light and dark") {
  if (no_browser()) return;
  for (const Emergency& emergency : kEmergencies) {
    INFO(emergency.what);
    Served served(4, 3);
    Browser browser;
    browser.go(served.url());
    REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
    emergency.strike(served.farm);
    check_header(browser, &served, emergency.word, emergency.reason, emergency.gravity);
    CHECK(browser.errors().empty());
  }
}

TEST_CASE("without run control the header shows the lost connection and the age of the data") {
  if (no_browser()) return;
  Served served(4, 3);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#link") + " === 'live'"));
  served.running.reset();
  check_header(browser, nullptr, "no connection", "the data are of 22:13:34 UTC", "error");
  CHECK_THAT(browser.value(text_of("#findings")), Catch::Matchers::ContainsSubstring("before: writer lost"));
  CHECK(browser.value("String(document.body.classList.contains('stale'))") == "true");
}

TEST_CASE("dead DCMs have no assignments, and an equation with different sides is not called ok") {
  if (no_browser()) return;
  Served served(4, 3);
  Browser browser;
  browser.go(served.url());
  REQUIRE(browser.eventually(text_of("#farm-name") + " === 'made-up'"));
  CHECK(browser.value(text_of(".wire.control .label")).find("slices assigned") != std::string::npos);
  CHECK(browser.value(text_of(".wire.control .label")) != "0/s slices assigned");
  served.farm.strike("dcm", "dead", "");
  served.step();
  CHECK(browser.eventually(text_of(".wire.control .label") + " === '0/s slices assigned'"));
  CHECK(browser.value(text_of("#equations")).find("may differ") != std::string::npos);
  CHECK(browser.value(count("#equations [data-kind=running]")) == "3");
}

TEST_CASE("the page plots the filter's histograms, lists its counters, and shows the ratio to a past run") {
  if (no_browser()) return;
  Served served(4, 2);
  served.show_histograms();
  Browser browser;
  browser.size(420, 900, true);
  browser.go(served.url());
  REQUIRE(browser.eventually(count("#histogram-grid figure") + " === 3"));
  CHECK(browser.value(text_of("#histogram-grid h3")) == "hits per slice");
  CHECK(browser.value(text_of("#histogram-grid .note")).find("entries · mean") != std::string::npos);
  CHECK(browser.eventually(count("#histogram-grid .bins") + " === 2"));  // and a map
  CHECK(browser.value("String(" + count("#histogram-grid rect.cell") + " > 50)") == "true");
  CHECK(browser.value(text_of("#filter-counters")).find("clusters") != std::string::npos);
  CHECK(browser.value(text_of("#truth-bins tr")).find("3 to 4") != std::string::npos);
  CHECK(browser.value(text_of("#truth-bins tr")).find("10.0 ± 2.1 %") != std::string::npos);
  CHECK(browser.value(text_of("#truth-bins tr:last-child th")) == "5 or more");
  const std::string linear =
      browser.value("document.querySelector('#histogram-grid .bins').getAttribute('d')");
  const auto choose = [&](const std::string& id, const std::string& value) {
    (void)browser.value("(() => { const one = document.getElementById('" + id + "'); one.value = '" + value +
                        "'; one.dispatchEvent(new Event('change')); return one.value; })()");
  };
  choose("histogram-scale", "log");
  CHECK(browser.value("document.querySelector('#histogram-grid .bins').getAttribute('d')") != linear);
  REQUIRE(browser.eventually("document.getElementById('histogram-reference').options.length > 1"));
  choose("histogram-reference",
         browser.value("document.getElementById('histogram-reference').options[1].value"));
  CHECK(browser.eventually(count("#histogram-grid .line.s2") + " === 2"));
  CHECK(browser.value("String(document.documentElement.scrollWidth <= 420)") == "true");
  CHECK(browser.errors().empty());
}

TEST_CASE("the worst sources are listed with their readouts, counts and reasons, on a narrow screen too") {
  if (no_browser()) return;
  Served served(2, 2);
  served.page.show_sources(test::MadeUpFarm::sources(10));
  Browser browser;
  browser.size(420, 900, true);
  browser.go(served.url());
  REQUIRE(browser.eventually(count("#source-table tbody tr") + " === 2"));
  const std::string first = browser.value(text_of("#source-table tbody tr"));
  for (const char* text : {"17", "readout-3", "01:01:01", "deadline", "dropped late 3"})
    CHECK(first.find(text) != std::string::npos);
  CHECK(browser.value(text_of("#source-table tbody tr:last-child")).find("never") != std::string::npos);
  const std::string note = browser.value(text_of("#sources-note"));
  CHECK(note.find("1 source with missing fragments.") != std::string::npos);
  CHECK(browser.value(text_of("#source-groups")) ==
        "line-<i>2 1 of 30 sources with missing fragments, 4\u202f002 in all");
  CHECK(note.find("7 more not shown") != std::string::npos);
  CHECK(note.find("dcm-1 ended") != std::string::npos);
  CHECK(browser.value("String(document.documentElement.scrollWidth <= 420)") == "true");
  CHECK(browser.errors().empty());
}

TEST_CASE("the final counts of the sources are shown with the farm's last state") {
  if (no_browser()) return;
  Served served(2, 2);
  served.page.show_sources(test::MadeUpFarm::sources(10));
  Browser browser;
  browser.go(served.url());
  const std::string digits = text_of("#source-table tbody tr") + ".replace(/[^0-9]/g, '')";
  REQUIRE(browser.eventually(digits + ".includes('1200')"));
  served.page.show_sources(test::MadeUpFarm::sources(20));
  Farm last = served.farm.farm();
  last.over = true;
  served.page.update(last);
  CHECK(browser.eventually(digits + ".includes('2400')"));
}

TEST_CASE("names in capitals break only after an underscore, and no text overlaps the plots' labels") {
  if (no_browser()) return;
  Served served(8, 3);
  Browser browser;
  browser.size(900, 700, false);
  browser.go(served.url());
  REQUIRE(browser.eventually(count(".readout .node") + " === 8"));
  served.farm.strike("readout", "throttled", "WRITER_DISK_NOT_WRITABLE writer-0");
  served.step();
  REQUIRE(browser.eventually(count(".readout .reason wbr") + " === 24"));
  // A name that is broken over two lines has two boxes.
  CHECK(
      browser.value("String([...document.querySelector('.readout .reason').childNodes].filter((one) => "
                    "one.nodeType === 3).every((one) => one.textContent.split(' ').every((part, i, all) => { "
                    "const range = document.createRange(); const at = all.slice(0, i).join(' ').length + (i "
                    "? 1 : 0); range.setStart(one, at); range.setEnd(one, at + part.length); return "
                    "range.getClientRects().length <= 1; })))") == "true");
  const char* const collides =
      "String([...document.querySelectorAll('svg.plot')].some((plot) => { const all = "
      "[...plot.querySelectorAll('text')].map((one) => one.getBoundingClientRect()); return all.some((a, i) "
      "=> "
      "all.some((b, j) => i < j && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < "
      "a.bottom)); }))";
  // The mark of a run's begin moves to the plot's left edge; the marks of two runs do not overlap.
  for (const control::Command kind :
       {control::Command::stop, control::Command::start, control::Command::stop, control::Command::start}) {
    served.farm.command({kind, {}, ""});
    served.step();
  }
  for (const int seconds : {5, 60, 60, 120, 240}) {
    for (int i = 0; i < seconds; ++i) served.step();
    browser.go(served.url());
    REQUIRE(browser.eventually(count("svg.plot .run-mark") + " === 6"));
    CHECK(browser.value(collides) == "false");
  }
}

TEST_CASE("arrows walk a group of processes, Enter shows one, Escape returns to it") {
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

TEST_CASE("a table out of sight is not updated, and has the latest figures when it comes into sight") {
  if (no_browser()) return;
  Served served(60, 30);
  Browser browser;
  browser.size(1280, 900, false);
  browser.go(served.url());
  REQUIRE(browser.eventually(count("#members tbody tr") + " === 93"));
  // Time stands still, so that the next update out of sight is not due.
  browser.value(
      "(async () => { await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))); "
      "const now = Date.now(); Date.now = () => now; window.changes = 0; "
      "new MutationObserver((all) => { changes += all.length; }).observe(document.querySelector('#members'), "
      "{subtree: true, childList: true, characterData: true}); })()");
  const std::string before = browser.value(text_of("#run"));
  served.step();
  REQUIRE(browser.eventually(text_of("#run") + " !== '" + before + "'"));
  CHECK(browser.value("String(changes)") == "0");
  browser.value("document.querySelector('#processes').scrollIntoView({behavior: 'instant'})");
  CHECK(browser.eventually("changes > 93"));
  CHECK(browser.errors().empty());
}

TEST_CASE(
    "a phone of 360 pixels shows 300 processes as tiles, those in trouble by name, and nothing sticks out") {
  if (no_browser()) return;
  Served served(200, 98);
  for (int i = 0; i < 2; ++i) served.step();  // until a readout is throttled as well
  Browser browser;
  browser.size(360, 740, true);
  browser.go(served.url());
  REQUIRE(browser.eventually(count(".tile") + " === 298"));
  CHECK(browser.value(text_of(".column.writer")).find("1 dead") != std::string::npos);
  CHECK(browser.value(count(".node")) == "4");  // the supervisor, the writers, and one group of readouts
  CHECK(browser.value(text_of(".readout .node")).find("READOUT_BUFFER_BYTES") != std::string::npos);
  CHECK(browser.value("String(document.documentElement.scrollWidth <= 360)") == "true");
  CHECK(browser.errors().empty());
}
