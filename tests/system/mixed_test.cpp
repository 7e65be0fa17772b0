// Front-ends that differ in one farm: datagrams, a plugin, recorded data, emulated sources of several sizes.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "udp_socket.hpp"
#include "weir_catch.hpp"
#include <weir/emulation/dummy_content.hpp>

#include <algorithm>
#include <fstream>
#include <map>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kRecorded = 150;
constexpr std::uint64_t kSlices = 400;
constexpr std::uint32_t kRecordedRun = 7;

// A run of sources 901 and 902 to be replayed.
std::string recording_in(const TemporaryFolder& folder) {
  const std::string out = folder / "recorded";
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"run.number=" + std::to_string(kRecordedRun), "run.slices=" + std::to_string(kRecorded),
                    "readout.count=1", "readout.sources_per_readout=2", "readout.first_source=901"}),
              out);
  CHECK_BALANCED(run.finish(), 0);
  return out;
}

std::string farm_file(const TemporaryFolder& folder, std::uint16_t port, const std::string& recording) {
  const std::string path = folder / "mixed.yaml";
  std::ofstream(path)
      << "farm: mixed\n"
         "run: {slices: "
      << kSlices
      << "}\n"
         "trigger: {mode: network, listen: '127.0.0.1:0'}\n"
         "supervisor: {status_interval_ms: 100}\n"
         "source: {kind: dummy, size_bytes: 500, wait_ms: 5000}\n"
         "readout:\n"
         "  nodes:\n"
         "    - {name: device, sources: [1, 2], source: {kind: udp, parameters: {port: "
      << port
      << "}}}\n"
         "    - name: telescope-{i}\n"
         "      count: 2\n"
         "      sources_per_readout: 2\n"
         "      first_source: 101\n"
         "      source: {sizes: [{sources: [102, 103], size_bytes: 3000}]}\n"
         "    - {name: old, source: {kind: replay}, replay: {path: '"
      << recording
      << "'}}\n"
         "    - {name: trigger-unit, sources: [301], buffer_bytes: 1MiB, source: {size_bytes: 64}}\n"
         "    - name: stamps\n"
         "      sources: [401]\n"
         "      source: {kind: plugin, plugin: stamps, search_path: ['" WEIR_SYSTEM_PLUGIN_DIR
         "'], parameters: {length: 40}}\n"
         "dcm:\n"
         "  deadline_ms: 20000\n"
         "  nodes:\n"
         "    - {name: small, credits: 4}\n"
         "    - {name: large, credits: 32, processing_units: 2}\n"
         "writer: {nodes: {name: 'disk-{i}', count: 2}}\n";
  return path;
}

// The size that a source's fragments have here.
std::size_t size_of(std::uint32_t source) {
  if (source == 301) return 64;
  if (source == 401) return 40;
  return source == 102 || source == 103 ? 3000 : 500;
}

struct Found {
  std::map<std::uint32_t, std::uint64_t> fragments;  // fragments with correct bytes, by source
  std::string wrong;
};

Found look_at(const StoredRun& stored, const StoredRun& recording) {
  Found found;
  emulation::DummyVerifier verifier;
  std::map<std::uint64_t, std::map<std::uint32_t, std::vector<std::byte>>> recorded;
  recording.for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      recorded[slice.head().slice.value][fragment.record.source.value] = {fragment.bytes.begin(),
                                                                          fragment.bytes.end()};
    }
  });
  stored.for_each_slice([&](const storage::SliceRecordView& slice) {
    const SliceId id = slice.head().slice;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      const SourceId source = fragment.record.source;
      const ConstBytes bytes = fragment.bytes;
      bool right = source.value > 900 || bytes.size() == size_of(source.value);
      if (source.value > 900) {
        const auto& old = recorded.at(id.value % kRecorded).at(source.value);
        right = std::equal(bytes.begin(), bytes.end(), old.begin(), old.end());
      } else if (source.value == 401) {
        right = right && std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) {
                  return byte == static_cast<std::byte>(id.value + source.value);
                });
      } else {
        right = right && verifier.verify(RunNumber(1), source, id, bytes).has_value();
      }
      if (right) ++found.fragments[source.value];
      if (!right && found.wrong.empty())
        found.wrong = "slice " + std::to_string(id.value) + ", source " + std::to_string(source.value);
    }
  });
  return found;
}

}  // namespace

TEST_CASE("a farm of different front-ends builds each fragment bit for bit") {
  const TemporaryFolder folder;
  const std::string recording = recording_in(folder);
  const std::string file = farm_file(folder, free_port_pair(), recording);
  const CommandEnd checked = run_command(folder, "weir", {"check", file});
  INFO(checked.out << checked.err);
  CHECK(checked.status == 0);
  CHECK_THAT(checked.out, Catch::ContainsSubstring("101-102  dummy"));
  CHECK_THAT(checked.out, Catch::ContainsSubstring("901-902  replay"));
  CHECK_THAT(checked.out, Catch::ContainsSubstring("401  stamps"));
  const CommandEnd explained = run_command(folder, "weir", {"check", file, "--explain", "telescope-1"});
  CHECK(explained.status == 0);
  CHECK_THAT(explained.out, Catch::ContainsSubstring("telescope-1: readout, sources 103-104"));
  CHECK_THAT(explained.out, Catch::ContainsSubstring(file + ":11"));

  FarmRun run(folder, file, {});
  for (const char* node : {"supervisor", "device", "stamps"}) REQUIRE(run.wait_for_log(node, "run began"));
  const CommandEnd emitted = run_command(folder, "weir",
                                         {"emit", file, "--rate", "200", "--slices", std::to_string(kSlices),
                                          "--trigger", "127.0.0.1:" + std::to_string(run.trigger_port())});
  INFO(emitted.out << emitted.err);
  CHECK(emitted.status == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.text("source_plugin") == "udp 1.0, stamps 2.1");
  const Found found = look_at(StoredRun(folder / "out"), StoredRun(recording));
  CHECK(found.wrong == "");
  for (const std::uint32_t source : {1, 2, 101, 102, 103, 104, 301, 401, 901, 902}) {
    INFO(source);
    CHECK(found.fragments.at(source) == kSlices);
  }
  const std::string begin = read_file(folder / "out/run-000001-begin.yaml");
  CHECK_THAT(begin, Catch::ContainsSubstring("sources:\n  - plugin: \"udp\"\n    path: "));
  CHECK_THAT(begin, Catch::ContainsSubstring("  - plugin: \"stamps\"\n    path: "));
}

TEST_CASE("injected faults appear in the ledger by name, and the account counts them") {
  const TemporaryFolder folder;
  FarmRun run(
      folder, config_file("event-building.yaml"),
      sets(
          {"run.slices=3000", "trigger.mode=rate", "trigger.rate_hz=1000", "source.wait_ms=300",
           "dcm.deadline_ms=20000", "supervisor.status_interval_ms=100",
           "source.faults=[{drop: 0.01, delay: 0.01, delay_ms: 20, reorder: 0.01, duplicate: 0.01, truncate: "
           "0.01, corrupt: 0.01}, {sources: [5], silent_every_s: 1, silent_for_s: 0.1}]"}));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  const Summary& summary = end.summary;
  for (const char* fault : {"drop", "silence", "delay", "reorder", "duplicate", "truncate", "corrupt"}) {
    INFO(fault);
    CHECK(summary.count(std::string("injected.") + fault) > 50);
  }
  CHECK(summary.count("fragments.missing.gap") == summary.count("injected.drop"));
  CHECK(summary.count("fragments.dropped.duplicate") == summary.count("injected.duplicate"));
  // On a busy machine some fragments are late as well.
  CHECK(summary.count("fragments.missing.deadline") >= summary.count("injected.silence"));
  CHECK(summary.count("fragments.truncated") > 0);
  CHECK(summary.count("fragments.corrupt") > 0);
  CHECK_THAT(end.out, Catch::ContainsSubstring("Faults on purpose"));
}

TEST_CASE("a source plugin that is not there is named with the entry that wants it") {
  const TemporaryFolder folder;
  const std::string path = folder / "farm.yaml";
  std::ofstream(path) << "readout:\n  nodes:\n    - {name: a}\n    - name: b\n      source: {kind: plugin, "
                         "plugin: no-such}\n";
  const CommandEnd checked = run_command(folder, "weir", {"check", path});
  CHECK(checked.status == 2);
  CHECK_THAT(checked.err, Catch::ContainsSubstring(path + ":5: readout.nodes[1].source.plugin: "));
}
