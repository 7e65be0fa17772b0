// Data from readouts: requested over their connections, or pushed.
#include "../src/readout_links.hpp"

#include "../src/push_admission.hpp"
#include "../src/settings.hpp"
#include "building.hpp"
#include "far_side.hpp"

#include <memory>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

constexpr DurationNs kReconnect = 100 * kMillisecond;

PushAdmissionSettings push_settings(bool in_order = false) {
  node::Setup setup;
  setup.self.index = NodeIndex(1);
  v1::Farm& farm = setup.farm;
  farm.mutable_run()->set_mode(v1::RunSettings::MODE_PUSH);
  farm.mutable_dcm()->set_credits(3);
  farm.mutable_dcm()->set_push_active_slices(in_order ? 2 : 100);
  if (in_order) farm.mutable_dcm()->set_incomplete(v1::DcmSettings::INCOMPLETE_ORDER);
  farm.mutable_dcm()->set_push_wait_ms(50);
  farm.mutable_dcm()->set_deadline_ms(1000);
  for (std::uint16_t i = 0; i < Building::kReadouts; ++i)
    setup.plan.nodes.emplace_back().role = Role::readout;
  setup.whole_farm = std::make_shared<const v1::Farm>(farm);
  return push_admission_settings(setup);
}

// Every slice goes to DCM 1 of two where its number is odd.
assembly::AssemblySettings push_assembly(bool in_order) {
  assembly::AssemblySettings settings = Building::assembly();
  if (in_order) settings.order = assembly::ReleaseOrder::pushed_by_id;
  return settings;
}

struct Pushed : Building {
  explicit Pushed(bool in_order = false)
      : Building({{SourceId(1), 0}, {SourceId(2), 1}}, push_assembly(in_order)),
        push(push_settings(in_order), clock, builder, notes) {
    v1::Destinations table;
    v1::Destinations::Epoch& epoch = *table.add_epochs();
    epoch.set_number(1);
    epoch.add_dcm(0);
    epoch.add_dcm(1);
    REQUIRE(push.take_destinations(table).has_value());
    notes.before_release = [this](BuiltSlice& slice) { push.leaves(slice); };
  }
  bool comes(std::uint64_t id, std::uint32_t readout = 0, std::uint32_t bytes = 64, bool may_open = true) {
    const wire::FrameHeader header = fragment(id, readout, bytes);
    if (!push.takes(readout, header, may_open, now())) return false;
    const assembly::Reception reception = builder.assembler.begin(header, readout);
    collector().arrived(readout, reception.slice, wire::kHeaderBytes + bytes, now());
    collector().answered(readout, reception, header);
    (void)builder.assembler.finish(reception, header, now());
    return reception.slice != nullptr;
  }
  std::uint64_t counter(const std::string& name) {
    v1::Report report;
    push.add_to(report);
    return report.counters().at("push." + name);
  }
  // One pass of the node: the ids that go to the filter, in order.
  std::vector<std::uint64_t> pass() {
    push.end_waiting(now());
    collector().pass(now());
    std::vector<BuiltSlice*> done;
    builder.assembler.take_completed(done);
    std::vector<std::uint64_t> ids;
    for (BuiltSlice* slice : done) {
      ids.push_back(slice->id().value);
      push.complete(*slice);
    }
    return ids;
  }
  BuiltSlice& assign(std::uint64_t id) {
    BuiltSlice& slice = open(id);
    slice.assignment.time = clock.utc_ns();
    push.open_assigned(slice, now());
    return slice;
  }
  [[nodiscard]] std::uint64_t missing(MissingReason reason) const {
    return builder.assembler.counters().missing[static_cast<std::size_t>(reason)];
  }
  PushAdmission push;
};

struct Linked : Building {
  Linked() {
    setup.identity = process(Role::dcm, 0);
    setup.farm.mutable_network()->set_reconnect_ms(kReconnect / kMillisecond);
    for (std::uint16_t i = 0; i < kReadouts; ++i) {
      config::NodePlan& plan = setup.plan.nodes.emplace_back();
      plan.role = Role::readout;
      plan.index = NodeIndex(i);
    }
    collector().readout_down(0);
    collector().readout_down(1);
    links.emplace(link_settings(setup), kReadouts, counters, clock, builder, nullptr, course);
    links->set_readout(NodeIndex(0), {readout.at});
    course.begin();
    pass();
    REQUIRE(readout.connections == 1);
  }
  void pass(DurationNs after = 2 * kMillisecond) {
    for (int turn = 0; turn < 4; ++turn) {
      now() += after;
      links->tick(network, now());
      links->look();
      links->tell_partial_frames();
      collector().pass(now());
      links->send_requests();
      network.run();
      readout.tick();
    }
  }
  BuiltSlice& ask(std::uint64_t id) {
    BuiltSlice& slice = open(id);
    collector().collect(slice, collector().everything());
    pass();
    return slice;
  }
  void send(const wire::FrameHeader& header, std::size_t bytes) {
    std::vector<std::byte> frame(wire::kHeaderBytes + bytes, std::byte{7});
    wire::encode_header(header, Bytes(frame).first<wire::kHeaderBytes>());
    readout.say(frame);
  }
  // Readout 0's fragment of so many bytes, and one of a source that is not its own.
  static std::vector<std::byte> block(std::uint64_t id, std::uint32_t bytes) {
    wire::BlockWriter writer;
    writer.begin({SliceId(id), Attempt(0), 0});
    wire::BlockRow row;
    row.source = SourceId(1);
    row.length = bytes;
    writer.add(row);
    writer.add({SourceId(2)});
    std::vector<std::byte> frame(writer.head_bytes());
    writer.write_head(frame);
    frame.resize(writer.frame_bytes(), std::byte{7});
    return frame;
  }
  [[nodiscard]] std::vector<std::uint32_t> lost() const {
    v1::Reach reach;
    links->add_lost_to(reach);
    return {reach.readouts().begin(), reach.readouts().end()};
  }

  node::Setup setup;
  test::MemoryNetwork network;
  sessions::PeerCounters counters;
  FarSide readout{network, process(Role::readout, 0), clock.now};
  RunPhases course;
  std::optional<ReadoutLinks> links;
};

}  // namespace

TEST_CASE("requests go over a readout's connection, and its answers are received into the slice") {
  Linked dcm;
  BuiltSlice& slice = dcm.ask(5);
  REQUIRE(dcm.readout.frames.size() == 1);
  CHECK(dcm.readout.frames.front().header.type == wire::FrameType::request);
  dcm.send(Building::fragment(5, 0), 64);
  dcm.pass();
  CHECK(slice.payload_bytes == 64);
  CHECK(dcm.links->arrived_bytes() == 64);
  CHECK(dcm.builder.assembler.counters().received == 1);
}

TEST_CASE("the part of a frame that is here counts before the frame is whole, and once") {
  Linked dcm;
  dcm.ask(5);
  std::vector<std::byte> frame(wire::kHeaderBytes + 1000);
  wire::encode_header(Building::fragment(5, 0, 1000), Bytes(frame).first<wire::kHeaderBytes>());
  dcm.readout.say({frame.begin(), frame.begin() + wire::kHeaderBytes + 600});
  dcm.pass();
  CHECK(dcm.links->arrived_bytes() == 600);
  CHECK(dcm.builder.assembler.counters().received == 0);
  dcm.readout.say({frame.begin() + wire::kHeaderBytes + 600, frame.end()});
  dcm.pass();
  CHECK(dcm.links->arrived_bytes() == 1000);
  CHECK(dcm.builder.assembler.counters().received == 1);
}

TEST_CASE("a block is received whole, and its fragments go into the slice") {
  Linked dcm;
  BuiltSlice& slice = dcm.ask(5);
  const auto request = wire::RequestView::parse(dcm.readout.frames.front().payload);
  REQUIRE(request.has_value());
  CHECK(request->entry(0).slot == slice.slot);
  const auto frame = Linked::block(5, 1000);
  dcm.readout.say({frame.begin(), frame.begin() + 600});
  dcm.pass();
  const std::uint64_t owed = slice.gathering.parts[0].owed_bytes;
  dcm.readout.say({frame.begin() + 600, frame.begin() + 700});
  dcm.pass();
  CHECK(slice.gathering.parts[0].owed_bytes == (owed > 100 ? owed - 100 : 0));  // before the block is whole
  CHECK(dcm.links->arrived_bytes() == 0);
  CHECK(dcm.builder.assembler.counters().received == 0);
  dcm.readout.say({frame.begin() + 700, frame.end()});
  dcm.pass();
  CHECK(dcm.links->arrived_bytes() == 1000);  // without rows, and of no slice
  CHECK(dcm.builder.assembler.counters().received == 1);
  CHECK(dcm.builder.assembler.counters().unknown == 1);  // the second row has an unknown source
  CHECK(slice.payload_bytes == 1000);
  CHECK(slice.gathering.parts[0].owed_fragments == 0);
}

TEST_CASE("a block of a slice that left during its arrival is late, and its bytes reach no other slice") {
  Linked dcm;
  BuiltSlice& slice = dcm.ask(5);
  const auto frame = Linked::block(5, 1000);
  dcm.readout.say({frame.begin(), frame.begin() + 400});
  dcm.pass();
  dcm.notes.release(slice);
  BuiltSlice& next = dcm.ask(6);
  REQUIRE(&next == &slice);  // the same object
  const std::uint64_t owed = next.gathering.parts[0].owed_bytes;
  const std::uint64_t before = dcm.links->arrived_bytes();
  dcm.readout.say({frame.begin() + 400, frame.end()});
  dcm.pass();
  CHECK(dcm.links->arrived_bytes() == before);
  CHECK(dcm.builder.assembler.counters().late == 1);
  CHECK(next.gathering.parts[0].owed_bytes == owed);
  CHECK(next.gathering.parts[0].owed_fragments == 1);
}

TEST_CASE("a block with a wrong checksum ends the connection, and the next one starts afresh") {
  Linked dcm;
  dcm.ask(5);
  auto frame = Linked::block(5, 1000);
  frame[wire::kHeaderBytes + 3] ^= std::byte{1};
  dcm.readout.say(frame);
  dcm.pass();
  CHECK_FALSE(dcm.collector().is_up(0));
  dcm.pass(kReconnect);
  CHECK(dcm.readout.connections == 2);
  dcm.readout.say(Linked::block(5, 1000));
  dcm.pass();
  CHECK(dcm.builder.assembler.counters().received == 1);
}

TEST_CASE("unrequested data is skipped, and reaches no slice") {
  Linked dcm;
  dcm.send(Building::fragment(77, 0), 64);
  dcm.pass();
  CHECK(dcm.links->arrived_bytes() == 0);
  CHECK(dcm.readout.peer != nullptr);
}

TEST_CASE("a readout with a broken connection is lost until it reconnects") {
  Linked dcm;
  CHECK(dcm.lost() == std::vector<std::uint32_t>{1});  // its address is unknown
  CHECK(dcm.collector().is_up(0));
  dcm.network.break_all();
  dcm.network.refuse_connections = true;
  dcm.pass();
  CHECK_FALSE(dcm.collector().is_up(0));
  CHECK(dcm.lost() == std::vector<std::uint32_t>{0, 1});
  dcm.network.refuse_connections = false;
  dcm.pass(kReconnect);
  CHECK(dcm.readout.connections == 2);
  CHECK(dcm.lost() == std::vector<std::uint32_t>{1});
}

TEST_CASE("a peer that is not a readout is refused") {
  Linked dcm;
  FarSide writer(dcm.network, process(Role::writer, 1), dcm.clock.now);
  dcm.links->set_readout(NodeIndex(1), {writer.at});
  dcm.links->set_readout(NodeIndex(7), {writer.at});  // the farm has no readout of this index
  dcm.pass();
  writer.tick();
  CHECK_FALSE(dcm.collector().is_up(1));
  CHECK(writer.peer == nullptr);
}

TEST_CASE("a pushed fragment opens its slice, which waits for its assignment") {
  Pushed dcm;
  REQUIRE(dcm.comes(5));
  BuiltSlice& slice = *dcm.find(5);
  CHECK(slice.pushed);
  CHECK(slice.awaits_assignment);
  CHECK(dcm.push.unbound() == 1);
  CHECK(dcm.comes(4));  // of DCM 0 by this DCM's destinations, which may be older than the readout's
  CHECK(dcm.push.unbound() == 2);
  dcm.push.leaves(*dcm.find(4));
  CHECK_FALSE(dcm.comes(7, 0, 64, false));  // the run ends
  BuiltSlice& assigned = dcm.slices().assign(Building::assignment(5));
  CHECK(dcm.push.bind(assigned, dcm.now()) == &slice);
  CHECK(assigned.state() == BuildState::spare);
  CHECK_FALSE(slice.awaits_assignment);
  CHECK(dcm.push.unbound() == 0);
  CHECK(dcm.notes.filtered.empty());  // not complete yet
  CHECK(dcm.counter("opened_early") == 2);
}

TEST_CASE("a pushed slice that is complete goes to the filter with its assignment") {
  Pushed dcm;
  for (const std::uint32_t readout : {0U, 1U}) REQUIRE(dcm.comes(5, readout));
  BuiltSlice& slice = *dcm.find(5);
  std::vector<BuiltSlice*> done;
  dcm.builder.assembler.take_completed(done);
  REQUIRE(done.size() == 1);
  dcm.slices().change(slice, BuildState::unassigned);
  CHECK(dcm.push.bind(dcm.slices().assign(Building::assignment(5)), dcm.now()) == &slice);
  done.clear();
  dcm.builder.assembler.take_completed(done);
  CHECK(done == std::vector<BuiltSlice*>{&slice});
}

TEST_CASE("as many slices wait for their assignment as there are credits, and one that left makes room") {
  Pushed dcm;
  for (const std::uint64_t id : {1U, 3U, 5U}) REQUIRE(dcm.comes(id));
  CHECK_FALSE(dcm.comes(7));
  CHECK(dcm.push.unbound() == 3);
  dcm.push.leaves(*dcm.find(1));
  CHECK(dcm.push.unbound() == 2);
  CHECK(dcm.comes(7));
}

TEST_CASE("fragments of a pushed slice that are overdue are requested") {
  Pushed dcm;
  BuiltSlice& slice = dcm.open(5);
  slice.assignment.time = dcm.clock.utc_ns();
  dcm.push.open_assigned(slice, dcm.now());
  REQUIRE(dcm.comes(5, 0));
  dcm.push.end_waiting(dcm.now());
  CHECK(dcm.counter("asked_for") == 0);
  dcm.now() += kSecond;
  dcm.push.end_waiting(dcm.now());
  CHECK(dcm.counter("asked_for") == 1);
  dcm.collector().pass(dcm.now());
  CHECK(dcm.collector().to_send() == std::vector<std::uint32_t>{1});
}

TEST_CASE("a slice is released if its assignment is overdue, or its next attempt arrives") {
  Pushed dcm;
  REQUIRE(dcm.comes(5));
  REQUIRE(dcm.comes(7));
  dcm.push.drop_unbound(SliceId(7));
  CHECK(dcm.notes.released == std::vector<std::uint64_t>{7});
  dcm.now() += kSecond;
  dcm.push.end_waiting(dcm.now());
  CHECK(dcm.notes.released == std::vector<std::uint64_t>{7, 5});
  CHECK(dcm.counter("never_assigned") == 2);
}

TEST_CASE("pushed fragments leave an eighth of the memory to requested ones") {
  Pushed dcm;
  constexpr std::uint32_t kQuarter = Building::kMemory / 4;
  for (const std::uint64_t id : {1U, 3U, 5U}) REQUIRE(dcm.comes(id, 0, kQuarter));
  CHECK_FALSE(dcm.comes(5, 1, kQuarter / 2 + 1));
  CHECK(dcm.counter("no_memory") == 1);
  CHECK(dcm.comes(5, 1, kQuarter / 2));
}

TEST_CASE("in order, the oldest slice is given up when newer ones are too many, and nothing is requested") {
  Pushed dcm(true);
  for (const std::uint64_t id : {1U, 3U, 5U}) dcm.assign(id);
  REQUIRE(dcm.comes(1, 0));
  for (const std::uint32_t readout : {0U, 1U}) REQUIRE(dcm.comes(3, readout));
  CHECK(dcm.pass().empty());  // 3 is complete, and waits for 1
  REQUIRE(dcm.comes(5, 0));   // the third active slice
  CHECK(dcm.pass() == std::vector<std::uint64_t>{1, 3});
  CHECK(dcm.missing(MissingReason::overflow) == 1);
  CHECK(dcm.counter("pushed_out") == 1);
  CHECK(dcm.counter("given_up") == 1);
  dcm.comes(1, 1);
  CHECK(dcm.builder.assembler.counters().late == 1);
  dcm.now() += kSecond;
  CHECK(dcm.pass() == std::vector<std::uint64_t>{5});
  CHECK(dcm.missing(MissingReason::deadline) == 1);
  CHECK(dcm.collector().to_send().size() <= 2);  // cancels
  CHECK(dcm.counter("asked_for") == 0);
  CHECK(dcm.push.keeps_order());
}

TEST_CASE("in order, a slice without a fragment is awaited, and goes first when newer ones are too many") {
  Pushed dcm(true);
  for (const std::uint64_t id : {1U, 3U, 5U, 7U}) dcm.assign(id);
  for (const std::uint64_t id : {3U, 5U}) {
    for (const std::uint32_t readout : {0U, 1U}) REQUIRE(dcm.comes(id, readout));
  }
  CHECK(dcm.pass().empty());
  SECTION("its fragments come") {
    for (const std::uint32_t readout : {0U, 1U}) REQUIRE(dcm.comes(1, readout));
    CHECK(dcm.pass() == std::vector<std::uint64_t>{1, 3, 5});
    CHECK(dcm.missing(MissingReason::overflow) == 0);
  }
  SECTION("a third newer one comes") {
    REQUIRE(dcm.comes(7));
    CHECK(dcm.pass() == std::vector<std::uint64_t>{1, 3, 5});
    CHECK(dcm.missing(MissingReason::overflow) == 2);
  }
  SECTION("its time is over") {
    dcm.now() += kSecond;
    CHECK(dcm.pass() == std::vector<std::uint64_t>{1, 3, 5, 7});
    CHECK(dcm.missing(MissingReason::deadline) == 4);
  }
}

TEST_CASE("in order, an assignment after newer slices have gone is of an empty slice outside of the order") {
  Pushed dcm(true);
  dcm.assign(3);
  for (const std::uint32_t readout : {0U, 1U}) REQUIRE(dcm.comes(3, readout));
  CHECK(dcm.pass() == std::vector<std::uint64_t>{3});
  CHECK_FALSE(dcm.comes(1));  // opens nothing
  dcm.assign(1);
  CHECK(dcm.pass() == std::vector<std::uint64_t>{1});
  CHECK(dcm.missing(MissingReason::overflow) == 2);
  CHECK(dcm.push.keeps_order());
}

TEST_CASE("in order, a slice that was open when a newer one went to the filter breaks the order") {
  Pushed dcm(true);
  BuiltSlice& older = dcm.assign(1);
  BuiltSlice& newer = dcm.assign(3);
  dcm.push.complete(newer);
  CHECK(dcm.push.keeps_order());
  dcm.push.complete(older);
  CHECK_FALSE(dcm.push.keeps_order());
}

TEST_CASE("in order, a pushed fragment without memory is missing at once") {
  Pushed dcm(true);
  constexpr std::uint32_t kHalf = Building::kMemory / 2;
  dcm.assign(1);
  REQUIRE(dcm.comes(1, 0, kHalf));
  CHECK_FALSE(dcm.comes(1, 1, kHalf + 1));
  CHECK(dcm.counter("no_memory") == 0);
  CHECK(dcm.missing(MissingReason::no_buffer) == 1);
  CHECK(dcm.pass() == std::vector<std::uint64_t>{1});
}

}  // namespace weir::dcm
