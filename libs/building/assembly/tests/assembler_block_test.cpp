// Blocks: the fragments of one slice from one readout, in one frame.
#include "assembly_fixture.hpp"
#include "weir_catch.hpp"

namespace weir::assembly {
namespace {

// Sources 10, 20, 30 at readout 0, 40 at readout 1.
std::vector<SourceInfo> four_sources() {
  return {{SourceId(10), 0}, {SourceId(20), 0}, {SourceId(30), 0}, {SourceId(40), 1}};
}

FragmentStatus status_of(const BuiltSlice& slice, SourceIndex source) {
  return static_cast<FragmentStatus>(slice.table[source].status);
}

}  // namespace

TEST_CASE("a block completes the fragments that it brings, each with its own bytes") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  const auto taken = f.deliver_block(
      slice, {f.whole_row(SliceId(7), 0, 13), f.whole_row(SliceId(7), 1, 0), f.whole_row(SliceId(7), 2, 200)},
      0, 55);
  CHECK(taken.slice == &slice);
  REQUIRE(taken.taken.size() == 3);
  CHECK(taken.taken[2].source == 2);
  CHECK(taken.taken[2].bytes == 200);
  for (SourceIndex source = 0; source < 3; ++source) {
    CHECK(status_of(slice, source) == FragmentStatus::ok);
    CHECK(holds_content(slice, source));
  }
  CHECK(slice.payload_bytes == 213);
  CHECK(slice.last_fragment_ns == 55);
  CHECK(slice.outstanding == 1);
  CHECK(f.counters().received == 3);
  CHECK(f.deliver_ok(slice, 3, 8));
  CHECK(f.completed_ids() == std::vector<std::uint64_t>{7});
}

TEST_CASE("payloads of a block begin where a filter may read words") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  f.deliver_block(
      slice, {f.whole_row(SliceId(7), 0, 3), f.whole_row(SliceId(7), 1, 5), f.whole_row(SliceId(7), 2, 7)},
      0);
  for (SourceIndex source = 0; source < 3; ++source)
    CHECK(reinterpret_cast<std::uintptr_t>(slice.table[source].data) % wire::kBlockAlignment == 0);
}

TEST_CASE(
    "a row without a fragment marks it missing for its reason, and completes the slice with the others") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  f.deliver_block(slice,
                  {f.missing_row(0, MissingReason::dropped), f.whole_row(SliceId(7), 1, 10),
                   f.missing_row(2, MissingReason::gap)},
                  0);
  CHECK(f.deliver_block(slice, {f.missing_row(3, MissingReason::not_produced)}, 1).taken.empty());
  CHECK(f.completed().size() == 1);
  CHECK(slice.table[0].missing_reason == static_cast<std::uint8_t>(MissingReason::dropped));
  CHECK(f.missing(MissingReason::gap) == 1);
  CHECK(f.missing_all() == 3);
  CHECK(slice.flawed == 3);
}

TEST_CASE("a block's fragment with a wrong checksum is requested again, and the others are accepted") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  auto bad = f.whole_row(SliceId(7), 1, 40);
  bad.bytes[3] ^= std::byte{1};
  f.deliver_block(slice, {f.whole_row(SliceId(7), 0, 40), bad, f.whole_row(SliceId(7), 2, 40)}, 0);
  CHECK(f.counters().received == 2);
  CHECK(f.counters().asked_again == 1);
  REQUIRE(f.assembler.ranges_wanted().size() == 1);
  CHECK(f.assembler.ranges_wanted().front().source == 1);
  SECTION("it is right the second time") {
    f.deliver_block(slice, {f.whole_row(SliceId(7), 1, 40)}, 0);
    CHECK(status_of(slice, 1) == FragmentStatus::ok);
    CHECK(holds_content(slice, 1));
  }
  SECTION("it is wrong again") {
    f.deliver_block(slice, {bad}, 0);
    CHECK(status_of(slice, 1) == FragmentStatus::corrupt);
  }
  CHECK(slice.outstanding == 1);
}

TEST_CASE("a block of a slice that is not open is counted fragment by fragment") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  const auto slot = static_cast<std::uint32_t>(slice.slot);
  const std::vector<Fixture::Row> rows = {f.whole_row(SliceId(7), 0, 40), f.whole_row(SliceId(7), 1, 40)};
  CHECK(f.deliver_block(SliceId(8), Attempt(0), slot, rows, 0).slice == nullptr);
  CHECK(f.deliver_block(SliceId(7), Attempt(1), slot, rows, 0).slice == nullptr);
  CHECK(f.counters().late == 4);
  f.assembler.release(slice);
  CHECK(f.deliver_block(SliceId(7), Attempt(0), slot, rows, 0).slice == nullptr);
  CHECK(f.counters().late == 6);
  CHECK(f.pool.bytes_used() == 0);
}

TEST_CASE("a block finds its slice whatever slot it names") {
  Fixture f({}, four_sources());
  f.open_all(6);
  BuiltSlice& slice = f.open_all(7);
  const auto slot = static_cast<std::uint32_t>(slice.slot);
  SourceIndex source = 0;
  for (const std::uint32_t named : {slot, slot + 1, UINT32_MAX}) {
    const auto taken =
        f.deliver_block(SliceId(7), Attempt(0), named, {f.whole_row(SliceId(7), source, 9)}, 0);
    CHECK(taken.slice == &slice);
    CHECK(holds_content(slice, source++));
  }
}

TEST_CASE(
    "a block's row that is not the readout's, already received or repeated is counted, and the rest "
    "taken") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  CHECK(f.deliver_ok(slice, 0, 30));
  const auto stranger = f.whole_row(SliceId(7), 3, 30);
  auto nobody = stranger;
  nobody.row.source = SourceId(99);
  const auto once = f.whole_row(SliceId(7), 1, 30);
  f.deliver_block(slice, {f.whole_row(SliceId(7), 0, 30), stranger, nobody, once, once}, 0);
  CHECK(f.counters().duplicate == 2);
  CHECK(f.counters().unknown == 2);
  CHECK(f.counters().received == 2);
  CHECK(slice.outstanding == 2);
  // No fragment arrived before: the block's memory is one piece, and the second row is noticed nevertheless.
  const auto other = f.whole_row(SliceId(7), 2, 30);
  f.deliver_block(slice, {other, other}, 0);
  CHECK(f.counters().duplicate == 3);
  CHECK(slice.outstanding == 1);
  CHECK(holds_content(slice, 1));
  CHECK(holds_content(slice, 2));
}

TEST_CASE("a block completes a fragment of which a part has arrived") {
  Fixture f({}, four_sources());
  BuiltSlice& slice = f.open_all(7);
  const auto bytes = content(SliceId(7), SourceId(10), 100);
  CHECK(f.deliver(range_header(SliceId(7), Attempt(0), SourceId(10), bytes, 0, 60), bytes, 0));
  f.assembler.ranges_wanted().clear();
  f.deliver_block(slice, {f.whole_row(SliceId(7), 0, 100), f.whole_row(SliceId(7), 1, 10)}, 0);
  CHECK(holds_content(slice, 0));
  CHECK(status_of(slice, 0) == FragmentStatus::ok);
  CHECK(slice.outstanding == 2);
}

TEST_CASE("a block that finds no memory gives up its fragments without room, and counts them") {
  AssemblySettings settings;
  settings.fragment_bytes_max = 5000;
  Fixture f(settings, four_sources(), BufferPool::kBlockMin);
  BuiltSlice& slice = f.open_all(7);
  const auto room = static_cast<std::size_t>(BufferPool::kBlockMin);
  f.deliver_block(slice,
                  {f.whole_row(SliceId(7), 0, room - 100), f.whole_row(SliceId(7), 1, room - 100),
                   f.whole_row(SliceId(7), 2, 50)},
                  0);
  CHECK(f.missing(MissingReason::no_buffer) == 1);
  CHECK(f.counters().received == 2);
  CHECK(slice.refused_bytes == SliceMemory::placed_bytes(room - 100));
  CHECK(holds_content(slice, 0));
  CHECK(holds_content(slice, 2));
  f.deliver_block(slice, {f.whole_row(SliceId(7), 3, 5001)}, 1);
  CHECK(f.missing(MissingReason::too_large) == 1);
  CHECK(f.completed().size() == 1);
}

}  // namespace weir::assembly
