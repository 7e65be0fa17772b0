// The page without colours, without motion, by keyboard and for screen readers; and the rules of axe-core,
// where it is installed (npm install -g axe-core).
#include "browser.hpp"
#include "made_up_farm.hpp"
#include "skip.hpp"
#include "weir_catch.hpp"
#include <weir/page/page.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

using namespace weir;
using namespace weir::page;
using test::Browser;

namespace {

struct Site {
  Site() {
    for (int i = 0; i < 14; ++i) farm.step();  // until a writer is dead
    control::Alarm alarm;
    alarm.name = "disk fills";
    alarm.reason = "daq-2 '/data/run' (writer-0): 91 GB free (9 %)";
    alarm.since_utc = test::MadeUpFarm::kBeginUtcNs;
    farm.set_alarms({alarm});
    page.show_histograms(test::MadeUpFarm::histograms(1, 100));
    page.show_sources(test::MadeUpFarm::sources(20));
    Farm shown = farm.farm();
    shown.histograms = 1;
    shown.checks_run = shown.run;
    shown.checks = {{"size", "slice bytes", "good", control::Gravity::warning, ""},
                    {"dead-channels", "hits per module", "failed", control::Gravity::error, "3 empty bins"}};
    page.update(shown);
    page.log({test::MadeUpFarm::kBeginUtcNs, "dcm-0", LogLevel::error, "no space left"});
  }
  // With an operator's tools open.
  void show_in(Browser& browser) const {
    browser.go(page.url());
    REQUIRE(browser.eventually("document.querySelector('#farm-name').textContent === 'made-up'"));
    browser.value("sessionStorage.setItem('weir-token', 'sesame')");
    browser.go(page.url());
    REQUIRE(browser.eventually("document.querySelectorAll('.command:not(:disabled)').length > 0"));
    REQUIRE(browser.eventually("document.querySelectorAll('#alarm-list button').length > 0"));
    browser.value(
        "document.querySelectorAll('details').forEach((one) => { one.hidden = false; one.open = true; })");
    REQUIRE(browser.eventually("document.querySelectorAll('#settings-rows tr').length === 3"));
  }

  test::MadeUpFarm farm{30, 14, 2};
  Page page{settings(), [this](const RequestedCommand& command) { return farm.command(command); }};

 private:
  static PageSettings settings() {
    PageSettings settings;
    settings.token = "sesame";
    return settings;
  }
};

bool no_browser() {
  if (!test::chromium().empty()) return false;
  weir::skip_test("no Chromium here; apt-get install chromium");
  return true;
}

std::string axe_file() {
  for (const char* root : {"/usr/lib/node_modules", "/usr/local/lib/node_modules", "/usr/share/nodejs"}) {
    const std::string file = std::string(root) + "/axe-core/axe.min.js";
    if (std::filesystem::exists(file)) return file;
  }
  return {};
}

}  // namespace

TEST_CASE("without colours each state has a shape and a word of its own, and each curve a pattern") {
  if (no_browser()) return;
  const Site site;
  Browser browser;
  browser.size(1280, 900, false);
  site.show_in(browser);
  const std::string in_colours = browser.picture();
  browser.vision("achromatopsia");
  CHECK(browser.picture() != in_colours);
  // Each kind has one shape, and no two have the same.
  CHECK(browser.value(
            "(() => { const shapes = new Map(); for (const one of document.querySelectorAll('.tile, .badge, "
            ".node .state')) { const path = one.querySelector('path'); if (!path) continue; "
            "shapes.set(one.dataset.kind, (shapes.get(one.dataset.kind) ?? new "
            "Set()).add(path.getAttribute('d'))); } const all = [...shapes.values()]; return "
            "String(shapes.size >= 3 && all.every((one) => one.size === 1) && new Set(all.map((one) => "
            "[...one][0])).size === all.length); })()") == "true");
  CHECK(browser.value(
            "String([...document.querySelectorAll('.tile')].every((one) => one.getAttribute('aria-label') && "
            "one.title))") == "true");
  CHECK(browser.value(
            "(() => { const of = (name) => getComputedStyle(document.querySelector('.line.' + "
            "name)).strokeDasharray; return String(new Set([of('s1'), of('s2'), of('s3')]).size); })()") ==
        "3");
}

TEST_CASE("with reduced motion nothing moves, and without the setting only scrolling does") {
  if (no_browser()) return;
  const Site site;
  Browser browser;
  site.show_in(browser);
  const std::string scrolling = "getComputedStyle(document.documentElement).scrollBehavior";
  CHECK(browser.value(scrolling) == "smooth");
  browser.less_motion();
  CHECK(browser.value(scrolling) == "auto");
  CHECK(browser.value("String(document.getAnimations().length)") == "0");
}

TEST_CASE("every control is reached by the tab key or the arrows, shows the focus, and has a name") {
  if (no_browser()) return;
  const Site site;
  Browser browser;
  browser.size(1280, 900, false);
  site.show_in(browser);
  // All that the tab key stops at, once around.
  browser.value("document.activeElement.blur(), window.reached = new Set(), window.dim = []");
  std::string last;
  for (int i = 0; i < 250; ++i) {
    browser.press("Tab");
    const std::string at = browser.value(
        "(() => { const one = document.activeElement; if (one === document.body) return 'body'; if "
        "(reached.has(one)) "
        "return 'again'; reached.add(one); const style = getComputedStyle(one); if (style.outlineStyle === "
        "'none') "
        "dim.push(one.id || one.className); return 'new'; })()");
    if (at == "again") break;
  }
  CHECK(browser.value("dim.join()").empty());
  CHECK(
      browser
          .value("[...document.querySelectorAll('main button, main input, main select, main textarea, main "
                 "summary')].filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 && "
                 "!reached.has(one)).map((one) => one.id || one.textContent).join()")
          .empty());
  CHECK(browser
            .value("[...document.querySelectorAll('button, input, select, textarea')].filter((one) => "
                   "!one.textContent.trim() && !one.labels?.length && "
                   "!one.getAttribute('aria-label')).map((one) => "
                   "one.id).join()")
            .empty());
}

TEST_CASE("axe finds no violation, in light and dark, on a desk and a phone") {
  if (no_browser()) return;
  const std::string axe = axe_file();
  if (axe.empty()) return weir::skip_test("no axe-core here; npm install -g axe-core");
  std::ifstream file(axe);
  const std::string script(std::istreambuf_iterator<char>(file), {});
  const Site site;
  Browser browser;
  for (const bool dark : {false, true}) {
    for (const bool phone : {false, true}) {
      CAPTURE(dark, phone);
      browser.size(phone ? 360 : 1280, phone ? 740 : 900, phone);
      browser.dark(dark);
      site.show_in(browser);
      browser.value(script + "; 'loaded'");
      const std::string violations = browser.value(
          "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations.map((one) => "
          "one.id + ' (' "
          "+ one.nodes.length + '): ' + one.nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + "
          "node.failureSummary).join('; ')).join('\\n'))");
      CHECK(violations == "");
    }
  }
}
