// A farm behind one weir-switch that is killed in the run, or receives garbage. Needs root; without it ctest
// shows SKIPPED.
#include "garbage_frames.hpp"
#include "needs_root.hpp"
#include "soak.hpp"
#include "switched_lab.hpp"
#include "weir_catch.hpp"
#include <weir/http/client.hpp>
#include <weir/packet_switch/packet_port.hpp>

#include <boost/json.hpp>

#include <map>
#include <string>
#include <thread>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr switching::Address kFreeHost = 0x0a4d0105;
constexpr switching::Address kFirstReadout = 0x0a4d0101;
constexpr switching::Address kFirstDcm = 0x0a4d0103;
constexpr int kGarbageRounds = 100;

// Sends the frames by a host's interface, slowly enough for a busy machine.
void send_slowly(const std::vector<GarbageFrame>& frames) {
  packet_switch::PacketPort port({"data", 4000, 64, 4096});
  std::size_t sent = 0;
  for (const GarbageFrame& frame : frames) {
    const ConstBytes bytes(frame.bytes);
    REQUIRE(port.send({&bytes, 1}).frames == 1);
    if (++sent % 16 == 0) std::this_thread::sleep_for(Seconds(0.002));
  }
}

// The counters of port h4 in the metrics: drops by reason, "received", "control".
std::map<std::string, std::uint64_t> counters_of_free_host(SwitchedLab& lab) {
  std::map<std::string, std::uint64_t> counters;
  lab.beside_switch([&] {
    const auto got = http::get("http://" + lab.metrics() + "/metrics");
    if (!got || got->status != 200) return;
    const std::string port = R"({switch="daq",port="h4")";
    const auto value_of = [&](const std::string& sample) -> std::uint64_t {
      const std::size_t at = got->body.find("\n" + sample + "} ");
      return at == std::string::npos ? 0 : std::stoull(got->body.substr(at + sample.size() + 3));
    };
    counters["received"] = value_of("weir_switch_received_frames_total" + port);
    counters["control"] = value_of("weir_switch_link_control_frames_total" + port);
    for (std::size_t i = 0; i < switching::kFrameDrops; ++i) {
      const std::string reason = name_of(static_cast<switching::FrameDrop>(i));
      counters[reason] = value_of("weir_switch_dropped_frames_total" + port + ",reason=\"" + reason + "\"");
    }
  });
  return counters;
}

}  // namespace

TEST_CASE(
    "a switch that dies in a run and stays dead costs fragments, each with its reason, and hangs nothing") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  SwitchedLab lab(folder);
  lab.kill_switch();
  // No DCM reaches any readout for dcm.grace_ms: their fragments are missing from now on.
  CHECK(lab.run().wait_for_log("supervisor", "is reached by no DCM", Seconds(30)));
  (void)wait_until([] { return false; }, Seconds(3));
  const FarmEnd end = lab.finish();
  INFO(describe(end));
  CHECK((end.status == 0 || end.status == 3));
  CHECK(end.summary.imbalance() == "");
  CHECK(end.summary.balanced());
  CHECK(end.summary.count("stored") > 0);
  CHECK(end.summary.count("stored") + end.summary.count_all("discarded") == end.summary.count("triggered"));
  const DummyCheck check = check_dummy_data(StoredRun(lab.run().out()));
  CHECK(check.wrong == "");
  CHECK(check.missing > 0);
  for (const auto& [reason, count] : end.summary.json().at("fragments").at("missing").as_object()) {
    CAPTURE(std::string(reason), count.to_number<std::uint64_t>());
    CHECK((reason == "source_down" || reason == "deadline"));
  }
}

TEST_CASE("a switch that is killed in a run and back after a second or two costs nothing but time") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  // TCP resumes after at most twice the outage.
  SwitchedLab lab(folder, {"dcm.deadline_ms=6000", "network.silence_ms=6000"});
  for (const double outage_s : {1.0, 2.0}) {
    lab.kill_switch();
    (void)wait_until([] { return false; }, Seconds(outage_s));
    lab.start_switch();
    // Not each connection resumes at the same time; an outage before would add to its pause.
    (void)wait_until([] { return false; }, Seconds(2 * outage_s));
    REQUIRE(lab.stores(1 << 20));
  }
  const FarmEnd end = lab.finish();
  CHECK_BALANCED(end, 0);
  INFO(boost::json::serialize(end.summary.json().at("fragments")));
  CHECK(check_all_stored(folder, end, lab.run().out()).missing == 0);
}

TEST_CASE("garbage at a port of a switch is dropped by name, and costs a farm nothing") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  SwitchedLab lab(folder);
  lab.command(lab.free_host(), "ip link set dev data mtu 3500");
  lab.command(lab.switches(), "ip link set dev h4 mtu 3500");
  const auto frames = GarbageFrames(1, kFirstDcm, kFirstReadout, kFreeHost).make(kGarbageRounds);
  std::map<std::string, std::uint64_t> sent;
  for (const GarbageFrame& frame : frames) ++sent[frame.fate];
  lab.on_free_host([&] { send_slowly(frames); });
  std::map<std::string, std::uint64_t> counters;
  CHECK(wait_until(
      [&] {
        counters = counters_of_free_host(lab);
        return counters["received"] == frames.size();
      },
      Seconds(20)));
  CAPTURE(counters, sent);
  std::uint64_t dropped = 0;
  for (const auto& [name, count] : counters) {
    if (name != "received" && name != "control") dropped += count;
    if (name == "malformed" || name == "no_route" || name == "received") continue;
    CHECK(count == sent[name]);
  }
  CHECK(counters["malformed"] >= sent["malformed"]);
  CHECK(counters["no_route"] >= sent["no_route"]);
  CHECK(counters["received"] == dropped + counters["control"] + sent["forwarded"]);
  CHECK(lab.stores(1 << 20));
  const FarmEnd end = lab.finish();
  CHECK_BALANCED(end, 0);
  CHECK(check_all_stored(folder, end, lab.run().out()).missing == 0);
  CHECK(lab.process().wait(Seconds(30)) == 1);  // its interfaces end with the lab
  CHECK_THAT(lab.process().err(), Catch::Matchers::ContainsSubstring("an interface was removed"));
}
