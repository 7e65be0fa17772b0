#include "weir_catch.hpp"
#include <weir/slice_rows/absences.hpp>

using namespace weir;
using namespace weir::slice_rows;

namespace {

constexpr NodeIndex kFirstReadout{0};
constexpr NodeIndex kSecondReadout{1};
constexpr std::uint16_t kMany[] = {16, 64, 256};

// After each of so many readouts was out so often.
struct Moves {
  Moves(std::uint16_t readouts, int times) : readouts_(readouts) {
    for (int time = 0; time < times; ++time) {
      for (std::uint16_t readout = 0; readout < readouts; ++readout) {
        table_.leave(NodeIndex(readout), SliceOrder(next_));
        table_.join(NodeIndex(readout), SliceOrder(next_ + 5));
        next_ += 10;
      }
    }
    changes_ = 2.0 * times * readouts;
  }
  [[nodiscard]] double steps_per_change() const { return static_cast<double>(table_.steps()) / changes_; }
  [[nodiscard]] double steps_per_look(SliceOrder slice) const {
    const std::uint64_t before = table_.steps();
    for (std::uint16_t readout = 0; readout < readouts_; ++readout)
      (void)table_.covers(NodeIndex(readout), slice);
    return static_cast<double>(table_.steps() - before) / readouts_;
  }
  [[nodiscard]] SliceOrder next() const { return SliceOrder(next_); }

 private:
  std::uint16_t readouts_;
  AbsenceTable table_;
  std::uint64_t next_ = 0;
  double changes_ = 0;
};

}  // namespace

TEST_CASE("a readout has no part in the slices from its leave to its return, others do") {
  AbsenceTable table;
  table.leave(kFirstReadout, SliceOrder(10));
  CHECK(table.is_out(kFirstReadout));
  CHECK_FALSE(table.covers(kFirstReadout, SliceOrder(9)));
  CHECK(table.covers(kFirstReadout, SliceOrder(10)));
  CHECK(table.covers(kFirstReadout, SliceOrder(1'000'000)));
  CHECK_FALSE(table.covers(kSecondReadout, SliceOrder(10)));
  table.join(kFirstReadout, SliceOrder(20));
  CHECK_FALSE(table.is_out(kFirstReadout));
  CHECK(table.covers(kFirstReadout, SliceOrder(19)));
  CHECK_FALSE(table.covers(kFirstReadout, SliceOrder(20)));
}

TEST_CASE("a readout that leaves and returns before a slice is triggered was never absent") {
  AbsenceTable table;
  table.leave(kFirstReadout, SliceOrder(10));
  table.join(kFirstReadout, SliceOrder(10));
  CHECK(table.ranges().empty());
  CHECK(table.number() == 2);
}

TEST_CASE("the return of a present node changes nothing") {
  AbsenceTable table;
  table.join(kFirstReadout, SliceOrder(10));
  CHECK(table.number() == 0);
}

TEST_CASE("a received table is accepted whole, and refused with an empty range") {
  AbsenceTable table;
  CHECK(table.replace({{kFirstReadout, SliceOrder(1), SliceOrder(5)}, {kSecondReadout, SliceOrder(3)}}));
  CHECK(table.covers(kFirstReadout, SliceOrder(4)));
  CHECK(table.is_out(kSecondReadout));
  CHECK_FALSE(table.replace({{kFirstReadout, SliceOrder(5), SliceOrder(5)}}));
  CHECK(table.ranges().size() == 2);
}

TEST_CASE("beyond the bound the oldest range that has ended is forgotten, and an open one is kept") {
  AbsenceTable table;
  table.leave(kSecondReadout, SliceOrder(0));
  for (std::uint64_t i = 0; i < AbsenceTable::kEndedMax + 10; ++i) {
    table.leave(kFirstReadout, SliceOrder(10 * i));
    table.join(kFirstReadout, SliceOrder(10 * i + 5));
  }
  CHECK(table.ranges().size() <= AbsenceTable::kEndedMax + 2);
  CHECK(table.covers(kSecondReadout, SliceOrder(7)));
  CHECK_FALSE(table.covers(kFirstReadout, SliceOrder(0)));
  CHECK(table.covers(kFirstReadout, SliceOrder(10 * (AbsenceTable::kEndedMax + 9))));
}

TEST_CASE("whether a readout has a part in a slice is looked up at the same cost however many were out") {
  const Moves few(4, 4);
  for (const std::uint16_t readouts : kMany) {
    CAPTURE(readouts);
    const Moves many(readouts, 4);
    CHECK(many.steps_per_look(many.next()) <= few.steps_per_look(few.next()));
    CHECK(many.steps_per_look(SliceOrder(0)) <= few.steps_per_look(SliceOrder(0)));
    CHECK(many.steps_per_change() <= 1.5 * few.steps_per_change());
  }
}

TEST_CASE("no node is out for slices after the last range") {
  AbsenceTable table;
  CHECK_FALSE(table.may_cover(SliceOrder(0)));
  table.leave(kFirstReadout, SliceOrder(10));
  CHECK(table.may_cover(SliceOrder(5)));
  table.leave(kSecondReadout, SliceOrder(12));
  table.join(kFirstReadout, SliceOrder(20));
  CHECK(table.may_cover(SliceOrder(20)));
  table.join(kSecondReadout, SliceOrder(15));
  CHECK(table.may_cover(SliceOrder(19)));
  CHECK_FALSE(table.may_cover(SliceOrder(20)));
  CHECK_FALSE(table.empty());
  REQUIRE(table.replace({{kFirstReadout, SliceOrder(1), SliceOrder(3)}}));
  CHECK_FALSE(table.may_cover(SliceOrder(3)));
}

TEST_CASE("a frequently absent readout costs one step for present slices") {
  const Moves often(1, 1000);
  CHECK(often.steps_per_look(often.next()) <= 1);
  CHECK(often.steps_per_look(SliceOrder(0)) <= 12);  // the logarithm
}

TEST_CASE("overlapping ranges of a readout, as received, cover their union") {
  AbsenceTable table;
  REQUIRE(table.replace({{kFirstReadout, SliceOrder(10), SliceOrder(40)},
                         {kSecondReadout, SliceOrder(0), SliceOrder(3)},
                         {kFirstReadout, SliceOrder(15), SliceOrder(20)},
                         {kFirstReadout, SliceOrder(5), SliceOrder(8)}}));
  for (std::uint64_t slice = 0; slice < 50; ++slice) {
    CAPTURE(slice);
    CHECK(table.covers(kFirstReadout, SliceOrder(slice)) ==
          ((slice >= 5 && slice < 8) || (slice >= 10 && slice < 40)));
  }
  CHECK(table.ranges()[2] == AbsenceRange{kFirstReadout, SliceOrder(15), SliceOrder(20)});  // as reported
  table.leave(kFirstReadout, SliceOrder(30));
  CHECK(table.is_out(kFirstReadout));
  CHECK(table.covers(kFirstReadout, SliceOrder(1000)));
  CHECK_FALSE(table.covers(kFirstReadout, SliceOrder(8)));
  table.join(kFirstReadout, SliceOrder(45));
  CHECK(table.covers(kFirstReadout, SliceOrder(44)));
  CHECK_FALSE(table.covers(kFirstReadout, SliceOrder(45)));
}

TEST_CASE("slices that no readout takes part in are counted") {
  constexpr std::size_t kReadouts = 2;
  const SliceOrder end(100);
  AbsenceTable table;
  CHECK(slices_without_readouts(table.ranges(), kReadouts, end) == 0);
  table.leave(kFirstReadout, SliceOrder(10));
  CHECK(slices_without_readouts(table.ranges(), kReadouts, end) == 0);
  table.leave(kSecondReadout, SliceOrder(20));
  CHECK(slices_without_readouts(table.ranges(), kReadouts, end) == 80);
  table.join(kFirstReadout, SliceOrder(25));
  CHECK(slices_without_readouts(table.ranges(), kReadouts, end) == 5);
  // One after another is not both.
  table.join(kSecondReadout, SliceOrder(30));
  table.leave(kFirstReadout, SliceOrder(30));
  CHECK(slices_without_readouts(table.ranges(), kReadouts, end) == 5);
  table.leave(kSecondReadout, SliceOrder(90));
  CHECK(slices_without_readouts(table.ranges(), kReadouts, end) == 15);
  CHECK(slices_without_readouts(table.ranges(), kReadouts, SliceOrder(50)) == 5);
  CHECK(slices_without_readouts(table.ranges(), 3, end) == 0);
  // Received ranges may overlap.
  CHECK(slices_without_readouts({{kFirstReadout, SliceOrder(10), SliceOrder(30)},
                                 {kFirstReadout, SliceOrder(20), SliceOrder(40)},
                                 {kSecondReadout, SliceOrder(0), SliceOrder(35)}},
                                kReadouts, end) == 25);
}
