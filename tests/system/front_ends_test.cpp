// Tests of farms whose readouts receive datagrams, with `weir emit` as their front-ends.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "udp_socket.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"
#include <weir/emulation/dummy_content.hpp>
#include <weir/pieces.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <random>

namespace {

using namespace weir;
using namespace weir::system_test;

// configs/udp.yaml at free ports, patient with a machine that has much to do.
struct FrontEndFarm {
  explicit FrontEndFarm(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
    std::vector<std::string> assignments{
        "trigger.listen=127.0.0.1:0", "source.parameters.port=" + std::to_string(port), "source.wait_ms=5000",
        "dcm.deadline_ms=20000", "supervisor.status_interval_ms=100"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    const auto all = sets(assignments);
    arguments.insert(arguments.end(), all.begin(), all.end());
    run.emplace(folder, config_file("udp.yaml"), arguments);
  }
  // `weir emit` for this farm, to its end.
  CommandEnd emit(std::vector<std::string> arguments) {
    // Packets sent before the readouts listen are lost without a trace.
    for (const char* node : {"supervisor", "readout-0", "readout-1"})
      REQUIRE(run->wait_for_log(node, "run began"));
    return run_command(folder, "weir", emit_line(arguments));
  }
  // Beside the test.
  [[nodiscard]] std::unique_ptr<Process> start_emit(const std::string& name,
                                                    const std::vector<std::string>& arguments) {
    for (const char* node : {"supervisor", "readout-0", "readout-1"})
      REQUIRE(run->wait_for_log(node, "run began"));
    std::vector<std::string> line = emit_line(arguments);
    line.insert(line.begin(), WEIR_BIN_DIR "/weir");
    return std::make_unique<Process>(line, folder / (name + ".out"), folder / (name + ".err"));
  }
  // Later arguments count.
  [[nodiscard]] std::vector<std::string> emit_line(const std::vector<std::string>& arguments) const {
    std::vector<std::string> line{"emit", config_file("udp.yaml"), "--set",
                                  "source.parameters.port=" + std::to_string(port)};
    if (std::find(arguments.begin(), arguments.end(), "--trigger") == arguments.end()) {
      line.insert(line.end(), {"--trigger", "127.0.0.1:" + std::to_string(run->trigger_port())});
    }
    line.insert(line.end(), arguments.begin(), arguments.end());
    return line;
  }

  TemporaryFolder folder;
  std::uint16_t port = free_port_pair();
  std::optional<FarmRun> run;
};

// Lines of the summary's faults that hold this text.
std::size_t faults_with(const FarmEnd& end, const std::string& text) {
  const auto& faults = end.summary.json().at("faults").as_array();
  return static_cast<std::size_t>(std::count_if(faults.begin(), faults.end(), [&](const auto& fault) {
    return std::string(fault.as_string()).find(text) != std::string::npos;
  }));
}

}  // namespace

TEST_CASE("data of front-ends at a moderate rate is built with nothing missing and every byte right") {
  FrontEndFarm farm({"--slices", "1500"});
  const CommandEnd emitted = farm.emit({"--rate", "500"});
  CHECK(emitted.status == 0);
  CHECK_THAT(emitted.out, Catch::ContainsSubstring("triggers  1500 taken"));
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 1500);
  CHECK(end.summary.count("fragments.received") == 6000);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.count("filter.verify_fragments") == 6000);
  CHECK(end.summary.count("filter.verify_mismatch") == 0);
  CHECK(end.summary.count("source.packets_lost") == 0);
  CHECK(end.summary.text("source_plugin") == "udp 1.0");
  const DummyCheck stored = check_dummy_data(StoredRun(farm.folder / "out"));
  CHECK(stored.fragments == 6000);
  CHECK(stored.wrong == "");
}

TEST_CASE("front-ends that the supervisor refuses get the reason immediately") {
  FrontEndFarm farm({"--slices", "100"});
  const CommandEnd refused = run_command(farm.folder, "weir",
                                         {"emit", "--to", "127.0.0.1:9", "--sources", "1-4", "--trigger",
                                          "127.0.0.1:" + std::to_string(farm.run->trigger_port())});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Catch::ContainsSubstring("refused by the peer: 'emit' belongs to farm 'weir'"));
  CHECK(farm.emit({"--rate", "500"}).status == 0);
  CHECK(farm.run->finish().status == 0);
}

TEST_CASE("packets lost in transit are fragments missing for a gap, and all else is right") {
  FrontEndFarm farm({"--slices", "1500"});
  const CommandEnd emitted = farm.emit({"--rate", "500", "--drop-every", "500"});
  CHECK(emitted.status == 0);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 1500);
  const std::uint64_t gaps = end.summary.count("fragments.missing.gap");
  CHECK(gaps >= 30);  // every 500th of 18 000 packets
  CHECK(gaps <= 37);
  CHECK(end.summary.count_all("fragments.missing") == gaps);
  CHECK(end.summary.count("fragments.received") + gaps == 6000);
  CHECK(end.summary.count("source.packets_lost") >= gaps);
  CHECK(check_dummy_data(StoredRun(farm.folder / "out")).wrong == "");
}

TEST_CASE("at a rate that is too high every loss has a name and every stored byte is right") {
  FrontEndFarm farm({"--slices", "8000"},
                    {"source.parameters.receive_buffer=100000", "source.early_slices=500",
                     "source.wait_ms=500", "dcm.deadline_ms=20000", "source.loss_share_max=1"});
  const CommandEnd emitted = farm.emit({"--rate", "0"});
  CHECK(emitted.status == 0);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 8000);
  CHECK(end.summary.count("fragments.received") + end.summary.count_all("fragments.missing") == 32000);
  // The kernel dropped the packets that the sequence numbers miss, and perhaps the last of a source.
  CHECK(end.summary.count("source.kernel_drops") >= end.summary.count("source.packets_lost"));
  CHECK(check_dummy_data(StoredRun(farm.folder / "out")).wrong == "");
}

TEST_CASE("garbage at the front-ends' ports changes nothing but counters") {
  // On a busy machine a packet may be read late: slices wait for it.
  FrontEndFarm farm({"--slices", "1500"},
                    {"dcm.deadline_ms=5000", "dcm.grace_ms=2000", "source.wait_ms=2000"});
  std::mt19937_64 random(7);
  const UdpSocket stranger;
  constexpr int kGarbage = 400;  // less than source.loss_share_max of all packets
  REQUIRE(farm.run->wait_for_log("supervisor", "run began"));
  for (int i = 0; i < kGarbage; ++i) {
    std::vector<std::byte> bytes(random() % 1500);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    stranger.send_to(farm.port, bytes);
  }
  const CommandEnd emitted = farm.emit({"--rate", "500"});
  CHECK(emitted.status == 0);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 1500);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.count("source.malformed_too_short") + end.summary.count("source.malformed_bad_magic") ==
        kGarbage);
}

TEST_CASE("a killed readout receives its front-end's packets again when it has restarted") {
  FrontEndFarm farm({"--slices", "2500"}, {"dcm.grace_ms=300", "source.wait_ms=500"});
  std::optional<Process> emitter;
  const std::string port = std::to_string(farm.port);
  emitter.emplace(
      std::vector<std::string>{WEIR_BIN_DIR "/weir", "emit", config_file("udp.yaml"), "--set",
                               "source.parameters.port=" + port, "--trigger",
                               "127.0.0.1:" + std::to_string(farm.run->trigger_port()), "--rate", "500"},
      farm.folder / "emit.out", farm.folder / "emit.err");
  REQUIRE(farm.run->wait_for_data(1'000'000));
  REQUIRE(farm.run->send_signal("readout-0", SIGKILL));
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 3);
  CHECK(emitter->wait(Seconds(20)) == 0);
  CHECK(end.summary.count("stored") == 2500);
  const std::uint64_t missing = end.summary.count_all("fragments.missing");
  CHECK(missing > 0);
  CHECK(missing < 5000);  // readout-0 has 5000
  CHECK(end.summary.count("fragments.received") + missing == 10000);
  CHECK(check_dummy_data(StoredRun(farm.folder / "out")).wrong == "");
}

TEST_CASE("front-ends that are killed and started again are read on, and named in the summary") {
  const bool sessions = GENERATE(true, false);
  CAPTURE(sessions);
  FrontEndFarm farm({});
  std::vector<std::string> arguments{"--rate", "250"};
  if (!sessions) arguments.insert(arguments.end(), {"--session", "0"});
  const auto first = farm.start_emit("first", arguments);
  REQUIRE(farm.run->wait_for_data(2'000'000));
  first->send_signal(SIGKILL);
  (void)first->wait(Seconds(20));
  arguments.insert(arguments.end(), {"--first-slice", "100000", "--slices", "500"});
  const CommandEnd again = farm.emit(arguments);
  CHECK_THAT(again.out, Catch::ContainsSubstring("triggers  500 taken"));
  farm.run->process().send_signal(SIGINT);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 3);
  // Three packets a fragment: up to seven of each source are dropped without session numbers.
  CHECK(end.summary.count("source.restarts") == 4);
  CHECK(end.summary.count("source.unconfirmed") == (sessions ? 0 : 28));
  CHECK(end.summary.count_all("fragments.missing") <= (sessions ? 0 : 12));
  CHECK(end.summary.count("filter.verify_mismatch") == 0);
  CHECK(faults_with(end, "restarted: 127.0.0.1:") >= 2);  // for each readout
  CHECK(end.logs.find("restarted: 127.0.0.1:") != std::string::npos);
  const DummyCheck stored = check_dummy_data(StoredRun(farm.folder / "out"));
  CHECK(stored.wrong == "");
}

TEST_CASE("two front-ends with one source id are a fault with both addresses, and one of them is read") {
  FrontEndFarm farm({"--slices", "500"}, {"filter.plugin=accept-all"});
  const std::string session = GENERATE("0", "5");
  CAPTURE(session);
  // Replays all boards a second time, without sending triggers.
  const auto second = farm.start_emit("second", {"--trigger", "none", "--rate", "250", "--session", session});
  CHECK(farm.emit({"--rate", "250", "--session", session == "0" ? "0" : "6"}).status == 0);
  const FarmEnd end = farm.run->finish();
  second->send_signal(SIGINT);
  (void)second->wait(Seconds(20));
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == 500);
  CHECK(faults_with(end, "two front-ends send source") >= 2);
  CHECK(end.summary.count("source.second_sender") > 1000);
}

TEST_CASE("packets of front-ends that send for another run end in status 3") {
  FrontEndFarm farm({"--slices", "300"});
  const CommandEnd astray =
      farm.emit({"--trigger", "none", "--run", "4242", "--rate", "1000", "--slices", "300"});
  CHECK(astray.status == 0);
  CHECK(farm.emit({"--rate", "250"}).status == 0);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 3);
  CHECK(faults_with(end, "that reached the readout were thrown away (other_run") == 2);
  CHECK(end.summary.count_all("fragments.missing") == 0);
}

TEST_CASE("front-ends that send nothing, or only malformed packets, are named with the reason, status 3") {
  const bool malformed = GENERATE(false, true);
  CAPTURE(malformed);
  FrontEndFarm farm({"--slices", "100"}, {"trigger.mode=rate", "trigger.rate_hz=100", "source.wait_ms=100"});
  REQUIRE(farm.run->wait_for_log("supervisor", "run began"));
  const UdpSocket board;
  for (int i = 0; malformed && i < 200; ++i) board.send_to(farm.port, std::vector<std::byte>(100));
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("fragments.received") == 0);
  for (const char* source : {"source 1: ", "source 4: "}) CHECK(faults_with(end, source) > 0);
  CHECK(faults_with(end, "requested fragments are missing (deadline") > 0);
  const std::string refused =
      "200 of 200 packets that reached the readout were thrown away (malformed_bad_magic 200)";
  CHECK(faults_with(end, refused) == (malformed ? 1 : 0));
}

TEST_CASE("a recorded run is played again, byte for byte") {
  FrontEndFarm first({"--slices", "300"});
  CHECK(first.emit({"--rate", "1000"}).status == 0);
  CHECK_BALANCED(first.run->finish(), 0);
  FrontEndFarm second({"--slices", "300"});
  CHECK(second.emit({"--rate", "500", "--from", first.folder / "out"}).status == 0);
  const FarmEnd end = second.run->finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.count("filter.verify_fragments") == 1200);
  CHECK(end.summary.count("filter.verify_mismatch") == 0);
}

TEST_CASE("hits of an emulated detector are built as front-ends send them") {
  FrontEndFarm farm({"--slices", "300"}, {"filter.plugin=accept-all"});
  CHECK(farm.emit({"--rate", "500", "--from", "hits", "--set", "hits.floors_per_string=2"}).status == 0);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 300);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.count("bytes_in") > 300 * 4 * 3000);  // 700 hits of 6 bytes in 10 ms
}

TEST_CASE(
    "front-ends that number the slices themselves are built, also after kills of a readout and the "
    "supervisor") {
  FrontEndFarm farm({"--slices", "1800"}, {"trigger.mode=max", "build.by=number", "dcm.grace_ms=300",
                                           "source.wait_ms=500", "supervisor.in_flight_max=100000"});
  const auto emitter = farm.start_emit("emit", {"--trigger", "none", "--rate", "1000", "--slices", "6000"});
  REQUIRE(farm.run->wait_for_data(1'000'000));
  REQUIRE(farm.run->send_signal("supervisor", SIGKILL));
  REQUIRE(farm.run->wait_for_log("supervisor", "run resumed"));
  REQUIRE(farm.run->send_signal("readout-0", SIGKILL));
  const FarmEnd end = farm.run->finish();
  emitter->send_signal(SIGTERM);
  (void)emitter->wait(Seconds(20));
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == 1800);
  // The front-ends' numbers are the only triggers.
  CHECK(end.summary.count("offered") == 1800 + end.summary.count_all("vetoed"));
  CHECK(end.summary.count("numbers.late") == 0);
  CHECK(end.summary.count("numbers.unanchored") == 0);
  CHECK(end.summary.count("filter.verify_mismatch") == 0);
  CHECK(check_dummy_data(StoredRun(farm.folder / "out")).wrong == "");
}

TEST_CASE("an unknown source plugin ends the run with the nearest name") {
  const TemporaryFolder folder;
  const FarmEnd absent = run_farm(
      folder, config_file("udp.yaml"),
      sets({"source.kind=plugin", "source.plugin=upd", "trigger.listen=127.0.0.1:0", "run.restart=never"}));
  CHECK(absent.status == 1);
  CHECK_THAT(absent.logs + absent.err, Catch::ContainsSubstring("Is 'udp' meant?"));
}

TEST_CASE("front-ends with clocks: every window has all pieces of its time, whole, and no others") {
  constexpr std::int64_t kPeriod = 1'000'000;  // ns, between two pieces
  const TemporaryFolder folder;
  const std::uint16_t port = free_port_pair();
  const std::string file =
      folder.write("clocks.yaml",
                   "farm: clocks\ntrigger: {mode: clock, slice_ms: 10}\nbuild: {by: time, overlap_us: 2000}\n"
                   "source: {kind: udp, size_bytes: 300, wait_ms: 5000, parameters: {port: " +
                       std::to_string(port) +
                       "}}\n"
                       "readout: {count: 2, sources_per_readout: 2}\ndcm: {count: 2, deadline_ms: 20000}\n"
                       "supervisor: {lease_ms: 60000}\nwriter: {count: 1}\nrun: {slices: 80}\n");
  FarmRun farm(folder, file, {});
  for (const char* node : {"supervisor", "readout-0", "readout-1"})
    REQUIRE(farm.wait_for_log(node, "run began"));
  const CommandEnd emitted =
      run_command(folder, "weir", {"emit", file, "--rate", "1000", "--slices", "1500"});
  INFO(emitted.err);
  CHECK(emitted.status == 0);
  const FarmEnd end = farm.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 80);
  std::map<std::uint32_t, std::int64_t> begins;  // by source: time of its first piece
  const StoredRun stored(folder / "out");
  const auto for_each_window = [&](const auto& visit) {
    stored.for_each_slice([&](const storage::SliceRecordView& slice) {
      for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
        const auto pieces = FragmentPieces::read(slice.fragment(i).bytes);
        if (pieces) visit(slice.fragment(i).record, *pieces);
      }
    });
  };
  for_each_window([&](const storage::FragmentRecord& record, const FragmentPieces& pieces) {
    if (pieces.empty()) return;
    const std::int64_t first = pieces.time_ns() + (*pieces.begin()).offset_ns;
    const auto known = begins.try_emplace(record.source.value, first).first;
    known->second = std::min(known->second, first);
  });
  CHECK(begins.size() == 4);
  emulation::DummyVerifier verifier;
  std::size_t windows = 0;
  std::string wrong;
  for_each_window([&](const storage::FragmentRecord& record, const FragmentPieces& pieces) {
    const std::int64_t begin = begins[record.source.value];
    if (pieces.time_ns() - pieces.before_ns() <= begin) return;
    ++windows;
    // 14 ms of time: 14 pieces, at any phase.
    bool good = record.status == FragmentStatus::ok && pieces.size() == 14;
    for (const FragmentPiece& piece : pieces) {
      const std::int64_t after = pieces.time_ns() + piece.offset_ns - begin;
      good = good && after % kPeriod == 0 &&
             verifier.verify(RunNumber(1), record.source,
                             SliceId(static_cast<std::uint64_t>(after / kPeriod)), piece.bytes);
    }
    if (!good && wrong.empty())
      wrong = "source " + std::to_string(record.source.value) + " at " + std::to_string(pieces.time_ns());
  });
  CHECK(wrong == "");
  CHECK(windows > 4 * 40);
}

TEST_CASE("data that lag by one slice: their front-end is named, and realigned by its time") {
  FrontEndFarm farm({"--slices", "1200"}, {"build.time_tolerance_us=200", "build.on_out_of_step=realign"});
  const CommandEnd emitted = farm.emit({"--rate", "1000", "--slip", "3:lag@300"});
  CHECK(emitted.status == 0);
  const FarmEnd end = farm.run->finish();
  CHECK_BALANCED(end, 3);
  CHECK(faults_with(end, "source 3 out of step by -1 since slice 300") == 1);
  CHECK(end.summary.count("steps_compared.realigned") > 500);
  emulation::DummyVerifier verifier;
  std::uint64_t marked = 0;
  std::uint64_t realigned = 0;
  std::uint64_t wrong = 0;
  StoredRun(farm.folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      const FragmentStatus status = fragment.record.status;
      if (status == FragmentStatus::missing) continue;
      const bool own =
          verifier.verify(slice.head().run, fragment.record.source, slice.head().slice, fragment.bytes)
              .has_value();
      marked += status == FragmentStatus::out_of_step ? 1 : 0;
      realigned += own && fragment.record.source.value == 3 && slice.head().slice.value > 500 ? 1 : 0;
      wrong += own == (status == FragmentStatus::out_of_step) ? 1 : 0;
    }
  });
  CHECK(wrong == 0);  // what is not marked has the data of its slice
  CHECK(marked > 0);
  CHECK(marked < 200);
  CHECK(realigned > 500);
}

TEST_CASE("a counter that jumps by a bit is named and masked, and all other data are right") {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "counts.yaml",
      "farm: counts\nbuild: {by: number, on_out_of_step: mask}\nsource: {kind: plugin, plugin: '" +
          std::string(WEIR_SYSTEM_PLUGIN_DIR) +
          "/counts.so', wait_ms: 400, parameters: {rate_hz: 500, jump_of: 3, jump_at: 150}}\n"
          "readout: {count: 2, sources_per_readout: 2}\ndcm: {count: 1, deadline_ms: 20000}\n"
          "supervisor: {lease_ms: 60000}\nwriter: {count: 1}\nrun: {slices: 600}\n");
  const FarmEnd end = run_farm(folder, file, {});
  CHECK_BALANCED(end, 3);
  CHECK(faults_with(end, "source 3 out of step by -1048576 since slice 150") == 1);
  CHECK(end.summary.count("stored") == 600);
  CHECK(end.summary.count("stored_incomplete") == 450);
  const DummyCheck stored = check_dummy_data(StoredRun(folder / "out"));
  CHECK(stored.wrong == "");
  CHECK(stored.missing == 450);
}
