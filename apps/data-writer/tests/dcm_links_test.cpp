#include "../src/dcm_links.hpp"

#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "recording_side.hpp"
#include "weir_catch.hpp"
#include <weir/sessions/connector.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::writer;
using storage::StoreResult;

namespace {

constexpr std::uint64_t kGrants = 1000;

struct Records final : RecordHandler {
  StoreResult on_record(const ReceivedRecord& record) override {
    bytes.push_back(record.bytes.size());
    alerts.push_back(record.alert);
    origin = record.origin;
    return result;
  }
  void on_next_alert(std::uint32_t alert) override { next.push_back(alert); }

  StoreResult result = StoreResult::accepted;
  std::vector<std::size_t> bytes;
  std::vector<std::optional<std::uint32_t>> alerts;
  std::vector<std::uint32_t> next;
  std::uint32_t origin = 0;
};

// A writer's connections, and one DCM at their other end.
struct Link {
  explicit Link(bool burst = false) {
    self.burst = burst;
    auto at = links.open(network, {"memory", 0});
    REQUIRE(at.has_value());
    connector.emplace(self, dcm, limits, counters, *at, kSecond);
    run();
    REQUIRE(dcm.peer != nullptr);
  }
  void run() {
    now += kMillisecond;
    links.tick(now);
    connector->tick(network, now);
    network.run();
  }
  void ask(std::uint64_t wanted_total, std::uint64_t returned_total = 0) {
    v1::Control message;
    message.mutable_space()->set_wanted_total(wanted_total);
    message.mutable_space()->set_returned_total(returned_total);
    dcm.peer->send(message);
    run();
  }
  void send(std::uint64_t slice, std::size_t bytes, const wire::RecordPiece& piece = {}) {
    std::vector<std::byte> frame(wire::kHeaderBytes + bytes);
    wire::encode_header(
        wire::data_header(SliceId(slice), Attempt(0), static_cast<std::uint32_t>(bytes), piece),
        std::span(frame).first<wire::kHeaderBytes>());
    dcm.peer->stream().append(frame);
    run();
  }
  // Sends grants, and returns the last total that the DCM has.
  std::uint64_t granted() {
    links.send_grants(true);
    network.run();
    std::uint64_t total = 0;
    for (const v1::Control& one : dcm.said) {
      if (one.has_grant()) total = one.grant().granted_total();
    }
    return total;
  }

  TimeNs now = kSecond;
  test::MemoryNetwork network;
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  sessions::PeerInfo writer = test::process(Role::writer, 0);
  sessions::PeerInfo self = test::process(Role::dcm, 3);
  Records records;
  DcmLinks links{{kGrants, kGrants}, writer, limits, counters, records};
  test::RecordingSide dcm;
  std::optional<sessions::Connector> connector;
};

}  // namespace

TEST_CASE("a record within its grant is stored, acknowledged, and its bytes are granted again") {
  Link link;
  link.ask(600);
  CHECK(link.granted() == 600);
  link.send(7, 600);
  CHECK(link.records.bytes == std::vector<std::size_t>{600});
  CHECK(link.records.alerts.front() == std::nullopt);
  link.ask(1200);
  CHECK(link.granted() == 600);
  const storage::StoredSlice stored{SliceId(7), Attempt(0), StoreEpoch(0), link.records.origin, 600};
  link.links.stored({&stored, 1});
  CHECK(link.granted() == 1200);
  link.links.send_acknowledgements();
  link.network.run();
  REQUIRE(link.dcm.frames.size() == 1);
  CHECK(link.dcm.frames.front().header.type == wire::FrameType::stored);
}

TEST_CASE("a DCM that sends more than it was granted is disconnected") {
  Link link;
  link.ask(100);
  CHECK(link.granted() == 100);
  link.send(7, 101);
  CHECK(link.dcm.peer == nullptr);
  CHECK(link.records.bytes.empty());
}

TEST_CASE("a record in pieces is complete with the last one, and its pieces belong together") {
  Link link;
  link.ask(300);
  CHECK(link.granted() == 300);
  link.send(7, 200, {300, 0});
  CHECK(link.records.bytes.empty());
  SECTION("the next piece") {
    link.send(7, 100, {300, 200});
    CHECK(link.records.bytes == std::vector<std::size_t>{300});
  }
  SECTION("a piece of another slice") {
    link.send(8, 100, {300, 200});
    CHECK(link.dcm.peer == nullptr);
  }
  SECTION("another piece") {
    link.send(7, 100, {300, 100});
    CHECK(link.dcm.peer == nullptr);
  }
}

TEST_CASE("a refused record is reported with its place, and its bytes are granted again") {
  Link link;
  link.ask(600);
  CHECK(link.granted() == 600);
  link.records.result = StoreResult::queue_full;
  link.send(7, 600);
  link.links.send_refusals();
  link.ask(1200);
  CHECK(link.granted() == 1200);
  const auto refused = std::find_if(link.dcm.said.begin(), link.dcm.said.end(),
                                    [](const v1::Control& one) { return one.has_refused(); });
  REQUIRE(refused != link.dcm.said.end());
  CHECK(refused->refused().records(0).record() == 1);
  CHECK(refused->refused().records(0).again());
}

TEST_CASE("alerts' records have their own grants, and their DCM is asked to leave with the run") {
  Link link(true);
  v1::Control next;
  next.mutable_burst_next()->set_number(5);
  link.dcm.peer->send(next);
  link.ask(100);
  CHECK(link.records.next == std::vector<std::uint32_t>{5});
  link.links.send_grants(false);
  link.network.run();
  CHECK(link.dcm.said.empty());  // the alert's file is being opened
  CHECK(link.granted() == 100);
  link.send(7, 100);
  CHECK(link.records.alerts.front() == 5);
  link.links.begin_leaving(link.now);
  link.network.run();
  CHECK(link.dcm.said.back().has_burst_leave());
  CHECK_FALSE(link.links.has_left(link.now));
  v1::Control left;
  left.mutable_burst_leave();
  link.dcm.peer->send(left);
  link.run();
  CHECK(link.links.has_left(link.now));
}

TEST_CASE("a process that is neither DCM nor supervisor is refused with its role") {
  Link link;
  link.self.role = Role::readout;
  link.dcm.peer->drop("again");
  link.network.run();
  link.now += 2 * kSecond;
  link.run();
  CHECK(link.dcm.peer == nullptr);
}
