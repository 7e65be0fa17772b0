#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/assembly/slice_table.hpp>
#include <weir/base/hash.hpp>

#include <initializer_list>
#include <map>
#include <memory>
#include <vector>

namespace weir::assembly {
namespace {

using enum BuildState;

constexpr std::size_t kPoolBytes = 1U << 20;

AssignedSlice assignment(std::uint64_t id, std::uint16_t attempt = 0) {
  AssignedSlice made;
  made.slice = SliceId(id);
  made.attempt = Attempt(attempt);
  return made;
}

weir_filter_fragment entry_of(FragmentStatus status, MissingReason reason = MissingReason::none) {
  weir_filter_fragment entry{};
  entry.status = abi_status(status);
  entry.missing_reason = static_cast<std::uint8_t>(reason);
  return entry;
}

bool is_incomplete(std::initializer_list<weir_filter_fragment> entries) {
  Completeness all;
  for (const weir_filter_fragment& entry : entries) all.add(entry);
  return all.is_incomplete();
}

// Brings a slice to a state, and fulfils the conditions of that state.
class Walker {
 public:
  Walker() : memory_(kPoolBytes), pool_(memory_) {}

  void go(BuiltSlice& slice, BuildState to) {
    if (to == waiting_for_memory && !is_open(slice.state())) {
      REQUIRE(table.open(slice));
      return;
    }
    if (to == collecting) slice.outstanding = 1;
    if (to != collecting) slice.outstanding = 0;
    if (to == decided) slice.decision.accepted = !slice.decision.accepted;
    if (to == held_back) slice.decision.accepted = true;
    if (to == kept) slice.decision.kept = true;
    if (to == storing) slice.shipment.bytes = 1;
    if (to == complete && slice.memory.bytes() == 0) REQUIRE(slice.memory.allocate(pool_, 100, 0) != nullptr);
    if (to == released) {
      table.close(slice);
      slice.memory.release(pool_);
    } else {
      table.change(slice, to);
    }
  }
  void go(BuiltSlice& slice, std::initializer_list<BuildState> way) {
    for (const BuildState to : way) go(slice, to);
  }
  BuiltSlice& reported_slice(std::uint64_t id, bool accepted) {
    BuiltSlice& slice = table.assign(assignment(id));
    go(slice, {waiting_for_memory, collecting, complete, queued, filtering, decided});
    slice.decision.accepted = accepted;
    go(slice, reported);
    return slice;
  }
  [[nodiscard]] std::uint64_t bytes_used() const { return pool_.bytes_used(); }

  SliceTable table;

 private:
  std::vector<std::byte> memory_;
  BufferPool pool_;
};

}  // namespace

TEST_CASE("a slice is complete without removed sources, unless no source is left") {
  const auto here = entry_of(FragmentStatus::ok);
  const auto removed = entry_of(FragmentStatus::missing, MissingReason::removed);
  const auto late = entry_of(FragmentStatus::missing, MissingReason::deadline);
  const auto unnamed = entry_of(FragmentStatus::not_requested);
  CHECK_FALSE(is_incomplete({here, here}));
  CHECK_FALSE(is_incomplete({here, removed, unnamed}));
  CHECK_FALSE(is_incomplete({unnamed}));
  CHECK_FALSE(is_incomplete({}));
  CHECK(is_incomplete({removed, removed}));
  CHECK(is_incomplete({removed, unnamed}));
  CHECK(is_incomplete({here, late}));
  CHECK(is_incomplete({here, entry_of(FragmentStatus::truncated)}));
}

TEST_CASE("a slice is in the list of its state, the latest at the end") {
  Walker walker;
  SliceTable& table = walker.table;
  BuiltSlice& first = table.assign(assignment(1));
  BuiltSlice& second = table.assign(assignment(2));
  CHECK(table.first_in(assigned) == &first);
  CHECK(table.first_in(waiting_for_memory) == nullptr);
  walker.go(second, waiting_for_memory);
  walker.go(first, waiting_for_memory);
  CHECK(table.in(assigned).empty());
  CHECK(table.in(waiting_for_memory).size() == 2);
  CHECK(table.first_in(waiting_for_memory) == &second);
  CHECK(table.opened_after(second) == &first);
  CHECK(table.opened_after(first) == nullptr);
  CHECK(table.broken_invariant() == "");
}

TEST_CASE("a slice is found by id and attempt while it is open, with one attempt at a time") {
  Walker walker;
  SliceTable& table = walker.table;
  BuiltSlice& first = table.assign(assignment(7, 0));
  CHECK(table.find(SliceId(7), Attempt(0)) == nullptr);
  REQUIRE(table.open(first));
  CHECK(table.find(SliceId(7), Attempt(0)) == &first);
  CHECK(table.find(SliceId(7), Attempt(1)) == nullptr);
  BuiltSlice& second = table.assign(assignment(7, 1));
  CHECK_FALSE(table.open(second));
  CHECK(second.state() == assigned);
  walker.go(second, blocked);
  walker.go(first, released);
  CHECK_FALSE(table.is_open(SliceId(7)));
  CHECK(table.open(second));
  CHECK(table.find(SliceId(7), Attempt(1)) == &second);
  CHECK(table.broken_invariant() == "");
}

TEST_CASE("a slice's object is reused at the same place, without traces of its last slice") {
  Walker walker;
  BuiltSlice& slice = walker.reported_slice(1, true);
  slice.step = 3;
  slice.flawed = 2;
  slice.pushed = slice.awaits_assignment = true;
  const std::uint64_t slot = slice.slot;
  walker.go(slice, {released, spare});
  BuiltSlice& next = walker.table.assign(assignment(2));
  CHECK(&next == &slice);
  CHECK(&walker.table.in_slot(slot) == &next);
  CHECK(next.id() == SliceId(2));
  CHECK(next.step == 0);
  CHECK(next.flawed == 0);
  CHECK_FALSE(next.pushed);
  CHECK_FALSE(next.awaits_assignment);
  CHECK_FALSE(next.decision.accepted);
}

TEST_CASE(
    "an accepted slice's memory waits for its writer from the report to the release, others' does not") {
  Walker walker;
  SliceTable& table = walker.table;
  BuiltSlice& rejected = walker.reported_slice(1, false);
  CHECK(table.accepted_bytes() == 0);
  BuiltSlice& accepted = walker.reported_slice(2, true);
  const std::uint64_t bytes = accepted.memory.bytes();
  REQUIRE(bytes > 0);
  for (const BuildState state : {storing, storing, stored, storing, given_up}) {
    walker.go(accepted, state);
    CHECK(table.accepted_bytes() == bytes);
    CHECK(table.accepted_count() == 1);
  }
  walker.go(accepted, released);
  CHECK(table.accepted_bytes() == 0);
  CHECK(table.accepted_count() == 0);
  walker.go(rejected, {storing, stored, released});
  CHECK(table.accepted_bytes() == 0);
}

TEST_CASE("every slice is in one list, and all counts agree, under random changes") {
  Walker walker;
  SliceTable& table = walker.table;
  std::vector<BuiltSlice*> slices;
  std::map<BuildState, int> seen;
  std::uint64_t random = GENERATE(range(1, 9));
  const auto below = [&](std::size_t limit) { return (random = mix64(random)) % limit; };
  for (std::uint64_t i = 0; i < 20; ++i) slices.push_back(&table.assign(assignment(i)));
  std::uint64_t next_id = 100;
  for (int i = 0; i < 5000; ++i) {
    BuiltSlice& slice = *slices[below(slices.size())];
    std::vector<BuildState> ways;
    for (const auto& one : kSliceTransitions) {
      if (one.from == slice.state()) ways.push_back(one.to);
    }
    const BuildState to = ways[below(ways.size())];
    ++seen[to];
    if (to == assigned) {
      table.assign(assignment(next_id++));  // the last spare one, perhaps another
    } else {
      walker.go(slice, to);
    }
    if (i % 10 == 0) REQUIRE(table.broken_invariant() == "");
  }
  CHECK(seen.size() == kSliceStates);
}

TEST_CASE("a transition outside the table ends the process, and so does a slice that is not ready") {
  Walker walker;
  SliceTable& table = walker.table;
  BuiltSlice& reported_one = walker.reported_slice(1, true);
  walker.go(reported_one, storing);
  CHECK_FALSE(test::broken_invariant([&] { table.close(reported_one); }).empty());
  walker.go(reported_one, given_up);
  CHECK_FALSE(test::broken_invariant([&] { walker.go(reported_one, storing); }).empty());
  BuiltSlice& open_one = table.assign(assignment(2));
  CHECK_FALSE(
      test::broken_invariant([&] { table.change(open_one, waiting_for_memory); }).empty());  // not by open()
  walker.go(open_one, waiting_for_memory);
  CHECK_FALSE(test::broken_invariant([&] { table.change(open_one, released); }).empty());  // not by close()
  CHECK_FALSE(test::broken_invariant([&] {
                table.change(open_one, collecting);
              }).empty());  // no fragment is outstanding
  CHECK(test::broken_invariant([&] { walker.go(open_one, collecting); }).empty());
}

TEST_CASE("memory that a connection refers to is not released") {
  Walker walker;
  BuiltSlice& slice = walker.reported_slice(1, true);
  walker.go(slice, storing);
  std::shared_ptr<const void> hold = slice.memory.share();
  const std::shared_ptr<const void> another = slice.memory.share();
  walker.go(slice, stored);
  CHECK(slice.memory.is_shared());
  CHECK_FALSE(test::broken_invariant([&] { walker.go(slice, released); }).empty());
}

TEST_CASE("memory is shared while a reference to it exists, and again with the next slice") {
  Walker walker;
  for (int i = 0; i < 2; ++i) {
    BuiltSlice& slice = walker.reported_slice(1, true);
    walker.go(slice, storing);
    CHECK_FALSE(slice.memory.is_shared());
    std::shared_ptr<const void> one = slice.memory.share();
    std::shared_ptr<const void> other = slice.memory.share();
    walker.go(slice, stored);
    one.reset();
    CHECK(slice.memory.is_shared());
    other.reset();
    CHECK_FALSE(slice.memory.is_shared());
    walker.go(slice, {released, spare});
    CHECK(walker.bytes_used() == 0);
  }
}

}  // namespace weir::assembly
