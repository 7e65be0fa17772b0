// How records go to writers: asked for, granted, kept until they are on disk, and sent again.
#include "../src/outlet.hpp"

#include "far_side.hpp"

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

constexpr DurationNs kRetry = 100 * kMillisecond;
constexpr DurationNs kSilence = 300 * kMillisecond;
constexpr std::uint64_t kBytes = 1000;  // of a record

// A DCM's outlet and its two writers.
struct Shipping : OutletEvents {
  Shipping() {
    outlet.set_writer(NodeIndex(0), writer.at);
    outlet.set_writer(NodeIndex(1), other.at);
    pass();
    REQUIRE(writer.connections == 1);
  }
  ~Shipping() override {
    slices.for_each_open([](BuiltSlice& slice) { slice.leave_line(); });
  }
  void on_stored(BuiltSlice& slice) override {
    stored.push_back(slice.id().value);
    slices.change(slice, BuildState::stored);
  }
  void on_refused(BuiltSlice& slice, storage::StoreResult reason) override {
    refused.emplace_back(slice.id().value, reason);
    Outlet::drop(slice);
    slices.change(slice, BuildState::given_up);
  }
  void pass(DurationNs after = kMillisecond) {
    now += after;
    for (int turn = 0; turn < 4; ++turn) {  // hello, and answers to messages
      outlet.tick(network, now);
      network.run();
      writer.tick();
      other.tick();
    }
  }
  // A slice with a confirmed record of this length.
  BuiltSlice& make(std::uint64_t id, std::uint64_t bytes = kBytes, std::uint16_t to = 0) {
    assembly::AssignedSlice assignment;
    assignment.slice = SliceId(id);
    BuiltSlice& slice = slices.assign(std::move(assignment));
    REQUIRE(slices.open(slice));
    slice.decision = assembly::SliceDecision::accept(DecisionKind::filter);
    slices.change(slice, BuildState::decided);
    slices.change(slice, BuildState::reported);
    address(slice, 1, to, bytes);
    slices.change(slice, BuildState::storing);
    outlet.ship(slice);
    return slice;
  }
  static void address(BuiltSlice& slice, std::uint16_t epoch, std::uint16_t to, std::uint64_t bytes) {
    slice.shipment.epoch = StoreEpoch(epoch);
    slice.shipment.writer = NodeIndex(to);
    slice.shipment.meta.assign(bytes, std::byte{1});
    slice.shipment.bytes = bytes;
    slice.shipment.number = 0;
  }
  static void grant(FarSide& from, std::uint64_t total) {
    v1::Control message;
    message.mutable_grant()->set_granted_total(total);
    from.say(message);
  }
  static void acknowledge(FarSide& from, const BuiltSlice& slice, std::uint16_t epoch) {
    const wire::CopyId entry{slice.id(), slice.attempt(), StoreEpoch(epoch)};
    std::vector<std::byte> frame;
    wire::append_slice_entries(wire::FrameType::stored, {&entry, 1}, frame);
    from.say(frame);
  }
  static void refuse(FarSide& from, std::uint64_t record, storage::StoreResult reason, bool again) {
    v1::Control message;
    v1::Refused::One& one = *message.mutable_refused()->add_records();
    one.set_record(record);
    one.set_reason(std::string(storage::name(reason)));
    one.set_again(again);
    from.say(message);
  }
  // Returns the last request for space.
  static v1::Space asked(const FarSide& by) {
    v1::Space last;
    for (const v1::Control& message : by.said) {
      if (message.has_space()) last = message.space();
    }
    return last;
  }
  static std::vector<std::uint64_t> received(const FarSide& by) {
    std::vector<std::uint64_t> ids;
    for (const FarSide::Frame& frame : by.frames) {
      if (frame.header.type == wire::FrameType::data) ids.push_back(frame.header.slice.value);
    }
    return ids;
  }

  TimeNs now = kSecond;
  test::MemoryNetwork network;
  sessions::PeerInfo self = process(Role::dcm, 0);
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  FarSide writer{network, process(Role::writer, 0), now};
  FarSide other{network, process(Role::writer, 1), now};
  assembly::SliceTable slices;
  std::vector<std::uint64_t> stored;
  std::vector<std::pair<std::uint64_t, storage::StoreResult>> refused;
  Outlet outlet{self, limits, counters, kRetry, kSilence, 2, slices, *this};
};

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE(
    "space for a record is requested, and the record is sent when granted, and kept until it is on disk") {
  Shipping farm;
  BuiltSlice& slice = farm.make(5);
  farm.pass();
  CHECK(Shipping::asked(farm.writer).wanted_total() == kBytes);
  CHECK(Shipping::received(farm.writer).empty());
  Shipping::grant(farm.writer, kBytes - 1);
  farm.pass();
  CHECK(Shipping::received(farm.writer).empty());
  Shipping::grant(farm.writer, 2 * kBytes - 1);  // the unusable grant was returned
  farm.pass();
  CHECK(Shipping::received(farm.writer) == Ids{5});
  CHECK(farm.stored.empty());
  Shipping::acknowledge(farm.writer, slice, 1);
  farm.pass();
  CHECK(farm.stored == Ids{5});
}

TEST_CASE("a grant for a record that is no longer sent is returned for other DCMs") {
  Shipping farm;
  BuiltSlice& slice = farm.make(5);
  farm.pass();
  Outlet::drop(slice);
  farm.slices.change(slice, BuildState::given_up);
  Shipping::grant(farm.writer, kBytes);
  farm.pass();
  CHECK(Shipping::received(farm.writer).empty());
  CHECK(Shipping::asked(farm.writer).returned_total() == kBytes);
}

TEST_CASE("after a loss all unacknowledged records are sent again, in the order of slices") {
  Shipping farm;
  for (const std::uint64_t id : {9U, 5U, 7U}) farm.make(id);
  farm.pass();
  Shipping::grant(farm.writer, 2 * kBytes);
  farm.pass();
  CHECK(Shipping::received(farm.writer) == Ids{9, 5});
  Shipping::acknowledge(farm.writer, *farm.slices.find(SliceId(5), Attempt(0)), 1);
  farm.pass();
  farm.writer.frames.clear();
  farm.writer.said.clear();
  farm.network.break_all();
  farm.pass(2 * kRetry);
  farm.pass(2 * kRetry);
  REQUIRE(farm.writer.connections == 2);
  Shipping::refuse(farm.writer, 1, storage::StoreResult::malformed,
                   false);  // nothing was sent over this connection
  farm.pass();
  CHECK(farm.refused.empty());
  CHECK(Shipping::asked(farm.writer).wanted_total() == 2 * kBytes);
  Shipping::grant(farm.writer, 2 * kBytes);
  farm.pass();
  CHECK(Shipping::received(farm.writer) == Ids{7, 9});
}

TEST_CASE(
    "a slice that is confirmed for another writer goes only there, and the first one's answer is ignored") {
  Shipping farm;
  BuiltSlice& slice = farm.make(5);
  farm.pass();
  Shipping::address(slice, 2, 1, kBytes);
  farm.slices.change(slice, BuildState::storing);
  farm.outlet.ship(slice);
  Shipping::grant(farm.writer, kBytes);
  farm.pass();
  CHECK(Shipping::received(farm.writer).empty());
  Shipping::acknowledge(farm.writer, slice, 1);
  farm.pass();
  CHECK(farm.stored.empty());
  Shipping::grant(farm.other, kBytes);
  farm.pass();
  CHECK(Shipping::received(farm.other) == Ids{5});
  Shipping::acknowledge(farm.other, slice, 2);
  farm.pass();
  CHECK(farm.stored == Ids{5});
}

TEST_CASE("a record for which its writer has no room is offered again after a while") {
  Shipping farm;
  farm.make(5);
  farm.pass();
  Shipping::grant(farm.writer, kBytes);
  farm.pass();
  REQUIRE(Shipping::received(farm.writer) == Ids{5});
  Shipping::refuse(farm.writer, 1, storage::StoreResult::queue_full, true);
  farm.pass();
  farm.pass(kRetry / 2);
  CHECK(Shipping::asked(farm.writer).wanted_total() == kBytes);
  farm.pass(kRetry);
  CHECK(Shipping::asked(farm.writer).wanted_total() == 2 * kBytes);
  Shipping::grant(farm.writer, 2 * kBytes);
  farm.pass();
  CHECK(Shipping::received(farm.writer) == Ids{5, 5});
  CHECK(farm.refused.empty());
  CHECK(farm.outlet.refused()[static_cast<std::size_t>(storage::StoreResult::queue_full)] == 1);
}

TEST_CASE("a record that its writer never takes can be given up, by its place on the connection") {
  Shipping farm;
  farm.make(5);
  farm.make(6);
  farm.pass();
  Shipping::grant(farm.writer, 2 * kBytes);
  farm.pass();
  Shipping::refuse(farm.writer, 3, storage::StoreResult::malformed, false);  // no third record was sent
  Shipping::refuse(farm.writer, 2, storage::StoreResult::dead_list_full, false);
  farm.pass();
  REQUIRE(farm.refused.size() == 1);
  CHECK(farm.refused.front() ==
        std::pair<std::uint64_t, storage::StoreResult>{6, storage::StoreResult::dead_list_full});
}

TEST_CASE("a record longer than a piece goes in pieces that add up") {
  Shipping farm;
  constexpr std::uint64_t kLong = (9U << 20) + 1;
  farm.make(5, kLong);
  farm.pass();
  Shipping::grant(farm.writer, kLong);
  farm.pass();
  std::uint64_t bytes = 0;
  for (const FarSide::Frame& frame : farm.writer.frames) bytes += frame.payload.size();
  CHECK(farm.writer.frames.size() == 3);
  CHECK(bytes == kLong);
}

TEST_CASE("small records share a request for space, and a large one has its own") {
  Shipping farm;
  for (std::uint64_t id = 1; id <= 10; ++id) farm.make(id);
  farm.make(11, 2U << 20);
  farm.pass();
  CHECK(std::count_if(farm.writer.said.begin(), farm.writer.said.end(),
                      [](const v1::Control& message) { return message.has_space(); }) == 2);
  CHECK(Shipping::asked(farm.writer).wanted_total() == 10 * kBytes + (2U << 20));
}

TEST_CASE("a silent writer is probed, and unreachable if it does not answer") {
  Shipping farm;
  std::vector<std::uint32_t> lost;
  const auto look = [&] {
    lost.clear();
    farm.now += 10 * kMillisecond;
    farm.outlet.look(farm.now, false, [&](std::uint32_t index) { lost.push_back(index); });
  };
  look();
  CHECK(lost.empty());
  for (int i = 0; i < 100; ++i) look();  // the network carries nothing meanwhile
  CHECK(lost == std::vector<std::uint32_t>{0, 1});
  farm.pass();  // the answers
  look();
  CHECK(lost.empty());
}

}  // namespace weir::dcm
