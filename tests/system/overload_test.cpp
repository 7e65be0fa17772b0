// Tests of loads that stop other event builders: a source far slower than the others, one that dies with an
// empty queue, more data than the disk takes, sources too fast for slow filters. Memory must stay bounded,
// losses must be marked and counted, and the run must continue.
#include "farm_run.hpp"
#include "small_disk.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"

#include <boost/json.hpp>

#include <csignal>

namespace {

using namespace weir;
using namespace weir::system_test;
using test::kMebi;
using test::SmallDisk;

// Memory besides the buffers that the farm file bounds: program, libraries, tables, connections. An idle
// process has 10 to 14 MiB.
constexpr std::uint64_t kProcessBytes = 32 * kMebi;

struct Bounds {
  std::uint64_t readout = 0;
  std::uint64_t dcm = 0;
  std::uint64_t writer = 0;
};

std::vector<std::string> settings(const Bounds& bounds, const std::vector<std::string>& more) {
  std::vector<std::string> assignments{"supervisor.status_interval_ms=100",
                                       "source.early_bytes=1000000",
                                       "readout.buffer_bytes=" + std::to_string(bounds.readout),
                                       "dcm.buffer_bytes=" + std::to_string(bounds.dcm),
                                       "dcm.fragment_bytes_max=100000",
                                       "writer.buffer_bytes=" + std::to_string(bounds.writer)};
  assignments.insert(assignments.end(), more.begin(), more.end());
  return sets(assignments);
}

// Checks that no process's peak resident memory exceeded its bound plus its fixed share.
void check_memory(const FarmEnd& end, const Bounds& bounds) {
  std::size_t seen = 0;
  for (const auto& process : end.summary.json().at("processes").as_array()) {
    const std::string role = process.at("role").as_string().c_str();
    const std::uint64_t buffers = role == "readout"  ? bounds.readout
                                  : role == "dcm"    ? bounds.dcm
                                  : role == "writer" ? bounds.writer
                                                     : 0;
    INFO(process.at("name").as_string().c_str());
    const auto most = process.at("rss_max_bytes").to_number<std::uint64_t>();
    CHECK(most > kMebi);
    CHECK(most < buffers + kProcessBytes);
    ++seen;
  }
  CHECK(seen >= 4);
}

}  // namespace

TEST_CASE("a source with 200 times less data than the others is marked missing, and holds up no other") {
  const TemporaryFolder folder;
  const Bounds bounds{8 * kMebi, 24 * kMebi, 16 * kMebi};
  const std::string farm = folder.write("farm.yaml",
                                        "farm: uneven\n"
                                        "trigger: {mode: rate, rate_hz: 1000}\n"
                                        "source:\n"
                                        "  kind: plugin\n"
                                        "  plugin: " WEIR_SYSTEM_PLUGIN_DIR
                                        "/uneven.so\n"
                                        "  wait_ms: 200\n"
                                        "  parameters: {bytes: 4000, slow_readout: 1, one_in: 200}\n"
                                        "readout: {count: 4, sources_per_readout: 2}\n"
                                        "dcm: {count: 2, credits: 512, deadline_ms: 5000}\n"
                                        "filter: {plugin: accept-all}\n");
  constexpr std::uint64_t kSlices = 5000;
  std::vector<std::string> arguments = settings(bounds, {"source.early_bytes=1000000"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  const FarmEnd end = run_farm(folder, farm, arguments);
  CHECK_BALANCED(end, 3);  // more than source.loss_share_max of its fragments
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count("fragments.missing.deadline") == (kSlices - kSlices / 200) * 2);
  CHECK(end.summary.count_all("fragments.missing") == (kSlices - kSlices / 200) * 2);
  CHECK(end.summary.count("stored_incomplete") == kSlices - kSlices / 200);
  check_memory(end, bounds);

  std::uint64_t wrong = 0;
  std::uint64_t kept = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    const std::uint64_t id = slice.head().slice.value;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      const std::uint32_t source = fragment.record.source.value;
      const bool has_it = id % 200 == 0 || (source != 3 && source != 4);
      if (fragment.record.kept != has_it) ++wrong;
      if (!fragment.record.kept) continue;
      ++kept;
      if (fragment.bytes.size() != 4000 || fragment.bytes[0] != static_cast<std::byte>(source + id)) ++wrong;
    }
  });
  CHECK(wrong == 0);
  CHECK(kept == kSlices * 6 + kSlices / 200 * 2);
}

TEST_CASE(
    "a readout that dies with an empty queue is marked missing, and the run continues with or without it") {
  const bool comes_back = GENERATE(false, true);
  CAPTURE(comes_back);
  const TemporaryFolder folder;
  const std::string farm = folder.write("farm.yaml",
                                        "farm: triggers\n"
                                        "source: {kind: dummy, size_bytes: 100}\n"
                                        "readout: {count: 2, sources_per_readout: 2}\n"
                                        "filter: {plugin: accept-all}\n"
                                        "writer: {sync_interval_ms: 10}\n"
                                        "dcm: {grace_ms: 300}\n"
                                        "trigger: {mode: network}\n");
  const Bounds bounds{8 * kMebi, 24 * kMebi, 16 * kMebi};
  FarmRun run(folder, farm, settings(bounds, {comes_back ? "run.restart=on-failure" : "run.restart=never"}));
  FarmWatcher watcher(run.port_of("supervisor"), "triggers");
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  WireClient client(run.trigger_port(), v1::ROLE_TRIGGER, "beam", "triggers");
  constexpr int kEach = 50;
  const auto offer = [&] {
    v1::Control message;
    for (int i = 0; i < kEach; ++i) message.mutable_trigger()->add_triggers();
    client.send(message);
    const auto answer = client.receive_control(Seconds(10));
    REQUIRE(answer.has_value());
    for (const auto& one : answer->trigger_answer().answers()) REQUIRE(one.taken());
  };
  offer();
  REQUIRE(watcher.wait_for_counter("supervisor", "stored", kEach, Seconds(20)));
  REQUIRE(watcher.wait_for_counter("readout-1", "fragments.cleared", 2 * kEach, Seconds(20)));
  const pid_t before = run.pid_of("readout-1");
  REQUIRE(run.send_signal("readout-1", SIGKILL));
  if (comes_back) {
    REQUIRE(wait_until([&] { return run.pid_of("readout-1") != before && run.pid_of("readout-1") != 0; },
                       Seconds(20)));
    const std::string connected = "readout connected name=readout-1";
    REQUIRE(wait_until(
        [&] {
          const std::string log = run.log("dcm-0");
          return log.rfind(connected) != log.find(connected);
        },
        Seconds(20)));
  } else {
    REQUIRE(run.wait_for_log("dcm-0", "readout lost name=readout-1"));
  }
  offer();
  REQUIRE(watcher.wait_for_counter("supervisor", "stored", 2 * kEach, Seconds(20)));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("triggered") == 2 * kEach);
  CHECK(end.summary.count("stored") == 2 * kEach);
  CHECK(end.summary.count("stored_incomplete") == (comes_back ? 0 : kEach));
  CHECK(end.summary.count("fragments.missing.source_down") == (comes_back ? 0 : 2 * kEach));
  CHECK(end.summary.count_all("fragments.missing") == (comes_back ? 0 : 2 * kEach));
  check_memory(end, bounds);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("more data than the disk can take is held back with its reason, and stored when there is room") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "out", 160);
  if (!disk.mounted()) return;
  disk.fill(150);
  const Bounds bounds{8 * kMebi, 24 * kMebi, 8 * kMebi};
  constexpr std::uint64_t kSlices = 6000;  // 96 MB
  std::vector<std::string> arguments =
      settings(bounds, {"source.distribution=fixed", "trigger.mode=rate", "trigger.rate_hz=3000"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  FarmRun run(folder, config_file("event-building.yaml"), arguments);
  FarmWatcher watcher(run.port_of("supervisor"), "event-building");
  REQUIRE(watcher.wait_for_state("writer-0", "blocked: WRITER_DISK_FULL writer-0", Seconds(30)));
  REQUIRE(watcher.wait_for_state("supervisor", "throttled: WRITER_DISK_FULL writer-0", Seconds(30)));
  // So many triggers come in vain while it is full.
  REQUIRE(watcher.wait_for_counter("supervisor", "vetoed.throttled", 3000, Seconds(30)));
  disk.make_room();
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("vetoed.throttled") >= 3000);
  CHECK(end.summary.count("throttled_ms.WRITER_DISK_FULL") >= 900);  // at 3000 triggers a second
  CHECK_THAT(end.out, Catch::ContainsSubstring("s by WRITER_DISK_FULL"));
  CHECK(end.summary.count("offered") == kSlices + end.summary.count_all("vetoed"));
  check_memory(end, bounds);
  const StoredRun stored(folder / "out");
  CHECK(stored.problems() == "");
  CHECK(stored.ids().size() == kSlices);
  CHECK(check_dummy_data(stored).wrong == "");
}

TEST_CASE("sources ten times too fast and a filter ten times too slow fill no memory, and all is counted") {
  const TemporaryFolder folder;
  const Bounds bounds{8 * kMebi, 24 * kMebi, 8 * kMebi};
  // Two filters take at most 200 slices a second; 2000 arrive, of 64 KB: 128 MB/s.
  std::vector<std::string> arguments = settings(
      bounds, {"source.distribution=fixed", "source.size_bytes=4000", "trigger.mode=rate",
               "trigger.rate_hz=2000", "filter.plugin=busy", "filter.parameters.microseconds=10000"});
  arguments.insert(arguments.end(), {"--duration", "5"});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("offered") > 8000);
  CHECK(end.summary.count_all("vetoed") > 5000);
  CHECK(end.summary.count("offered") == end.summary.count("triggered") + end.summary.count_all("vetoed"));
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK(end.summary.count_all("discarded") == 0);
  check_memory(end, bounds);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("slices that wait behind a slow filter for many leases are each filtered once") {
  const TemporaryFolder folder;
  const std::string farm =
      folder.write("farm.yaml",
                   "farm: slow\n"
                   "trigger: {mode: max}\n"
                   "source: {kind: dummy, size_bytes: 100}\n"
                   "supervisor: {lease_ms: 500}\n"
                   "dcm: {count: 2, credits: 64, processing_units: 1, deadline_ms: 200}\n"
                   "filter:\n"
                   "  plugin: busy\n"
                   "  parameters: {microseconds: 0, asleep: 50000}\n"
                   "  step_deadline_ms: 300\n");
  constexpr std::uint64_t kSlices = 128;  // 64 for each DCM: the last one waits for 3 s
  const FarmEnd end = run_farm(folder, farm, {"--slices", std::to_string(kSlices)});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count("supervisor.leases_expired") == 0);
}

TEST_CASE("a writer with a stalling disk at full speed fills no memory, and continues") {
  const TemporaryFolder folder;
  const Bounds bounds{8 * kMebi, 24 * kMebi, 8 * kMebi};
  FarmRun run(folder, config_file("event-building.yaml"), settings(bounds, {"source.size_bytes=4000"}));
  REQUIRE(run.wait_for_data(20 * kMebi));
  const pid_t writer = run.pid_of("writer-0");
  REQUIRE(writer != 0);
  REQUIRE(::kill(writer, SIGSTOP) == 0);
  (void)wait_until([] { return false; }, Seconds(2));  // a second fills every buffer there is
  REQUIRE(::kill(writer, SIGCONT) == 0);
  const std::uint64_t before = run.data_bytes();
  REQUIRE(run.wait_for_data(before + 10 * kMebi));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  check_memory(end, bounds);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("faults without targets leave a farm with tight buffers as it is") {
  const TemporaryFolder folder;
  constexpr std::uint64_t kSlices = 2000;
  std::vector<std::string> arguments =
      sets({"source.size_bytes=20000", "source.distribution=fixed", "readout.count=2",
            "readout.sources_per_readout=8", "readout.buffer_bytes=4MiB", "dcm.credits=64",
            "filter.plugin=prescale", "filter.parameters.n=1000",
            "source.faults=[{drop: 1e-12, delay: 1e-12, reorder: 1e-12, duplicate: 1e-12, truncate: 1e-12, "
            "corrupt: 1e-12, silent_every_s: 86400, silent_for_s: 1e-9}]"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("fragments.requested") == kSlices * 16);
  CHECK(end.summary.count("fragments.received") == kSlices * 16);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.count_all("fragments.dropped") == 0);
  CHECK(end.summary.count_all("injected") == 0);
}

TEST_CASE("fragments that are late on purpose fill no memory beyond their readout's buffer") {
  const TemporaryFolder folder;
  const Bounds bounds{16 * kMebi, 64 * kMebi, 16 * kMebi};
  std::vector<std::string> arguments =
      settings(bounds, {"trigger.mode=rate", "trigger.rate_hz=800", "source.size_bytes=90000",
                        "source.distribution=fixed", "source.wait_ms=100", "dcm.credits=1000",
                        "source.faults=[{corrupt: 1, delay: 1, delay_ms: 60000}]", "readout.count=1",
                        "readout.sources_per_readout=1", "dcm.count=1", "filter.plugin=prescale",
                        "filter.parameters.n=1000000"});
  arguments.insert(arguments.end(), {"--duration", "4"});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("injected.delay") > 500);
  CHECK(end.summary.count("fragments.missing.deadline") > 500);
  check_memory(end, bounds);
}
