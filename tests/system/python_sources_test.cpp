// Sources in Python: some that misbehave beside others that do not, and hosts that are killed.
#include "farm_run.hpp"
#include "python_here.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::ContainsSubstring;

constexpr std::uint64_t kSlices = 1000;
constexpr std::uint64_t kBad = 10;  // slices 99, 199, ... 999
constexpr std::uint32_t kBadSource = 1;

std::string test_plugin(const char* name) { return std::string(WEIR_TEST_SOURCE_DIR) + "/plugins/" + name; }

std::string farm_file(const TemporaryFolder& folder, const std::string& plugin) {
  const std::string path = folder / "farm.yaml";
  std::ofstream(path) << "farm: python\n"
                         "trigger: {mode: rate, rate_hz: 1000}\n"
                         "source: {kind: plugin, plugin: '"
                      << test_plugin(plugin.c_str())
                      << "', wait_ms: 20000, host: {timeout_ms: 20000, start_timeout_ms: 60000}}\n"
                         "readout: {count: 2, sources_per_readout: 2}\n"
                         "dcm: {count: 1, deadline_ms: 40000, fragment_bytes_max: 2000000}\n"
                         "supervisor: {lease_ms: 120000}\n"
                         "writer: {count: 1}\n";
  return path;
}

FarmEnd run_source(const TemporaryFolder& folder, const std::string& plugin, const std::string& what,
                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"source.parameters.what=" + what};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return FarmRun(folder, farm_file(folder, plugin), arguments).finish(Seconds(120));
}

// Checks the bytes of every fragment that is there, and returns the number of missing ones, of the bad source
// and of the others.
struct Missing {
  std::uint64_t of_bad = 0;
  std::uint64_t of_neighbours = 0;  // in the same readout
  std::uint64_t of_others = 0;
};
Missing check_stored(const TemporaryFolder& folder) {
  Missing missing;
  std::uint64_t slices = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    ++slices;
    const std::uint64_t id = slice.head().slice.value;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      const std::uint32_t source = fragment.record.source.value;
      if (fragment.record.status == FragmentStatus::missing) {
        ++(source == kBadSource ? missing.of_bad : source == 2 ? missing.of_neighbours : missing.of_others);
        continue;
      }
      const ConstBytes bytes = fragment.bytes;
      const bool good = bytes.size() == 10 + source &&
                        std::ranges::all_of(bytes, [&](std::byte one) { return one == std::byte(id % 251); });
      if (!good) FAIL_CHECK("slice " << id << ", source " << source << " has other bytes");
    }
  });
  CHECK(slices == kSlices);
  return missing;
}

}  // namespace

TEST_CASE("sources in Python that do nothing wrong deliver every byte") {
  if (!has_python()) return;
  for (const char* plugin : {"unruly_source.py", "unruly_sender.py"}) {
    const TemporaryFolder folder;
    const FarmEnd end =
        run_source(folder, plugin, plugin[7] == 's' && plugin[8] == 'o' ? "nothing" : "in order");
    CHECK_BALANCED(end, 0);
    const Missing missing = check_stored(folder);
    CHECK(missing.of_bad + missing.of_neighbours + missing.of_others == 0);
  }
}

TEST_CASE("a source that is asked and misbehaves costs its fragment, counted and named") {
  if (!has_python()) return;
  struct Case {
    const char* what;
    const char* reason;
    const char* counter;
    const char* log;
  };
  for (const Case& one : {Case{"raise", "not_produced", "source.exception", "ValueError: no data today"},
                          Case{"text", "not_produced", "source.exception", "not str"},
                          Case{"nothing to say", "not_produced", nullptr, ""},
                          Case{"long", "too_large", "source.too_long", "dcm.fragment_bytes_max"},
                          Case{"longer than the lane", "too_large", "source.too_long", "lane_bytes"}}) {
    const TemporaryFolder folder;
    const FarmEnd end = run_source(folder, "unruly_source.py", one.what);
    INFO(one.what);
    CHECK_BALANCED(end, 0);
    CHECK(end.summary.count(std::string("fragments.missing.") + one.reason) == kBad);
    if (one.counter != nullptr) CHECK(end.summary.count(one.counter) == kBad);
    CHECK_THAT(end.logs, ContainsSubstring(one.log));
    const Missing missing = check_stored(folder);
    CHECK(missing.of_bad == kBad);
    CHECK(missing.of_neighbours + missing.of_others == 0);
  }
}

TEST_CASE("a forked child of a source delivers nothing and harms nothing") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_source(folder, "unruly_source.py", "fork");
  CHECK_BALANCED(end, 0);
  const Missing missing = check_stored(folder);
  CHECK(missing.of_bad + missing.of_neighbours + missing.of_others == 0);
}

TEST_CASE("a source that ends its host costs the fragments that the host owed, and the host comes back") {
  if (!has_python()) return;
  struct Case {
    const char* what;
    const char* fault;
    const char* set;
  };
  for (const Case& one :
       {Case{"exit", "exit status 3", "run.slices=1000"},
        Case{"sys.exit", "exit status 4", "run.slices=1000"}, Case{"crash", "signal 11", "run.slices=1000"},
        Case{"hang", "no progress for 300 ms", "source.host.timeout_ms=300"}}) {
    const TemporaryFolder folder;
    // Once: a host that ends in its first slices waits ever longer.
    const FarmEnd end = run_source(folder, "unruly_source.py", one.what,
                                   {"source.parameters.every=400", "trigger.rate_hz=500", one.set});
    INFO(one.what);
    CHECK_BALANCED(end, 3);
    CHECK_THAT(end.out, ContainsSubstring(std::string("source host of readout-0 ended: ") + one.fault));
    CHECK(end.summary.count("source.host_restarts") >= 1);
    const Missing missing = check_stored(folder);
    CHECK(missing.of_bad == missing.of_neighbours);
    CHECK(missing.of_bad < kSlices);
    CHECK(missing.of_others == 0);
    CHECK(end.summary.count("fragments.missing.source_down") == missing.of_bad + missing.of_neighbours);
    CHECK(end.summary.count("source.host_ended") + end.summary.count("source.host_down") ==
          missing.of_bad + missing.of_neighbours);
  }
}

TEST_CASE("fragments that are delivered twice, late, too long or out of order harm no other") {
  if (!has_python()) return;
  struct Case {
    const char* what;
    const char* missing;
    const char* dropped;
    std::uint64_t count;
  };
  for (const Case& one :
       {Case{"out of order", nullptr, nullptr, 0}, Case{"twice", nullptr, "duplicate", kSlices},
        Case{"too long", "too_large", nullptr, kBad}}) {
    const TemporaryFolder folder;
    const FarmEnd end = run_source(folder, "unruly_sender.py", one.what);
    INFO(one.what);
    CHECK_BALANCED(end, 0);
    const Missing missing = check_stored(folder);
    CHECK(missing.of_neighbours + missing.of_others == 0);
    CHECK(missing.of_bad == (one.missing == nullptr ? 0 : one.count));
    if (one.missing != nullptr)
      CHECK(end.summary.count(std::string("fragments.missing.") + one.missing) == one.count);
    // The last copies may arrive behind the end of the run.
    if (one.dropped != nullptr)
      CHECK(end.summary.count(std::string("fragments.dropped.") + one.dropped) >= one.count / 2);
    if (one.missing == nullptr) CHECK(end.summary.count("source.timed") >= kSlices);
  }
}

TEST_CASE("a fragment that is delivered late is missing, then dropped") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_source(folder, "unruly_sender.py", "late",
                                 {"source.wait_ms=200", "trigger.rate_hz=200", "source.loss_share_max=1"});
  CHECK_BALANCED(end, 0);
  const Missing missing = check_stored(folder);
  CHECK(missing.of_bad >= kBad);
  CHECK(end.summary.count("fragments.missing.deadline") >= missing.of_bad);
  CHECK(end.summary.count("fragments.dropped.late") > 0);
}

TEST_CASE("a source that raises in run() is named, and its host comes back") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_source(folder, "unruly_sender.py", "raise", {"trigger.rate_hz=500"});
  CHECK_BALANCED(end, 3);
  CHECK_THAT(end.out, ContainsSubstring("ended: ValueError: the crate is on fire (unruly_sender.py:"));
  CHECK(end.summary.count("source.host_restarts") >= 1);
  const Missing missing = check_stored(folder);
  CHECK(missing.of_bad < kSlices);
  CHECK(missing.of_others == 0);
}

TEST_CASE("a source that refuses its parameters refuses the run, with its sentence") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  const FarmEnd end = run_source(folder, "unruly_source.py", "refuse");
  CHECK(end.status == 1);
  CHECK_THAT(end.err, ContainsSubstring("ValueError: no crate found (unruly_source.py:"));
}
