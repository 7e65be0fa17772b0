#include "assembly_fixture.hpp"
#include "weir_catch.hpp"

#include <cstring>

namespace weir::assembly {
namespace {

FragmentStatus status(const BuiltSlice& slice, SourceIndex source) {
  return static_cast<FragmentStatus>(slice.table[source].status);
}
MissingReason reason(const BuiltSlice& slice, SourceIndex source) {
  return static_cast<MissingReason>(slice.table[source].missing_reason);
}

}  // namespace

TEST_CASE("a slice is complete when its last fragment has arrived, with each fragment aligned to 8") {
  Fixture f;
  BuiltSlice& slice = f.open_all(7, 0, 100);
  CHECK(f.deliver_ok(slice, 0, 13, 110));
  CHECK(f.deliver_ok(slice, 2, 100, 120));
  CHECK(f.completed().empty());
  CHECK(f.deliver_ok(slice, 1, 0, 130));

  const auto done = f.completed();
  REQUIRE(done.size() == 1);
  CHECK(done[0] == &slice);
  CHECK(slice.state() == BuildState::queued);
  CHECK(slice.flawed == 0);
  CHECK(slice.payload_bytes == 113);
  CHECK(slice.first_request_ns == 100);
  CHECK(slice.last_fragment_ns == 130);
  for (SourceIndex i = 0; i < 3; ++i) {
    CHECK(status(slice, i) == FragmentStatus::ok);
    CHECK(holds_content(slice, i));
    CHECK(reinterpret_cast<std::uintptr_t>(slice.table[i].data) % 8 == 0);
  }
  CHECK(f.completed().empty());
  CHECK(f.counters().requested == 3);
  CHECK(f.counters().received == 3);
  CHECK(f.counters().bytes == 113);

  f.assembler.release(slice);
  CHECK(f.pool.bytes_used() == 0);
  CHECK(f.slices.find(SliceId(7), Attempt(0)) == nullptr);
}

TEST_CASE("a slice without wanted fragments is complete immediately") {
  Fixture f;
  BuiltSlice& slice = f.open(1);
  CHECK(f.assembler.want(slice, {}) == 0);
  CHECK(f.completed_ids() == std::vector<std::uint64_t>{1});
  CHECK(status(slice, 0) == FragmentStatus::not_requested);
}

TEST_CASE("no more than slices_max are open, and an id is open once") {
  AssemblySettings settings;
  settings.slices_max = 2;
  Fixture f(settings);
  BuiltSlice& first = f.open(1);
  AssignedSlice second;
  second.slice = SliceId(1);
  second.attempt = Attempt(1);
  BuiltSlice& again = f.slices.assign(std::move(second));
  CHECK(f.assembler.open(again, 0).error() == OpenError::duplicate);
  f.open(2);
  CHECK(f.assembler.full());
  AssignedSlice other;
  other.slice = SliceId(3);
  BuiltSlice& third = f.slices.assign(std::move(other));
  CHECK(f.assembler.open(third, 0).error() == OpenError::full);
  CHECK(f.slices.open_count() == 2);

  f.assembler.release(first);
  CHECK(f.assembler.open(again, 0).has_value());
}

TEST_CASE("accepted slices that wait for their writer leave room for others, up to their own limit") {
  AssemblySettings settings;
  settings.slices_max = 2;
  settings.waiting_max = 3;
  Fixture f(settings);
  const auto report = [&f](std::uint64_t id, bool accepted) {
    BuiltSlice& slice = f.open(id);
    (void)f.assembler.want(slice, {});
    (void)f.completed_ids();
    for (const BuildState to : {BuildState::filtering, BuildState::decided}) f.slices.change(slice, to);
    slice.decision.accepted = accepted;
    f.slices.change(slice, BuildState::reported);
  };
  for (std::uint64_t id = 1; id <= 4; ++id) {
    REQUIRE_FALSE(f.assembler.full());
    report(id, true);
  }
  // Three besides the two, and not more, although no fragment has taken any memory.
  REQUIRE_FALSE(f.assembler.full());
  report(5, true);
  CHECK(f.assembler.full());
  BuiltSlice& second = *f.slices.find(SliceId(2), Attempt(0));
  second.shipment.bytes = 1;
  for (const BuildState to : {BuildState::storing, BuildState::stored}) f.slices.change(second, to);
  CHECK(f.assembler.full());
  f.assembler.release(second);
  CHECK_FALSE(f.assembler.full());
  report(6, false);
  CHECK(f.assembler.full());
  CHECK(f.slices.accepted_count() == 4);
  CHECK(f.slices.broken_invariant() == "");
}

TEST_CASE("the slices that may wait for a writer take at most an eighth of the buffer beside it") {
  CHECK(waiting_slices_max(512U << 20U, 0) == (64U << 20U) / 4096);
  CHECK(waiting_slices_max(512U << 20U, 100'000) <= (64U << 20U) / (100'000 * kSourceRowBytes));
  CHECK(waiting_slices_max(64U << 10U, 100'000) == 0);
  CHECK(waiting_slices_max(1ULL << 40U, 1) == 32'768);
}

TEST_CASE("a fragment of an attempt that is not open is late, and dropped") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5, 1);
  const auto bytes = content(SliceId(5), SourceId(10), 50);
  CHECK_FALSE(f.deliver(whole_header(SliceId(5), Attempt(0), SourceId(10), bytes), bytes, 0));
  CHECK_FALSE(f.deliver(whole_header(SliceId(6), Attempt(0), SourceId(10), bytes), bytes, 0));
  CHECK(f.counters().late == 2);
  CHECK(slice.outstanding == 3);
}

TEST_CASE("a second copy of a fragment is a duplicate, also while the first is being received") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  const auto bytes = content(SliceId(5), SourceId(10), 50);
  const auto header = whole_header(SliceId(5), Attempt(0), SourceId(10), bytes);
  const Reception first = f.assembler.begin(header, 0);
  REQUIRE(first.slice == &slice);
  CHECK_FALSE(f.deliver(header, bytes, 0));
  CHECK(f.counters().duplicate == 1);
  std::memcpy(first.target, bytes.data(), bytes.size());
  f.assembler.finish(first, header, 0);
  CHECK_FALSE(f.deliver(header, bytes, 0));
  CHECK(f.counters().duplicate == 2);
  CHECK(f.counters().received == 1);
}

TEST_CASE("a fragment that was not requested, of no source, or from another's readout is unknown") {
  Fixture f;
  BuiltSlice& slice = f.open(5);
  const SourceIndex wanted[] = {0};
  CHECK(f.assembler.want(slice, wanted) == 1);
  CHECK_FALSE(f.deliver_ok(slice, 1, 50));
  const auto bytes = content(SliceId(5), SourceId(11), 50);
  CHECK_FALSE(f.deliver(whole_header(SliceId(5), Attempt(0), SourceId(11), bytes), bytes, 0));
  CHECK_FALSE(f.deliver(whole_header(SliceId(5), Attempt(0), SourceId(10), bytes), bytes, 1));
  CHECK(f.counters().unknown == 3);
  CHECK(f.deliver_ok(slice, 0, 50));
  CHECK(f.completed_ids() == std::vector<std::uint64_t>{5});
}

TEST_CASE("a readout's reason for a missing fragment is in the slice and in the counters") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  CHECK(f.deliver_missing(slice, 0, MissingReason::restarted));
  CHECK(f.deliver_missing(slice, 1, MissingReason::not_produced));
  CHECK(f.deliver_missing(slice, 2, MissingReason::not_produced));
  CHECK(f.completed_ids() == std::vector<std::uint64_t>{5});
  CHECK(slice.flawed == 3);
  CHECK(status(slice, 0) == FragmentStatus::missing);
  CHECK(reason(slice, 0) == MissingReason::restarted);
  CHECK(slice.table[0].data == nullptr);
  CHECK(f.missing(MissingReason::restarted) == 1);
  CHECK(f.missing(MissingReason::not_produced) == 2);
  CHECK(f.counters().received == 0);
  CHECK(f.assembler.tallies().missing(0, MissingReason::restarted) == 1);
  CHECK(f.assembler.tallies().missing(0, MissingReason::not_produced) == 0);
  CHECK(f.assembler.tallies().missing(2, MissingReason::not_produced) == 1);
}

TEST_CASE("missing fragments of an attempt that did not count are overtaken, and no others") {
  const bool counts = GENERATE(true, false);
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  CHECK(f.deliver_ok(slice, 1, 50));
  CHECK(f.deliver_missing(slice, 0, MissingReason::not_produced));
  slice.counts = counts;
  f.assembler.release(slice);  // before its last fragment
  CHECK(f.missing(MissingReason::not_produced) == 1);
  CHECK(f.missing(MissingReason::dropped) == 1);
  const auto overtaken = [&f](MissingReason reason) {
    return f.counters().overtaken[static_cast<std::size_t>(reason)];
  };
  CHECK(overtaken(MissingReason::not_produced) == (counts ? 0U : 1U));
  CHECK(overtaken(MissingReason::dropped) == (counts ? 0U : 1U));
  const SourceTallies& tallies = f.assembler.tallies();
  CHECK(tallies.missing(0, MissingReason::not_produced) == (counts ? 1U : 0U));
  CHECK(tallies.missing(2, MissingReason::dropped) == (counts ? 1U : 0U));
  CHECK(tallies.arrived(1).received == 1);
  CHECK(tallies.arrived(1).bytes == 50);
  CHECK_FALSE(f.open_all(6).counts);
}

TEST_CASE("a fragment beyond the configured limit is missing as too_large, and costs no memory") {
  AssemblySettings settings;
  settings.fragment_bytes_max = 100;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(5);
  CHECK_FALSE(f.deliver_ok(slice, 0, 101));
  CHECK(f.deliver_ok(slice, 1, 100));
  CHECK(reason(slice, 0) == MissingReason::too_large);
  CHECK(f.missing(MissingReason::too_large) == 1);
  CHECK(slice.outstanding == 1);
  CHECK(slice.memory.bytes() == BufferPool::kBlockMin);
}

TEST_CASE("a fragment that the pool has no room for is missing as no_buffer, and the slice still completes") {
  Fixture f({}, Fixture::three_sources(), 2 * BufferPool::kBlockMin);
  BuiltSlice& slice = f.open_all(5);
  CHECK(f.deliver_ok(slice, 0, 8192));
  CHECK_FALSE(f.deliver_ok(slice, 1, 1));
  CHECK(f.deliver_ok(slice, 2, 0));
  CHECK(f.missing(MissingReason::no_buffer) == 1);
  CHECK(f.completed_ids() == std::vector<std::uint64_t>{5});
  CHECK(holds_content(slice, 0));
  f.assembler.release(slice);
  CHECK(f.pool.bytes_used() == 0);
}

TEST_CASE("a fragment is not lost to other slices' memory: its slice is built again") {
  Fixture f({}, Fixture::three_sources(), 2 * BufferPool::kBlockMin);
  BuiltSlice& other = f.open_all(5);
  CHECK(f.deliver_ok(other, 0, 4096));
  BuiltSlice& slice = f.open_all(6);
  CHECK(f.deliver_ok(slice, 0, 4000));
  CHECK_FALSE(f.deliver_ok(slice, 1, 4000));
  CHECK_FALSE(f.deliver_ok(slice, 2, 4000));
  CHECK(f.missing_all() == 0);
  CHECK(f.assembler.take_crowded_out() == std::vector<BuiltSlice*>{&slice});
  CHECK(f.assembler.take_crowded_out().empty());
  f.assembler.withdraw(slice);
  CHECK(f.counters().cancelled == 2);
  CHECK(f.assembler.slice_bytes_expected() == 12'000);  // its other fragments count like the first
  slice.decision = SliceDecision::fail("crowded_out");
  f.assembler.release(slice);
  CHECK(f.assembler.slice_bytes_expected() == 12'000);
}

// They counted as absent beside the memory that they had: slices of 5.6 MB were expected to take 19.7.
TEST_CASE("a fragment with its first range is not absent in the expected size of slices") {
  AssemblySettings settings;
  settings.range_bytes = 1000;
  Fixture f(settings, Fixture::three_sources(), 1U << 20);
  BuiltSlice& slice = f.open_all(6);
  CHECK(f.deliver_ok(slice, 0, 1000));
  for (const SourceId source : {SourceId(20), SourceId(30)}) {
    const auto bytes = content(SliceId(6), source, 1000);
    CHECK(f.deliver(range_header(SliceId(6), Attempt(0), source, bytes, 0, 10), bytes,
                    source == SourceId(30) ? 1 : 0));
  }
  REQUIRE(slice.outstanding == 2);
  f.assembler.crowd_out(slice);
  CHECK(f.assembler.take_crowded_out() == std::vector<BuiltSlice*>{&slice});
  f.assembler.withdraw(slice);
  CHECK(f.assembler.slice_bytes_expected() == slice.memory.placed());
}

TEST_CASE("a slice that was to give way and has ended its step may be asked for it again") {
  Fixture f({}, Fixture::three_sources(), 1U << 20);
  BuiltSlice& slice = f.open_all(6);
  f.assembler.crowd_out(slice);
  for (std::uint32_t source = 0; source < 3; ++source) CHECK(f.deliver_ok(slice, source, 100));
  REQUIRE(slice.state() == BuildState::complete);
  CHECK(f.assembler.take_crowded_out().empty());
  CHECK_FALSE(slice.crowded_out);
}

TEST_CASE("a slice without any fragment says nothing about the size of slices") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  for (SourceIndex source = 0; source < 3; ++source)
    f.deliver_missing(slice, source, MissingReason::restarted);
  CHECK(f.completed_ids() == std::vector<std::uint64_t>{5});
  CHECK_FALSE(f.assembler.knows_sizes());
  f.assembler.release(slice);
  BuiltSlice& part = f.open_all(6);
  CHECK(f.deliver_ok(part, 0, 80));
  for (SourceIndex source = 1; source < 3; ++source)
    f.deliver_missing(part, source, MissingReason::restarted);
  CHECK(f.assembler.knows_sizes());
  CHECK(f.assembler.slice_bytes_expected() == 240);
}

TEST_CASE("a fragment with a wrong checksum is requested once more, and then kept as corrupt") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  auto bytes = content(SliceId(5), SourceId(10), 50);
  const auto header = whole_header(SliceId(5), Attempt(0), SourceId(10), bytes);
  auto damaged = bytes;
  damaged[17] ^= std::byte{1};

  CHECK(f.deliver(header, damaged, 0));
  CHECK(f.counters().asked_again == 1);
  CHECK(slice.outstanding == 3);
  REQUIRE(f.assembler.ranges_wanted().size() == 1);
  CHECK(f.assembler.ranges_wanted()[0].slice == &slice);
  CHECK(f.assembler.ranges_wanted()[0].source == 0);
  CHECK(f.assembler.ranges_wanted()[0].offset == 0);
  CHECK(f.assembler.ranges_wanted()[0].length == 0);
  f.assembler.ranges_wanted().clear();

  SECTION("the second copy is good") {
    CHECK(f.deliver(header, bytes, 0));
    CHECK(status(slice, 0) == FragmentStatus::ok);
    CHECK(holds_content(slice, 0));
    CHECK(f.counters().corrupt == 0);
    CHECK(slice.flawed == 0);
  }
  SECTION("the second copy is damaged as well") {
    CHECK(f.deliver(header, damaged, 0));
    CHECK(status(slice, 0) == FragmentStatus::corrupt);
    CHECK(slice.table[0].length == 50);
    CHECK(f.counters().corrupt == 1);
    CHECK(slice.flawed == 1);
  }
  CHECK(f.counters().received == 1);
  CHECK(f.counters().asked_again == 1);
  CHECK(f.assembler.ranges_wanted().empty());
}

TEST_CASE("without checksums a fragment is accepted as received") {
  AssemblySettings settings;
  settings.checksums = false;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(5);
  const auto bytes = content(SliceId(5), SourceId(10), 50);
  auto header = whole_header(SliceId(5), Attempt(0), SourceId(10), bytes);
  header.crc = 0;
  CHECK(f.deliver(header, bytes, 0));
  CHECK(status(slice, 0) == FragmentStatus::ok);
}

TEST_CASE("fragments that their source marks as truncated, suppressed or corrupt keep that status") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  const FragmentStatus said[] = {FragmentStatus::truncated, FragmentStatus::suppressed,
                                 FragmentStatus::corrupt};
  for (SourceIndex i = 0; i < 3; ++i) {
    const SourceInfo& source = f.assembler.sources()[i];
    const auto bytes = content(SliceId(5), source.id, 20);
    auto header = whole_header(SliceId(5), Attempt(0), source.id, bytes);
    header.status = said[i];
    if (said[i] == FragmentStatus::corrupt) header.crc ^= 1U;  // of the bytes before they were damaged
    CHECK(f.deliver(header, bytes, source.readout));
    CHECK(status(slice, i) == said[i]);
  }
  CHECK(f.counters().truncated == 1);
  CHECK(f.counters().suppressed == 1);
  CHECK(f.counters().corrupt == 1);
  CHECK(f.counters().asked_again == 0);
  CHECK(f.counters().received == 3);
  CHECK(slice.flawed == 2);
}

TEST_CASE("a fragment longer than a range is requested range by range, and is contiguous in the end") {
  AssemblySettings settings;
  settings.range_bytes = 100;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(5);
  const auto bytes = content(SliceId(5), SourceId(10), 250);
  std::uint32_t offset = 0;
  for (const std::uint32_t next : {100U, 200U}) {
    const auto header = range_header(SliceId(5), Attempt(0), SourceId(10), bytes, offset, 100);
    CHECK(f.deliver(header, ConstBytes(bytes).subspan(offset), 0));
    REQUIRE(f.assembler.ranges_wanted().size() == 1);
    CHECK(f.assembler.ranges_wanted()[0].offset == next);
    CHECK(f.assembler.ranges_wanted()[0].length == std::min(100U, 250 - next));
    f.assembler.ranges_wanted().clear();
    offset = next;
  }
  CHECK(f.counters().received == 0);
  CHECK(f.deliver(range_header(SliceId(5), Attempt(0), SourceId(10), bytes, 200, 100),
                  ConstBytes(bytes).subspan(200), 0));
  CHECK(f.counters().received == 1);
  CHECK(holds_content(slice, 0));
}

TEST_CASE("a range that does not continue the previous one is unknown and changes nothing") {
  AssemblySettings settings;
  settings.range_bytes = 100;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(5);
  const auto bytes = content(SliceId(5), SourceId(10), 300);
  const auto range = [&](std::uint32_t offset) {
    return range_header(SliceId(5), Attempt(0), SourceId(10), bytes, offset, 100);
  };
  CHECK_FALSE(f.deliver(range(100), ConstBytes(bytes).subspan(100), 0));
  CHECK(f.deliver(range(0), bytes, 0));
  CHECK_FALSE(f.deliver(range(0), bytes, 0));
  CHECK_FALSE(f.deliver(range(200), ConstBytes(bytes).subspan(200), 0));
  CHECK(f.counters().unknown == 2);
  CHECK(f.counters().duplicate == 1);
  CHECK(f.deliver(range(100), ConstBytes(bytes).subspan(100), 0));
  CHECK(f.deliver(range(200), ConstBytes(bytes).subspan(200), 0));
  CHECK(holds_content(slice, 0));
}

TEST_CASE("overlapping ranges, as from pushes and requests, make one fragment") {
  AssemblySettings settings;
  settings.range_bytes = 100;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(5);
  const auto bytes = content(SliceId(5), SourceId(10), 300);
  const auto range = [&](std::uint32_t offset, std::uint32_t length) {
    return range_header(SliceId(5), Attempt(0), SourceId(10), bytes, offset, length);
  };
  CHECK(f.deliver(range(0, 200), bytes, 0));
  CHECK(f.deliver(range(100, 150), ConstBytes(bytes).subspan(100), 0));
  CHECK(f.deliver(range(0, 300), bytes, 0));
  CHECK(holds_content(slice, 0));
  CHECK(f.counters().unknown == 0);
  CHECK(f.counters().corrupt + f.counters().asked_again == 0);
  CHECK_FALSE(f.deliver(range(0, 300), bytes, 0));
  CHECK(f.counters().duplicate == 1);
}

TEST_CASE("a fragment with a larger total in the second request is unknown, and nothing is overwritten") {
  Fixture f;
  BuiltSlice& slice = f.open_all(5);
  const auto small = content(SliceId(5), SourceId(10), 16);
  const auto large = content(SliceId(5), SourceId(10), 3000);
  const auto neighbour = content(SliceId(5), SourceId(20), 64);
  SECTION("after a checksum that did not match") {
    auto header = whole_header(SliceId(5), Attempt(0), SourceId(10), small);
    header.crc ^= 1U;
    CHECK(f.deliver(header, small, 0));
  }
  SECTION("after a connection that broke") {
    const auto header = whole_header(SliceId(5), Attempt(0), SourceId(10), small);
    f.assembler.abandon(f.assembler.begin(header, 0));
  }
  CHECK(f.deliver(whole_header(SliceId(5), Attempt(0), SourceId(20), neighbour), neighbour, 0));
  CHECK_FALSE(f.deliver(whole_header(SliceId(5), Attempt(0), SourceId(10), large), large, 0));
  CHECK(f.counters().unknown == 1);
  CHECK(holds_content(slice, 1));
  CHECK(f.deliver(whole_header(SliceId(5), Attempt(0), SourceId(10), small), small, 0));
  CHECK(holds_content(slice, 0));
}

TEST_CASE("an empty range of a non-empty fragment is unknown: it would be requested forever") {
  Fixture f;
  f.open_all(5);
  const auto bytes = content(SliceId(5), SourceId(10), 50);
  auto header = whole_header(SliceId(5), Attempt(0), SourceId(10), bytes);
  header.length = 0;
  CHECK_FALSE(f.deliver(header, {}, 0));
  CHECK(f.counters().unknown == 1);
  CHECK(f.assembler.ranges_wanted().empty());
  CHECK(f.pool.bytes_used() == 0);
}

TEST_CASE(
    "slices expect as much memory as recent ones needed, and a destroyed assembler releases everything") {
  Fixture f;
  BuiltSlice& first = f.open_all(1);
  for (SourceIndex i = 0; i < 3; ++i) CHECK(f.deliver_ok(first, i, 6000));
  CHECK(f.assembler.slice_bytes_expected() == 18000);
  f.assembler.release(first);

  BufferPool pool(f.memory);
  {
    SliceTable slices;
    Assembler other({}, Fixture::three_sources(), pool, slices);
    BuiltSlice& slice = slices.assign({});
    REQUIRE(other.open(slice, 0).has_value());
    other.want_all(slice);
    const auto bytes = content(SliceId(0), SourceId(10), 5000);
    CHECK(other.begin(whole_header(SliceId(0), Attempt(0), SourceId(10), bytes), 0).target != nullptr);
    CHECK(pool.bytes_used() == 8192);
  }
  CHECK(pool.bytes_used() == 0);

  BuiltSlice& second = f.open_all(2);
  CHECK(f.deliver_ok(second, 0, 1));
  CHECK(second.memory.bytes() == 32768);  // one block for all that is expected
}

}  // namespace weir::assembly
