// `weir filter`: a filter is created, and tried on recorded slices, as its author would.
#include "farm_run.hpp"
#include "plugins/misbehaviour.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace {

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::system_test;

// Stores `slices` slices of a small farm and returns the run's folder.
std::string recorded(const TemporaryFolder& folder, const std::string& slices) {
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), {"--slices", slices});
  CHECK_BALANCED(end, 0);
  return folder / "out";
}

boost::json::value last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t before = text.rfind('\n', end);
  return boost::json::parse(text.substr(before == text.npos ? 0 : before + 1));
}

std::string harmful() { return std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/misbehaves.so"; }

}  // namespace

TEST_CASE("a filter is tried on the slices of a run, and two settings are compared") {
  const TemporaryFolder folder;
  const std::string run = recorded(folder, "300");

  const CommandEnd tried = run_command(
      folder, "weir", {"filter", "try", "prescale", run, "--set", "n=10", "--json", "--jobs", "2"});
  CHECK(tried.status == 0);
  CHECK(last_line(tried.out).at("slices") == 300);
  CHECK(last_line(tried.out).at("accepted") == 30);
  CHECK(last_line(tried.out).at("errors") == 0);

  const CommandEnd compared =
      run_command(folder, "weir", {"filter", "try", "prescale", run, "--against", "accept-all"});
  CHECK(compared.status == 1);
  CHECK_THAT(compared.out, ContainsSubstring("disagree on"));
  const CommandEnd listed =
      run_command(folder, "weir", {"filter", "try", "accept-all", run, "--slice", "7", "--list"});
  CHECK(listed.status == 0);
  CHECK_THAT(listed.out, ContainsSubstring("slice 7  accept to default"));
}

TEST_CASE("a filter that fails or crashes on a slice is named with the slice") {
  const TemporaryFolder folder;
  const std::string run = recorded(folder, "400");
  constexpr std::uint64_t kSeed = 3;
  std::uint64_t aborts = 400;
  std::uint64_t throws = 400;
  for (std::uint64_t slice = 400; slice-- > 0;) {
    if (misbehaviour_of(slice, kSeed) == Misbehaviour::aborts) aborts = slice;
    if (misbehaviour_of(slice, kSeed) == Misbehaviour::throws) throws = slice;
  }
  REQUIRE((aborts < 400 && throws < 400));
  const auto tried = [&](std::uint64_t slice) {
    return run_command(folder, "weir",
                       {"filter", "try", harmful(), run, "--set", "seed=" + std::to_string(kSeed), "--slice",
                        std::to_string(slice)});
  };
  const CommandEnd failed = tried(throws);
  CHECK(failed.status == 1);
  CHECK_THAT(failed.out, ContainsSubstring("slice " + std::to_string(throws) + "  error: "));
  const CommandEnd crashed = tried(aborts);
  CHECK(crashed.status != 0);
  CHECK_THAT(crashed.err,
             ContainsSubstring("the filter crashed in slice " + std::to_string(aborts) + " (abort)"));
}

TEST_CASE("a filter that calls exit() is named with the slice, in C++ and in Python") {
  const TemporaryFolder folder;
  const std::string run = recorded(folder, "20");
  for (const std::string plugin : {WEIR_SYSTEM_PLUGIN_DIR "/unruly.so", "unruly.py"}) {
    INFO(plugin);
    const CommandEnd end =
        run_command(folder, "weir", {"filter", "try", plugin, run, "--set", "what=exit", "--set", "every=7"});
    CHECK(end.status == 1);
    CHECK_THAT(end.err, ContainsSubstring("the filter called exit() in slice 7"));
  }
}

TEST_CASE("an impossible trial is refused with an error") {
  const TemporaryFolder folder;
  const std::string run = recorded(folder, "5");
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"filter", "try"});
    const CommandEnd end = run_command(folder, "weir", words);
    CHECK(end.status == 2);
    return end.err;
  };
  CHECK_THAT(refused({"no-such-filter", run}), ContainsSubstring("no-such-filter"));
  CHECK_THAT(refused({"prescale", folder / "absent"}), ContainsSubstring("absent"));
  CHECK_THAT(refused({"prescale", run, "--set", "n"}), ContainsSubstring("NAME=VALUE"));
  CHECK_THAT(refused({"prescale", run, "--set", "n=0"}), ContainsSubstring("'n'"));
  CHECK_THAT(refused({"prescale", run, "--slice", "77"}), ContainsSubstring("0 to 4"));
}

TEST_CASE("a new filter project is a folder that is not overwritten") {
  const TemporaryFolder folder;
  const std::string project = folder / "big";
  CHECK(run_command(folder, "weir", {"filter", "new", "Big Slices", "--folder", project}).status == 2);
  CHECK(run_command(folder, "weir", {"filter", "new", "big-slices", "--folder", project}).status == 0);
  CHECK(std::filesystem::exists(project + "/big_slices.cpp"));
  const CommandEnd again = run_command(folder, "weir", {"filter", "new", "big-slices", "--folder", project});
  CHECK(again.status == 2);
  CHECK_THAT(again.err, ContainsSubstring("not an empty folder"));
}
