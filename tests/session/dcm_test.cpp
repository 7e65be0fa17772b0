// Tests of one DCM with a scripted supervisor.
#include "memory_farm.hpp"
#include "raw_peer.hpp"
#include "weir_catch.hpp"
#include <weir/node/report.hpp>
#include <weir/slice_codec/columns.hpp>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <optional>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr char kDcmSettings[] =
    "trigger: {mode: rate, rate_hz: 100}\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "supervisor: {status_interval_ms: 20}\n"
    "network: {reconnect_ms: 10, hello_timeout_ms: 100}\n"
    "filter: {plugin: accept-all}\n"
    "readout: {count: 1, sources_per_readout: 2}\n"
    "dcm: {count: 1, credits: 4, deadline_ms: 20, grace_ms: 10}\n"
    "writer: {count: 1}\n";

void greet(RawPeer& peer, v1::Role role, const char* name) {
  v1::Hello greeting;
  greeting.set_version(wire::kVersion);
  greeting.set_role(role);
  greeting.set_name(name);
  greeting.set_farm("session");
  peer.send(wire::FrameType::hello, greeting);
}

// Without readouts each fragment is missing after the grace time, and the slice is accepted incomplete.
class SupervisedDcm {
 public:
  SupervisedDcm() : farm_(kDcmSettings), listener_(farm_.network(), 19'000) {
    spdlog::set_level(spdlog::level::off);
    farm_.start("dcm-0");
    welcome(1);
  }

  // Over its so many-th connection.
  void welcome(std::size_t connections) {
    farm_.turn(20);
    REQUIRE(listener_.peers().size() == connections);
    greet(supervisor(), v1::ROLE_SUPERVISOR, "supervisor");
    v1::Control begin;
    begin.mutable_begin_run()->set_run(1);
    supervisor().send(begin);
    farm_.turn(2);
  }
  void end_run() {
    v1::Control message;
    message.mutable_end_run()->set_shutdown(true);
    supervisor().send(message);
    farm_.turn(2);
  }

  void assign(std::uint64_t slice, std::uint32_t attempt) {
    v1::Control message;
    message.mutable_assign()->add_slice(slice);
    message.mutable_assign()->add_attempt(attempt);
    supervisor().send(message);
    farm_.turn(2);
  }
  static void confirm(v1::Control& message, std::uint64_t slice, std::uint32_t attempt,
                      v1::Confirmation code) {
    message.mutable_confirm()->add_slice(slice);
    message.mutable_confirm()->add_attempt(attempt);
    slice_codec::add(*message.mutable_confirm()->mutable_code(), code);
  }
  void confirm(std::uint64_t slice, std::uint32_t attempt, v1::Confirmation code) {
    v1::Control message;
    confirm(message, slice, attempt, code);
    supervisor().send(message);
    farm_.turn(2);
  }
  // The DCM's last word about this attempt, if it says one in time.
  std::optional<std::string> decision(std::uint64_t slice, std::uint32_t attempt, int turns = 100) {
    std::optional<std::string> said;
    for (int i = 0; i < turns && !said; ++i) {
      farm_.turn();
      for (const RawPeer::Frame& frame : supervisor().take_frames()) {
        v1::Control message;
        if (frame.header.type != wire::FrameType::control ||
            !message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) {
          continue;
        }
        if (message.has_report()) report = message.report();
        const v1::Decide& decide = message.decide();
        for (int row = 0; row < decide.slice_size(); ++row) {
          if (decide.slice(row) != slice || slice_codec::at_or_zero(decide.attempt(), row) != attempt)
            continue;
          said = v1::Verdict_Name(slice_codec::at_or_zero(decide.verdict(), row));
          for (const v1::Decide::Failure& failure : decide.failures()) {
            if (failure.index() == static_cast<std::uint32_t>(row)) *said += " " + failure.reason();
          }
        }
      }
    }
    return said;
  }
  void introduce_writer(std::uint16_t port) {
    v1::Control message;
    v1::Directory::Node& node = *message.mutable_directory()->add_nodes();
    node.set_role(v1::ROLE_WRITER);
    node.set_name("writer-0");
    node.set_present(true);
    node.set_host("memory");
    node.set_port(port);
    supervisor().send(message);
    farm_.turn(20);
  }
  RawPeer& supervisor() { return *listener_.peers().back(); }
  MemoryFarm& farm() { return farm_; }

  v1::Report report;

 private:
  MemoryFarm farm_;
  RawListener listener_;
};

constexpr char kAccepted[] = "VERDICT_ACCEPT_INCOMPLETE";
constexpr char kLost[] = "VERDICT_FAILED lost";

// Adds a writer behind the listener, and a slice that the DCM is to store there.
RawPeer& with_slice_to_store(SupervisedDcm& dcm, RawListener& listener) {
  dcm.introduce_writer(19'500);
  REQUIRE(listener.peers().size() == 1);
  RawPeer& writer = *listener.peers().front();
  greet(writer, v1::ROLE_WRITER, "writer-0");
  dcm.assign(5, 0);
  REQUIRE(dcm.decision(5, 0) == kAccepted);
  dcm.confirm(5, 0, v1::CONFIRMATION_STORE);
  return writer;
}

// Returns the DCM's last space request to its writer.
v1::Space last_space(RawPeer& writer) {
  v1::Space space;
  for (const RawPeer::Frame& frame : writer.take_frames()) {
    v1::Control message;
    if (frame.header.type == wire::FrameType::control &&
        message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())) &&
        message.has_space()) {
      space = message.space();
    }
  }
  return space;
}

}  // namespace

TEST_CASE("a DCM that gets a third attempt while the first is open returns the second one") {
  SupervisedDcm dcm;
  for (const std::uint32_t attempt : {0U, 1U, 2U}) dcm.assign(5, attempt);
  CHECK(dcm.decision(5, 1) == kLost);
}

TEST_CASE(
    "a slice that is settled while it waits for its writer is released once, and its place used again") {
  SupervisedDcm dcm;
  dcm.assign(5, 0);
  REQUIRE(dcm.decision(5, 0) == kAccepted);
  // No writer is there: the shipment waits.
  dcm.confirm(5, 0, v1::CONFIRMATION_STORE);
  dcm.confirm(5, 0, v1::CONFIRMATION_SETTLED);
  dcm.confirm(5, 0, v1::CONFIRMATION_STORE);
  CHECK(dcm.decision(5, 0) == kLost);
  // The next attempt takes the first one's place, and a shipment of the same slice replaces no other.
  dcm.assign(5, 1);
  REQUIRE(dcm.decision(5, 1) == kAccepted);
  dcm.confirm(5, 1, v1::CONFIRMATION_STORE);
  dcm.assign(6, 0);
  REQUIRE(dcm.decision(6, 0) == kAccepted);
  (void)dcm.decision(0, 0, 50);
  CHECK(dcm.report.gauges().at("slices_in_flight") == 2);
  CHECK(dcm.report.gauges().at("shipments_waiting") == 1);
  dcm.confirm(5, 1, v1::CONFIRMATION_REFUSED);
  dcm.confirm(6, 0, v1::CONFIRMATION_SETTLED);
  (void)dcm.decision(0, 0, 50);
  CHECK(dcm.report.gauges().at("slices_in_flight") == 0);
  CHECK(dcm.report.gauges().at("shipments_waiting") == 0);
  CHECK(dcm.farm().node("dcm-0").broken_invariant() == "");
}

TEST_CASE("a slice is released once, whatever one message contains about it") {
  SupervisedDcm dcm;
  const v1::Confirmation codes[] = {v1::CONFIRMATION_STORE, v1::CONFIRMATION_SETTLED,
                                    v1::CONFIRMATION_REFUSED};
  constexpr std::uint64_t kRows = 4;
  for (std::uint64_t n = 0; n < 81; ++n) {  // all of them
    dcm.assign(n, 0);
    REQUIRE(dcm.decision(n, 0) == kAccepted);
    v1::Control message;
    std::uint64_t rest = n;
    for (std::uint64_t row = 0; row < kRows; ++row, rest /= std::size(codes))
      SupervisedDcm::confirm(message, n, 0, codes[rest % std::size(codes)]);
    SupervisedDcm::confirm(message, n, 0, v1::CONFIRMATION_REFUSED);
    dcm.supervisor().send(message);
    dcm.farm().turn(2);
  }
  (void)dcm.decision(0, 9, 50);
  CHECK(dcm.report.gauges().at("slices_in_flight") == 0);
  CHECK(dcm.report.gauges().at("shipments_waiting") == 0);
  CHECK(dcm.farm().node("dcm-0").broken_invariant() == "");
}

TEST_CASE("a DCM returns the grant of a slice that is taken from it") {
  SupervisedDcm dcm;
  RawListener listener(dcm.farm().network(), 19'500);
  RawPeer& writer = with_slice_to_store(dcm, listener);
  const v1::Space asked = last_space(writer);
  REQUIRE(asked.wanted_total() > 0);
  CHECK(asked.returned_total() == 0);
  dcm.confirm(5, 0, v1::CONFIRMATION_REFUSED);
  v1::Control grant;
  grant.mutable_grant()->set_granted_total(asked.wanted_total());
  writer.send(grant);
  dcm.farm().turn(3);
  CHECK(last_space(writer).returned_total() == asked.wanted_total());
  // The next record is asked for whole.
  dcm.assign(6, 0);
  REQUIRE(dcm.decision(6, 0) == kAccepted);
  dcm.confirm(6, 0, v1::CONFIRMATION_STORE);
  const v1::Space next = last_space(writer);
  CHECK(next.wanted_total() == 2 * asked.wanted_total());
  CHECK(next.returned_total() == asked.wanted_total());
}

TEST_CASE("a slice that is confirmed to an unknown writer is returned, and rebuilt") {
  SupervisedDcm dcm;
  dcm.assign(5, 0);
  REQUIRE(dcm.decision(5, 0) == kAccepted);
  v1::Control message;
  SupervisedDcm::confirm(message, 5, 0, v1::CONFIRMATION_STORE);
  message.mutable_confirm()->add_epoch(0);
  message.mutable_confirm()->add_writer(9);
  dcm.supervisor().send(message);
  CHECK(dcm.decision(5, 0) == kLost);
  (void)dcm.decision(0, 9, 50);
  CHECK(dcm.report.counters().at("dcm.refused") == 1);
  CHECK(dcm.report.gauges().at("slices_in_flight") == 0);
  dcm.assign(5, 1);
  CHECK(dcm.decision(5, 1) == kAccepted);
  CHECK(dcm.farm().node("dcm-0").broken_invariant() == "");
}

// A DCM that has its end order still counts its writer's confirmations, and counts unconfirmed slices as
// such.
TEST_CASE("a DCM that was told to end and loses its supervisor accounts for its writer's missing answers") {
  const bool says = GENERATE(true, false);
  CAPTURE(says);
  SupervisedDcm dcm;
  RawListener listener(dcm.farm().network(), 19'500);
  RawPeer& writer = with_slice_to_store(dcm, listener);
  v1::Control grant;
  grant.mutable_grant()->set_granted_total(last_space(writer).wanted_total());
  writer.send(grant);
  dcm.farm().turn(3);
  dcm.end_run();
  dcm.supervisor().leave();
  dcm.farm().turn(3);
  const wire::CopyId stored{SliceId(5), Attempt(0), StoreEpoch(0)};
  std::vector<std::byte> frame;
  wire::append_slice_entries(wire::FrameType::stored, std::span(&stored, 1), frame);
  if (says) writer.send(frame);
  dcm.welcome(2);
  dcm.end_run();
  (void)dcm.decision(0, 9, 3000);
  REQUIRE(dcm.report.final());
  CHECK(reports::sum_of(dcm.report, "stored").count == (says ? 1 : 0));
  CHECK(reports::counter_of(dcm.report, "dcm.unheard") == (says ? 0 : 1));
}
