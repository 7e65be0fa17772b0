#include "weir_catch.hpp"
#include <weir/assignment/waiting_slices.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr std::size_t kCapacity = 1024;

using Ids = std::vector<std::uint64_t>;

WaitingSlices with(const Ids& ids) {
  WaitingSlices waiting(kCapacity);
  for (const std::uint64_t id : ids) waiting.add(SliceId(id), SliceOrder(id));
  return waiting;
}

// Hands out up to `most`, and says which.
template <class Wanted>
Ids hand_out(WaitingSlices& waiting, std::size_t most, Wanted wanted) {
  Ids given;
  waiting.hand_out([&] { return given.size() < most; },
                   [&](SliceId slice) {
                     if (!wanted(slice.value)) return false;
                     given.push_back(slice.value);
                     return true;
                   });
  return given;
}
Ids hand_out(WaitingSlices& waiting, std::size_t most = kCapacity) {
  return hand_out(waiting, most, [](std::uint64_t) { return true; });
}

}  // namespace

TEST_CASE("slices are handed out in the order of their triggers, reopened ones first") {
  WaitingSlices waiting = with({10, 11, 12});
  waiting.put_back(SliceId(7), SliceOrder(7));
  waiting.put_back(SliceId(5), SliceOrder(5));
  waiting.put_back(SliceId(9), SliceOrder(9));
  CHECK(waiting.pending() == 6);
  CHECK(hand_out(waiting) == Ids{5, 7, 9, 10, 11, 12});
  CHECK(waiting.pending() == 0);
}

TEST_CASE("reopened slices keep the order of their triggers, even if their ids descend") {
  WaitingSlices waiting(kCapacity);
  waiting.add(SliceId(6), SliceOrder(4));
  waiting.put_back(SliceId(8), SliceOrder(2));
  waiting.put_back(SliceId(9), SliceOrder(1));
  waiting.put_back(SliceId(7), SliceOrder(3));
  CHECK(hand_out(waiting) == Ids{9, 8, 7, 6});
}

TEST_CASE("no more is handed out than there is room for, and the rest waits in its order") {
  WaitingSlices waiting = with({1, 2, 3});
  CHECK(hand_out(waiting, 2) == Ids{1, 2});
  CHECK(hand_out(waiting) == Ids{3});
}

TEST_CASE("a slice that waits for its own DCM keeps its place, and those behind it are handed out") {
  WaitingSlices waiting = with({1, 2, 3, 4});
  CHECK(hand_out(waiting, kCapacity, [](std::uint64_t id) { return id % 2 == 0; }) == Ids{2, 4});
  CHECK(hand_out(waiting) == Ids{1, 3});
}

TEST_CASE("the search stops after a number of slices that wait for their own DCM") {
  Ids ids;
  for (std::uint64_t id = 0; id <= WaitingSlices::kLookAhead; ++id) ids.push_back(id);
  WaitingSlices waiting = with(ids);
  const auto is_last = [](std::uint64_t id) { return id == WaitingSlices::kLookAhead; };
  CHECK(hand_out(waiting, kCapacity, is_last).empty());
  waiting.erase(SliceId(0));
  CHECK(hand_out(waiting, kCapacity, is_last) == Ids{WaitingSlices::kLookAhead});
  CHECK(hand_out(waiting).front() == 1);
}

TEST_CASE("a list that could not hand out all slices is stuck until something changes") {
  WaitingSlices waiting = with({1, 2});
  CHECK(waiting.is_stuck());  // nobody is there
  waiting.look_again();
  CHECK(hand_out(waiting, 1) == Ids{1});
  CHECK(waiting.is_stuck());
  waiting.put_back(SliceId(0), SliceOrder(0));
  CHECK_FALSE(waiting.is_stuck());
  CHECK(hand_out(waiting).size() == 2);
  CHECK_FALSE(waiting.is_stuck());  // and a new slice is handed out immediately
}

TEST_CASE("the waiting slices, in their order, are in the state for searches") {
  const auto state = [](const WaitingSlices& waiting) {
    std::vector<std::uint64_t> row;
    waiting.append_state(row);
    return row;
  };
  WaitingSlices one = with({1, 2});
  CHECK(state(one) == state(with({1, 2})));
  CHECK(state(one) != state(with({2, 1})));
  one.look_again();
  CHECK(state(one) != state(with({1, 2})));
  one.clear();
  CHECK(one.pending() == 0);
}
