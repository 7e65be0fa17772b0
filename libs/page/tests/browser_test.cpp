// The page in a real browser, headless: what it shows of a farm that is made up.
#include "made_up_farm.hpp"
#include "weir_catch.hpp"
#include <weir/page/page.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace weir;
using namespace weir::page;
using Catch::ContainsSubstring;

namespace {

std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    for (const char* folder : {"/usr/bin/", "/usr/local/bin/", "/snap/bin/"}) {
      if (::access((std::string(folder) + name).c_str(), X_OK) == 0) return std::string(folder) + name;
    }
  }
  return {};
}

// The document as it stands when the page's scripts have had some seconds.
std::string document(const ports::Endpoint& at, const std::string& query, int width) {
  const std::string profile =
      (std::filesystem::temp_directory_path() / ("weir-browser-" + std::to_string(::getpid()))).string();
  const std::string command =
      "timeout 60 " + browser() + " --headless --no-sandbox --disable-gpu --user-data-dir=" + profile +
      " --window-size=" + std::to_string(width) +
      ",900 --virtual-time-budget=6000 --dump-dom 'http://127.0.0.1:" + std::to_string(at.port) + "/" +
      query + "' 2>/dev/null";
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 65536> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
    text.append(piece.data(), got);
  ::pclose(pipe);
  std::error_code ignored;
  std::filesystem::remove_all(profile, ignored);
  return text;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

struct Served {
  Served(unsigned readouts, unsigned dcms)
      : farm(readouts, dcms, 2), page(settings(), [](const Command&) { return CommandAnswer{}; }) {
    for (int i = 0; i < 14; ++i) {
      farm.step();
      page.update(farm.farm());
      for (const LogLine& line : farm.logged()) page.log(line);
    }
    page.log({test::MadeUpFarm::kBeginUtcNs, "dcm-0", LogLevel::error, "<img src=x onerror=alert(1)>"});
  }
  static PageSettings settings() {
    PageSettings settings;
    settings.token = "sesame";
    return settings;
  }
  test::MadeUpFarm farm;
  Page page;
};

bool no_browser() {
  if (!browser().empty()) return false;
  std::puts("SKIPPED: no Chromium here; apt-get install chromium");  // ctest looks for these words
  return true;
}

}  // namespace

TEST_CASE("a browser shows the farm's state, its processes, plots, log and runs") {
  if (no_browser()) return;
  const Served served(4, 3);
  const std::string text = document(served.page.endpoint(), "?poll", 1280);
  CHECK_THAT(text, ContainsSubstring("<h1 id=\"farm-name\">made-up</h1>"));
  CHECK_THAT(text, ContainsSubstring("<title>made-up: running</title>"));
  CHECK(count_of(text, "class=\"node\"") == 10);
  CHECK_THAT(text, ContainsSubstring("is dead: its slices went to the others"));
  CHECK_THAT(text, ContainsSubstring("signal 9 (Killed)"));
  CHECK(count_of(text, "class=\"plot\"") == 3);
  CHECK_THAT(text, ContainsSubstring("class=\"line s2\" d=\"M") || ContainsSubstring("\" class=\"line s2\""));
  CHECK_THAT(text, ContainsSubstring("same ids"));
  CHECK_THAT(text, ContainsSubstring("stopped by the operator"));
  CHECK_THAT(text, ContainsSubstring("aria-label=\"Building a slice: p50"));
  // What a process logs is text.
  CHECK_THAT(text, ContainsSubstring("&lt;img src=x"));
  CHECK_THAT(text, !ContainsSubstring("<img src=\"x\"") && !ContainsSubstring("<img src=x"));
  // Nobody has given the token yet.
  CHECK(count_of(text, "class=\"command ") == 7);
  CHECK(count_of(text, "disabled=\"\"") >= 7);
}

TEST_CASE("a browser shows a farm of 300 processes as tiles, and those in trouble by name") {
  if (no_browser()) return;
  const Served served(200, 98);
  const std::string text = document(served.page.endpoint(), "?poll", 360);
  CHECK(count_of(text, "class=\"tile\"") == 298);
  CHECK_THAT(text, ContainsSubstring("1 dead"));
  CHECK(count_of(text, "class=\"node\"") < 20);
}
