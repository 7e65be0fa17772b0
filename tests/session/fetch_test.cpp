// Strangers and false nodes beside DCMs that keep slices for each other.
#include "impostor.hpp"
#include "memory_farm.hpp"
#include "raw_peer.hpp"
#include "weir_catch.hpp"
#include <weir/node/report.hpp>

#include <spdlog/spdlog.h>

#include <string>
#include <vector>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr char kFetchSettings[] =
    "trigger: {mode: rate, rate_hz: 100}\n"
    "source: {kind: dummy, size_bytes: 2000}\n"
    "supervisor: {status_interval_ms: 20}\n"
    "network: {reconnect_ms: 10, hello_timeout_ms: 100}\n"
    "readout: {count: 2, sources_per_readout: 2}\n"
    "dcm:\n"
    "  credits: 4\n"
    "  deadline_ms: 20\n"
    "  grace_ms: 10\n"
    "  buffer_bytes: 4194304\n"
    "  nodes: [{name: near, group: near}, {name: far, group: far}]\n"
    "  groups:\n"
    "    - {name: near, forward: [far], filter: {plugin: sequential, parameters: {steps: 1, "
    "sources_per_step: "
    "4, draw: group, microseconds: 0, reject: 0, forward: far}}}\n"
    "    - {name: far, fetch: builder, filter: {plugin: accept-all}}\n"
    "writer: {count: 1, sync_interval_ms: 5}\n";
constexpr std::uint64_t kUnknownSlices = 1'000'000;  // ids from here on are not of the run

v1::Hello hello_of(v1::Role role, const std::string& name, std::uint32_t index) {
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(role);
  hello.set_name(name);
  hello.set_index(index);
  hello.set_farm("session");
  return hello;
}

// All nodes of the farm, and a watcher.
struct WholeFarm {
  WholeFarm() : farm(kFetchSettings) {
    spdlog::set_level(spdlog::level::off);
    for (const config::NodePlan& node : farm.plan().nodes) farm.start(node.name);
    watcher.emplace(farm);
    demand_progress(farm, *watcher);
  }
  void turn(int times) {
    farm.turn(times);
    watcher->listen();
  }
  // Ends the run. Every slice is stored, and the far DCM has got slices from the near one.
  void check_end() {
    turn(50);
    demand_progress(farm, *watcher);
    end_run(farm, *watcher);
    const auto& counters = watcher->summary.counters();
    INFO(watcher->summary.ledger_text());
    CHECK(watcher->summary.balanced());
    CHECK_FALSE(watcher->summary.faults());
    CHECK(counters.at("stored") == counters.at("triggered"));
    CHECK(counters.at("groups.fetched.far") > 0);
    for (const char* name : {"near", "far"}) {
      CHECK(farm.node(name).failure() == "");
      CHECK(farm.node(name).broken_invariant() == "");
    }
  }

  MemoryFarm farm;
  std::optional<Watcher> watcher;
};

// A request of the far DCM, or almost one.
v1::Control random_fetch(Random& random) {
  v1::Control message;
  v1::Fetch& fetch = *message.mutable_fetch();
  const std::uint64_t rows = random.one_in(30) ? 70'000 : random.below(5);
  for (std::uint64_t i = 0; i < rows; ++i) {
    fetch.add_slice(kUnknownSlices + random.below(1000));
    if (!random.one_in(20)) fetch.add_attempt(static_cast<std::uint32_t>(random.below(70'000)));
    if (!random.one_in(20)) fetch.add_as(static_cast<std::uint32_t>(random.below(70'000)));
  }
  if (random.one_in(10)) fetch.set_gone(true);
  return message;
}

std::uint64_t gone_slices(RawPeer& peer) {
  std::uint64_t slices = 0;
  for (const RawPeer::Frame& frame : peer.take_frames()) {
    v1::Control message;
    if (frame.header.type == wire::FrameType::control &&
        message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())) &&
        message.fetch().gone())
      slices += static_cast<std::uint64_t>(message.fetch().slice_size());
  }
  return slices;
}

// A far DCM alone, with a scripted supervisor and a near DCM that lies.
class Deceived {
 public:
  Deceived() : farm_(kFetchSettings), supervisor_(farm_.network(), 19'000), near_(farm_.network(), 19'600) {
    spdlog::set_level(spdlog::level::off);
    farm_.start("far");
    farm_.turn(20);
    REQUIRE(supervisor_.peers().size() == 1);
    supervisor().send(wire::FrameType::hello, hello_of(v1::ROLE_SUPERVISOR, "supervisor", 0));
    v1::Control begin;
    begin.mutable_begin_run()->set_run(1);
    supervisor().send(begin);
    set_near(true);
  }
  void set_near(bool present) {
    v1::Control message;
    v1::Directory::Node& node = *message.mutable_directory()->add_nodes();
    node.set_role(v1::ROLE_DCM);
    node.set_name("near");
    node.set_present(present);
    node.set_host("memory");
    node.set_port(19'600);
    supervisor().send(message);
    farm_.turn(20);
  }
  void assign(std::uint64_t slice) {
    v1::Control message;
    v1::Assign& assign = *message.mutable_assign();
    assign.add_slice(slice);
    assign.add_attempt(1);
    assign.add_kept();
    supervisor().send(message);
    farm_.turn(2);
  }
  // Answers hellos of the far DCM, and sends it something random about these slices.
  void lie(Random& random, std::uint64_t slices) {
    for (auto& peer : near_.peers()) {
      for (const RawPeer::Frame& frame : peer->take_frames()) {
        if (frame.header.type == wire::FrameType::hello)
          peer->send(wire::FrameType::hello, hello_of(v1::ROLE_DCM, "near", 0));
      }
      for (std::uint64_t n = random.below(6); n > 0; --n) peer->send(ConstBytes(lie_about(random, slices)));
    }
    farm_.turn(1 + static_cast<int>(random.below(5)));
    near_.forget_closed();
    listen();
  }
  // Until the far DCM has decided the slices.
  void settle(std::uint64_t slices) {
    for (int i = 0; i < 5000 && decided < slices; ++i) {
      farm_.turn();
      listen();
    }
  }
  RawPeer& supervisor() { return *supervisor_.peers().back(); }
  MemoryFarm& farm() { return farm_; }

  std::uint64_t decided = 0;
  v1::Report report;

 private:
  static std::vector<std::byte> lie_about(Random& random, std::uint64_t slices) {
    std::vector<std::byte> frame;
    if (random.one_in(8)) {
      Surroundings surroundings;
      surroundings.farm = "session";
      surroundings.newest_slice = slices;
      append_message(random, surroundings, {}, frame);
      return frame;
    }
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = SliceId(random.below(slices + 2));
    header.attempt = Attempt(static_cast<std::uint16_t>(random.one_in(4) ? random.below(3) : 1));
    header.source = SourceId(static_cast<std::uint32_t>(random.below(6)));
    header.total = static_cast<std::uint32_t>(random.one_in(6) ? random.next() : random.below(3000));
    header.offset = static_cast<std::uint32_t>(random.one_in(2) ? 0 : random.below(3000));
    header.length = static_cast<std::uint32_t>(random.below(1500));
    header.crc = static_cast<std::uint32_t>(random.next());
    frame.resize(wire::kHeaderBytes);
    wire::encode_header(header, std::span(frame).first<wire::kHeaderBytes>());
    const std::vector<std::byte> payload = random.bytes(header.length);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
  }
  void listen() {
    for (const RawPeer::Frame& frame : supervisor().take_frames()) {
      v1::Control message;
      if (frame.header.type != wire::FrameType::control ||
          !message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())))
        continue;
      decided += static_cast<std::uint64_t>(message.decide().slice_size());
      if (message.has_report()) report = message.report();
    }
  }

  MemoryFarm farm_;
  RawListener supervisor_;
  RawListener near_;
};

}  // namespace

TEST_CASE("strangers at a DCM that keeps slices are refused, and cost no slice and no fragment") {
  WholeFarm whole;
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const Surroundings surroundings = around(whole.farm, whole.watcher->counter("supervisor", "triggered"));
    RawPeer stranger;
    stranger.connect(whole.farm.network(), whole.farm.port_of("near"));
    if (!random.one_in(4)) stranger.send(wire::FrameType::hello, hello(random, surroundings));
    for (std::uint64_t n = random.below(8); n > 0; --n) {
      std::vector<std::byte> frames;
      append_message(random, surroundings, {}, frames);
      stranger.send(frames);
    }
    whole.turn(1 + static_cast<int>(random.below(3)));
    stranger.leave();
  }
  whole.turn(50);
  CHECK(whole.watcher->counter("near", "peers.refused_hello") > 50);
  CHECK(whole.watcher->counters("near", "peers.protocol_errors.") > 20);
  whole.check_end();
}

TEST_CASE("only nodes that fetch slices are let in by a DCM that keeps them") {
  WholeFarm whole;
  const std::uint64_t before = whole.watcher->counter("near", "peers.refused_hello");
  const v1::Hello strangers[] = {hello_of(v1::ROLE_READOUT, "readout-0", 0),
                                 hello_of(v1::ROLE_WRITER, "writer-0", 0),
                                 hello_of(v1::ROLE_SUPERVISOR, "supervisor", 0),
                                 hello_of(v1::ROLE_CONTROL, "far", 1),
                                 hello_of(v1::ROLE_DCM, "near", 0),
                                 hello_of(v1::ROLE_DCM, "far", 0),
                                 hello_of(v1::ROLE_DCM, "far", 9),
                                 hello_of(v1::ROLE_DCM, "farther", 1)};
  for (const v1::Hello& hello : strangers) {
    RawPeer stranger;
    stranger.connect(whole.farm.network(), whole.farm.port_of("near"));
    stranger.send(wire::FrameType::hello, hello);
    whole.turn(20);
    CAPTURE(hello.ShortDebugString());
    CHECK(stranger.closed());
    stranger.leave();
  }
  whole.turn(50);
  CHECK(whole.watcher->counter("near", "peers.refused_hello") >= before + std::size(strangers));
  whole.check_end();
}

TEST_CASE("a false far DCM gets no unknown slice, and loses its connection for a wrong request") {
  WholeFarm whole;
  Random random(2);
  std::uint64_t gone = 0;
  std::uint64_t closed = 0;
  for (int i = 0; i < 300; ++i) {
    RawPeer peer;
    peer.connect(whole.farm.network(), whole.farm.port_of("near"));
    peer.send(wire::FrameType::hello, hello_of(v1::ROLE_DCM, "far", 1));
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      peer.send(random_fetch(random));
      if (random.one_in(10)) {
        std::vector<std::byte> frames;
        append_message(random, around(whole.farm, kUnknownSlices), {}, frames);
        peer.send(frames);
      }
      whole.turn(1);
    }
    whole.turn(3);
    gone += gone_slices(peer);
    closed += peer.closed() ? 1 : 0;
    peer.leave();
  }
  CHECK(gone > 300);
  CHECK(closed > 50);
  CHECK(closed < 250);
  whole.check_end();
}

TEST_CASE("a DCM that fetches from a lying one decides every slice, and keeps nothing") {
  constexpr std::uint64_t kRounds = 40;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Deceived far;
    for (std::uint64_t slice = 0; slice < kRounds; ++slice) {
      far.assign(slice);
      for (std::uint64_t n = random.below(8); n > 0; --n) far.lie(random, slice);
      if (slice % 4 != 3) continue;
      far.set_near(false);  // its slices are built from the readouts, which are not there either
      far.settle(slice + 1);
      REQUIRE(far.decided == slice + 1);
      for (std::uint64_t done = slice - 3; done <= slice; ++done) {
        v1::Control message;
        message.mutable_confirm()->add_slice(done);
        message.mutable_confirm()->add_attempt(1);
        message.mutable_confirm()->mutable_code()->push_back(static_cast<char>(v1::CONFIRMATION_SETTLED));
        far.supervisor().send(message);
      }
      far.set_near(true);
    }
    for (int i = 0; i < 100; ++i) far.lie(random, kRounds);
    CHECK(far.report.gauges().at("slices_in_flight") == 0);
    CHECK(far.farm().node("far").failure() == "");
    CHECK(far.farm().node("far").broken_invariant() == "");
  }
}
