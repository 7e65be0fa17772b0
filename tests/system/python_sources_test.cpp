// Sources in Python: some that misbehave beside others that do not, and hosts that are killed.
#include "controlled_farm.hpp"
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
        Case{"hang", "no progress for 300 ms", "source.host.timeout_ms=300"},
        Case{"leak", "out of memory, source.host.memory_bytes is 800000000: MemoryError (unruly_source.py:",
             "source.host.memory_bytes=800000000"}}) {
    const TemporaryFolder folder;
    // Once: a host that ends in its first slices waits ever longer.
    const FarmEnd end = run_source(folder, "unruly_source.py", one.what,
                                   {"source.parameters.every=400", "trigger.rate_hz=500", one.set});
    INFO(one.what);
    CHECK_BALANCED(end, 3);
    CHECK_THAT(end.out, ContainsSubstring(std::string("source host of readout-0 ended: ") + one.fault));
    CHECK(end.summary.count("source.host_restarts") >= 1);
    if (one.what == std::string("leak")) CHECK(end.summary.count("source.host_memory") >= 1);
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

namespace {

// Returns the host that this readout started last, after `since` earlier ones; 0: none.
pid_t latest_host(const FarmRun& run, const std::string& readout, std::size_t since) {
  const std::string log = run.log(readout);
  const std::string mark = "host ready pid=";
  std::size_t at = log.find(mark);
  for (std::size_t i = 0; i < since && at != log.npos; ++i) at = log.find(mark, at + 1);
  return at == log.npos ? 0 : static_cast<pid_t>(std::stol(log.substr(at + mark.size())));
}

}  // namespace

TEST_CASE("hosts that are killed at full speed cost their own fragments, and come back") {
  if (!has_python()) return;
  for (const char* plugin : {"unruly_source.py", "unruly_sender.py"}) {
    const TemporaryFolder folder;
    FarmRun run(folder, farm_file(folder, plugin),
                {"--set", "trigger.mode=max", "--set", "run.slices=0", "--set", "filter.plugin=prescale"});
    std::size_t kills = 0;
    for (; kills < 3; ++kills) {
      pid_t host = 0;
      REQUIRE(wait_until([&] { return (host = latest_host(run, "readout-0", kills)) != 0; }, Seconds(60)));
      if (kills == 0) REQUIRE(run.wait_for_data(10'000));
      REQUIRE(::kill(host, SIGKILL) == 0);
    }
    run.process().send_signal(SIGINT);  // however long the hosts took to start again
    const FarmEnd end = run.finish();
    CHECK_BALANCED(end, 3);
    CHECK_THAT(end.out, ContainsSubstring("source host of readout-0 ended: signal 9"));
    CHECK_THAT(end.out, !ContainsSubstring("source host of readout-1"));
    CHECK(end.summary.count("source.host_restarts") >= 2);
    std::uint64_t of_others = 0;
    StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
      for (const SourceId source : {SourceId(3), SourceId(4)}) {
        const auto fragment = slice.find(source);
        if (!fragment || fragment->record.status == FragmentStatus::missing) ++of_others;
      }
    });
    CHECK(of_others == 0);
  }
}

TEST_CASE("a readout that is killed takes its host along, and its successor starts another") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  FarmRun run(folder, farm_file(folder, "unruly_source.py"),
              {"--set", "trigger.rate_hz=200", "--set", "run.duration_s=5", "--set", "run.slices=0"});
  pid_t host = 0;
  REQUIRE(run.wait_for_data(5'000));
  REQUIRE((host = latest_host(run, "readout-0", 0)) != 0);
  REQUIRE(run.send_signal("readout-0", SIGKILL));
  CHECK(wait_until([&] { return ::kill(host, 0) != 0; }, Seconds(20)));
  CHECK(wait_until([&] { return latest_host(run, "readout-0", 1) != 0; }, Seconds(60)));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("triggered") == end.summary.count("stored"));
}

TEST_CASE("sources in Python serve a farm in push mode") {
  if (!has_python()) return;
  for (const char* plugin : {"unruly_source.py", "unruly_sender.py"}) {
    const TemporaryFolder folder;
    const FarmEnd end = run_source(folder, plugin, "in order", {"run.mode=push", "dcm.count=2"});
    CHECK_BALANCED(end, 0);
    const Missing missing = check_stored(folder);
    CHECK(missing.of_bad + missing.of_neighbours + missing.of_others == 0);
  }
}

TEST_CASE("runs in a row have a host each, and leave nothing behind") {
  if (!has_python()) return;
  const TemporaryFolder folder;
  ControlledFarm farm(folder,
                      "trigger: {mode: rate, rate_hz: 500}\n"
                      "source: {kind: plugin, plugin: '" +
                          test_plugin("unruly_source.py") +
                          "', host: {start_timeout_ms: 60000}}\n"
                          "readout: {count: 1, sources_per_readout: 2}\n"
                          "dcm: {count: 1}\n",
                      {"supervisor", "writer-0", "readout-0", "dcm-0"});
  farm.make_ready();
  const auto cycle = [&] {
    farm.must({"start"});
    farm.stop_good();
  };
  cycle();
  const Holdings before = holdings_of(farm.node("readout-0").pid());
  for (int i = 0; i < 3; ++i) cycle();
  const Holdings after = holdings_of(farm.node("readout-0").pid());
  CHECK(after.descriptors <= before.descriptors + 1);
  CHECK(after.threads <= before.threads);
  std::size_t hosts = 0;
  const std::string log = farm.node("readout-0").err();
  for (std::size_t at = log.find("host ready pid="); at != log.npos;
       at = log.find("host ready pid=", at + 1)) {
    ++hosts;
    CHECK(::kill(static_cast<pid_t>(std::stol(log.substr(at + 15))), 0) != 0);
  }
  CHECK(hosts >= 4);
}
