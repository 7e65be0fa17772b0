// A readout's part of push running: the fragments that it sends unrequested, their destinations, and their
// common view.
#include "../src/push_sender.hpp"

#include "../src/settings.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/v1/control.pb.h>

#include <string>
#include <vector>

namespace weir::readout {
namespace {

constexpr SourceId kLower{5};
constexpr SourceId kUpper{9};
constexpr TimeNs kNow = 10 * kSecond;
constexpr std::uint32_t kLong = 1000;  // bytes of a fragment that is cut
constexpr std::uint32_t kCut = 600;

// A readout of two sources, and two DCMs: slice s goes to DCM s mod 2.
struct Pushing {
  explicit Pushing(v1::ReadoutSettings::OnOverrun overrun = v1::ReadoutSettings::ON_OVERRUN_TRUNCATE,
                   v1::DcmSettings::Incomplete incomplete = v1::DcmSettings::INCOMPLETE_FILTER) {
    node::Setup setup;
    setup.farm.mutable_dcm()->set_incomplete(incomplete);
    setup.farm.mutable_run()->set_mode(v1::RunSettings::MODE_PUSH);
    setup.farm.mutable_run()->set_checksums(true);
    v1::ReadoutSettings& readout = *setup.farm.mutable_readout();
    readout.set_shaper(v1::ReadoutSettings::SHAPER_DIRECT);
    readout.set_on_overrun(overrun);
    readout.set_overrun_bytes(kCut);
    readout.set_push_ahead_bytes(1U << 20);
    readout.set_buffer_slices(16);
    readout.set_clock_offset_ms(1);
    setup.farm.mutable_network()->set_frame_bytes_max(1U << 20);
    setup.identity.sources = {kUpper, kLower};
    for (std::uint16_t i = 0; i < 2; ++i) {
      config::NodePlan& plan = setup.plan.nodes.emplace_back();
      plan.role = Role::dcm;
      plan.index = NodeIndex(i);
    }
    setup.whole_farm = std::make_shared<const v1::Farm>(setup.farm);
    sender.emplace(push_settings(setup).value());
    v1::Destinations table;
    v1::Destinations::Epoch& epoch = *table.add_epochs();
    epoch.set_number(1);
    epoch.add_dcm(0);
    epoch.add_dcm(1);
    REQUIRE(sender->take_destinations(table).has_value());
    for (shaping::PushLink& link : sender->links()) link.up = true;
  }
  source::SourceFragment fragment(std::uint32_t length) {
    source::SourceFragment made;
    made.bytes = ConstBytes(bytes).first(length);
    return made;
  }
  static source::SourceFragment missing() {
    source::SourceFragment made;
    made.status = FragmentStatus::missing;
    made.reason = MissingReason::restarted;
    return made;
  }
  // Its fragments are announced, and both there.
  void make(std::uint64_t id, std::uint32_t length = 100) {
    sender->expect(SliceId(id), kNow);
    sender->is_there(SliceId(id), kLower, fragment(length));
    sender->is_there(SliceId(id), kUpper, fragment(length));
  }
  std::vector<shaping::PushPiece> sent() {
    std::vector<shaping::PushPiece> pieces;
    while (const auto piece = sender->next(kNow)) pieces.push_back(*piece);
    return pieces;
  }
  std::uint64_t counter(const std::string& name, std::uint64_t before = 0) {
    v1::Report report;
    if (before > 0) (*report.mutable_counters())[name] = before;
    sender->add_to(report);
    return report.counters().at(name);
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(kLong, std::byte{3});
  std::optional<PushSender> sender;
};

}  // namespace

TEST_CASE("in pull runs a readout sends no unrequested data") {
  node::Setup setup;
  setup.whole_farm = std::make_shared<const v1::Farm>(setup.farm);
  CHECK_FALSE(push_settings(setup));
}

TEST_CASE("a slice is sent to its DCM when all of its fragments are available, and not before") {
  Pushing readout;
  readout.sender->expect(SliceId(3), kNow);
  readout.sender->is_there(SliceId(3), kUpper, readout.fragment(100));
  CHECK(readout.sent().empty());
  readout.sender->expect(SliceId(3), kNow);  // announced again
  readout.sender->is_there(SliceId(3), kLower, readout.fragment(200));
  const auto pieces = readout.sent();
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].dcm == 1);
  CHECK(readout.sender->source(pieces[0].source) == kLower);  // by id, unlike in the farm file
  CHECK(pieces[0].length == 200);
  CHECK(readout.sender->source(pieces[1].source) == kUpper);
  CHECK(pieces[1].length == 100);
  CHECK(readout.counter("push.fragments") == 2);
}

TEST_CASE("a missing fragment is sent as one without bytes") {
  Pushing readout;
  readout.sender->expect(SliceId(2), kNow);
  readout.sender->is_there(SliceId(2), kLower, Pushing::missing());
  readout.sender->is_there(SliceId(2), kUpper, readout.fragment(100));
  const auto pieces = readout.sent();
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].length == 0);
  CHECK(pieces[0].dcm == 0);
}

TEST_CASE("a slice without destination is counted, and not sent") {
  Pushing readout;
  v1::Destinations nobody;
  v1::Destinations::Epoch& epoch = *nobody.add_epochs();
  epoch.set_number(2);
  epoch.add_dcm(7);  // the farm has no DCM of this index
  REQUIRE(readout.sender->take_destinations(nobody).has_value());
  readout.make(3);
  CHECK(readout.sent().empty());
  CHECK(readout.counter("push.slices_no_destination") == 1);
}

TEST_CASE("in order, slices wait for a DCM's connection, unless it leaves") {
  Pushing readout(v1::ReadoutSettings::ON_OVERRUN_TRUNCATE, v1::DcmSettings::INCOMPLETE_ORDER);
  readout.sender->links()[0].up = false;
  readout.make(0);
  readout.make(2);
  CHECK(readout.sent().empty());
  v1::Destinations table;
  const auto add = [&](std::uint32_t number, std::uint64_t from, std::vector<std::uint32_t> dcms) {
    v1::Destinations::Epoch& epoch = *table.add_epochs();
    epoch.set_number(number);
    epoch.set_from_slice(from);
    for (const std::uint32_t dcm : dcms) epoch.add_dcm(dcm);
  };
  add(1, 0, {0, 1});
  SECTION("it stays") {
    REQUIRE(readout.sender->take_destinations(table).has_value());
    readout.sender->links()[0].up = true;
    CHECK(readout.sent().size() == 4);
  }
  SECTION("another one leaves") {
    add(2, 3, {0});
    REQUIRE(readout.sender->take_destinations(table).has_value());
    readout.sender->links()[0].up = true;
    CHECK(readout.sent().size() == 4);
  }
  SECTION("it leaves, and joins again") {
    SECTION("after another slice") {
      add(2, 3, {1});
      add(3, 4, {0, 1});
    }
    SECTION("before another slice") { add(3, 3, {0, 1}); }
    REQUIRE(readout.sender->take_destinations(table).has_value());
    readout.make(4);
    readout.sender->links()[0].up = true;
    const auto pieces = readout.sent();
    REQUIRE(pieces.size() == 2);
    CHECK(pieces[0].slice == SliceId(4));
    CHECK(readout.counter("push.not_pushed.not_connected") == 4);
  }
}

TEST_CASE("requested, unwanted and settled slices are not pushed") {
  Pushing readout;
  for (const std::uint64_t id : {1U, 2U, 3U}) readout.make(id);
  readout.sender->asked_for(SliceId(1), kLower);
  readout.sender->asked_for(SliceId(1), SourceId(77));  // another readout's
  readout.sender->not_wanted(SliceId(2));
  readout.sender->settled(SliceId(3));
  const auto pieces = readout.sent();
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].slice == SliceId(1));
  CHECK(readout.sender->source(pieces[0].source) == kUpper);
  CHECK(readout.counter("push.not_pushed.asked_for") == 3);
  CHECK(readout.counter("push.not_pushed.cleared") == 2);
}

TEST_CASE("at a run's end no fragment is left to send or to wait for") {
  Pushing readout;
  readout.make(1);
  readout.sender->expect(SliceId(3), kNow);
  readout.sender->is_there(SliceId(3), kLower, readout.fragment(100));
  readout.sender->end_run();
  readout.sender->is_there(SliceId(3), kUpper, readout.fragment(100));
  CHECK(readout.sent().empty());
}

TEST_CASE("all receivers see a long fragment as it was sent: cut, with its own checksum") {
  Pushing readout;
  readout.make(1, kLong);
  const source::SourceFragment shown = readout.sender->shown(SliceId(1), kLower, readout.fragment(kLong));
  CHECK(shown.status == FragmentStatus::truncated);
  CHECK(shown.bytes.size() == kCut);
  CHECK(shown.crc32c == crc32c(ConstBytes(readout.bytes).first(kCut)));
  CHECK(readout.sender->shown(SliceId(9), kLower, readout.fragment(kLong)).bytes.size() == kLong);
}

TEST_CASE("if long fragments are dropped all receivers see them as missing") {
  Pushing readout(v1::ReadoutSettings::ON_OVERRUN_DROP);
  readout.make(1, kLong);
  const source::SourceFragment shown = readout.sender->shown(SliceId(1), kUpper, readout.fragment(kLong));
  CHECK(shown.status == FragmentStatus::missing);
  CHECK(shown.reason == MissingReason::dropped);
}

TEST_CASE("the buffer's answers to probes are not counted as answers to anyone") {
  Pushing readout;
  readout.make(1);
  readout.sender->is_there(SliceId(2), kLower, Pushing::missing());
  CHECK(readout.counter("fragments.served", 5) == 3);
  const std::string reason(name(MissingReason::restarted));
  CHECK(readout.counter("readout.missing." + reason, 5) == 4);
}

TEST_CASE("clocks are compared by the least difference of a second, and a large one is reported") {
  Pushing readout;
  const auto ahead = [&](DurationNs by, TimeNs now) {
    readout.sender->compare_clocks(kSecond, kSecond + by, now);
  };
  ahead(9 * kMillisecond, kNow);
  ahead(kMillisecond / 2, kNow + kMillisecond);  // the others took their time
  ahead(9 * kMillisecond, kNow + kSecond);
  CHECK(readout.counter("push.clocks_off") == 0);
  ahead(3 * kMillisecond, kNow + kSecond + kMillisecond);
  ahead(2 * kMillisecond, kNow + 2 * kSecond);
  CHECK(readout.counter("push.clocks_off") == 1);
  v1::Report report;
  readout.sender->add_to(report);
  CHECK(report.gauges().at("push.clock_ahead_us") == 2000);
  CHECK(report.notes().contains("clock"));
}

}  // namespace weir::readout
