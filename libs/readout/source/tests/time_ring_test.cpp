#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/pieces.hpp>
#include <weir/source/time_ring.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

using namespace weir;
using namespace weir::source;

namespace {

constexpr UtcNs kNow = 1'000'000;  // of the tests' clock

Piece piece_at(UtcNs time, std::uint64_t content, DurationNs duration = 0, std::size_t bytes = 8) {
  auto memory = std::make_shared<std::vector<std::byte>>(std::max<std::size_t>(bytes, 8));
  store_le(memory->data(), content);
  Piece piece{time, duration, FragmentStatus::ok, {memory->data(), bytes}, nullptr};
  piece.owner = memory;
  return piece;
}

TimeWindow slice_at(std::uint64_t id, UtcNs time, DurationNs duration, DurationNs overlap) {
  return {SliceId(id), time, duration, overlap, overlap};
}

std::vector<FragmentPiece> pieces_of(const SourceFragment& fragment) {
  const auto all = FragmentPieces::read(fragment.bytes);
  REQUIRE(all);
  return {all->begin(), all->end()};
}

std::vector<std::uint64_t> contents_of(const SourceFragment& fragment) {
  std::vector<std::uint64_t> contents;
  for (const FragmentPiece& piece : pieces_of(fragment))
    contents.push_back(load_le<std::uint64_t>(piece.bytes.data()));
  return contents;
}

void check_ledger(const PieceCounters& counters) {
  std::uint64_t dropped = 0;
  for (const std::uint64_t count : counters.dropped) dropped += count;
  CHECK(counters.received == counters.placed + counters.unplaced + dropped + counters.held);
}

std::uint64_t dropped(const TimeRing& ring, PieceDrop reason) {
  return ring.counters().dropped[static_cast<std::size_t>(reason)];
}

}  // namespace

TEST_CASE("a time slice has the pieces of its window, once its source has passed it") {
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(7), {});
  ring.begin_run({});
  ring.open(slice_at(1, 1000, 100, 0), made);
  ring.open(slice_at(2, 1100, 100, 0), made);
  for (const UtcNs time : {1099, 1000, 1100, 1050, 999}) ring.add(piece_at(time, 10 * time), kNow, made);
  CHECK(made.empty());
  ring.pass(1099, false, kNow, made);
  CHECK(made.empty());
  ring.pass(1100, false, kNow, made);
  REQUIRE(made.size() == 1);
  CHECK(made[0].source == SourceId(7));
  CHECK(made[0].slice == SliceId(1));
  CHECK(made[0].fragment.status == FragmentStatus::ok);
  CHECK(made[0].fragment.crc32c == crc32c(made[0].fragment.bytes));
  CHECK(contents_of(made[0].fragment) == std::vector<std::uint64_t>{10000, 10500, 10990});
  CHECK(ring.counters().held == 1);
  CHECK(ring.counters().unplaced == 1);
  ring.pass(1200, false, kNow, made);
  REQUIRE(made.size() == 2);
  CHECK(contents_of(made[1].fragment) == std::vector<std::uint64_t>{11000});
  CHECK(ring.counters().held == 0);
  check_ledger(ring.counters());
}

TEST_CASE("a source without data in a window sends an empty fragment, not a missing one") {
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(1), {});
  ring.begin_run({});
  ring.open(slice_at(1, 1000, 100, 10), made);
  ring.pass(1110, false, kNow, made);
  REQUIRE(made.size() == 1);
  CHECK(made[0].fragment.status == FragmentStatus::ok);
  CHECK(made[0].fragment.bytes.size() == kPiecesHeaderBytes);
  ring.pass(5000, false, kNow, made);
  ring.open(slice_at(2, 1100, 100, 10), made);  // its source has passed it before
  REQUIRE(made.size() == 2);
  CHECK(made[1].fragment.status == FragmentStatus::ok);
}

TEST_CASE("pieces at a border are in both slices, marked, and begin in one") {
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(1), {});
  ring.begin_run({});
  ring.open(slice_at(1, 1000, 100, 10), made);
  ring.open(slice_at(2, 1100, 100, 10), made);
  ring.add(piece_at(1050, 1), kNow, made);
  ring.add(piece_at(1089, 2), kNow, made);
  ring.add(piece_at(1090, 3), kNow, made);
  ring.add(piece_at(1109, 4), kNow, made);
  ring.add(piece_at(1110, 5), kNow, made);
  ring.add(piece_at(1020, 6, 65), kNow, made);  // ends at 1085
  ring.add(piece_at(1060, 7, 31), kNow, made);  // ends at 1091
  ring.pass(1210, false, kNow, made);
  REQUIRE(made.size() == 2);
  CHECK(contents_of(made[0].fragment) == std::vector<std::uint64_t>{6, 1, 7, 2, 3, 4});
  CHECK(contents_of(made[1].fragment) == std::vector<std::uint64_t>{7, 3, 4, 5});
  for (const MadeWindow& one : made) {
    const auto all = FragmentPieces::read(one.fragment.bytes);
    REQUIRE(all);
    CHECK(all->before_ns() == 10);
    for (const FragmentPiece& piece : *all) {
      const auto content = load_le<std::uint64_t>(piece.bytes.data());
      CHECK(piece.border == (content == 3 || content == 4 || content == 7));
      CHECK(all->begins_here(piece) == (one.slice == SliceId(content == 4 || content == 5 ? 2 : 1)));
    }
  }
  CHECK(ring.counters().copies == 10);
}

TEST_CASE("data stay for late events until their room is needed; older windows are then too_old") {
  std::vector<MadeWindow> made;
  RingLimits limits;
  limits.windows_ascend = false;
  limits.bytes_max = 4 * (TimeRing::kPieceOverhead + 8);
  TimeRing ring(SourceId(1), limits);
  ring.begin_run({});
  for (UtcNs time = 100; time <= 600; time += 100) ring.add(piece_at(time, time), kNow, made);
  ring.pass(700, false, kNow, made);
  CHECK(ring.counters().held == 4);
  CHECK(ring.counters().unplaced == 2);
  ring.open({SliceId(3), 450, 0, 60, 60}, made);
  ring.open({SliceId(2), 310, 0, 160, 10}, made);  // needs 200, too
  ring.open({SliceId(1), 150, 0, 60, 60}, made);
  REQUIRE(made.size() == 3);
  CHECK(made[0].fragment.status == FragmentStatus::ok);
  CHECK(contents_of(made[0].fragment) == std::vector<std::uint64_t>{400, 500});
  CHECK(made[1].fragment.status == FragmentStatus::truncated);
  CHECK(contents_of(made[1].fragment) == std::vector<std::uint64_t>{300});
  CHECK(made[2].fragment.status == FragmentStatus::missing);
  CHECK(made[2].fragment.reason == MissingReason::too_old);
  CHECK(ring.counters().cut == 2);
  check_ledger(ring.counters());
}

TEST_CASE("a full ring makes the windows that need its oldest pieces at once, truncated") {
  std::vector<MadeWindow> made;
  RingLimits limits;
  limits.bytes_max = 3 * (TimeRing::kPieceOverhead + 8);
  TimeRing ring(SourceId(1), limits);
  ring.begin_run({});
  ring.open(slice_at(1, 1000, 100, 0), made);
  ring.open(slice_at(2, 1100, 100, 0), made);
  for (const UtcNs time : {1010, 1020, 1110}) ring.add(piece_at(time, time), kNow, made);
  CHECK(made.empty());
  ring.add(piece_at(1120, 1120), kNow, made);
  REQUIRE(made.size() == 1);
  CHECK(made[0].slice == SliceId(1));
  CHECK(made[0].fragment.status == FragmentStatus::truncated);
  CHECK(contents_of(made[0].fragment) == std::vector<std::uint64_t>{1010, 1020});
  ring.add(piece_at(1005, 1), kNow, made);  // older than all: does not force younger ones out
  CHECK(made.size() == 1);
  ring.pass(1200, false, kNow, made);
  REQUIRE(made.size() == 2);
  CHECK(made[1].fragment.status == FragmentStatus::ok);
  CHECK(ring.counters().forced == 1);
  check_ledger(ring.counters());
}

TEST_CASE("a full ring makes empty windows before its oldest piece, too, and looks at each window once") {
  std::vector<MadeWindow> made;
  RingLimits limits;
  limits.bytes_max = 2 * (TimeRing::kPieceOverhead + 8);
  TimeRing ring(SourceId(1), limits);
  ring.begin_run({});
  for (std::uint64_t i = 0; i < 3; ++i)
    ring.open(slice_at(i, 1000 + 100 * static_cast<UtcNs>(i), 100, 0), made);
  for (const UtcNs time : {1210, 1220, 1230}) ring.add(piece_at(time, time), kNow, made);
  REQUIRE(made.size() == 3);
  CHECK(made[0].fragment.status == FragmentStatus::truncated);
  CHECK(contents_of(made[0].fragment).empty());
  CHECK(contents_of(made[2].fragment) == std::vector<std::uint64_t>{1210, 1220});
  CHECK(ring.open_windows() == 0);
  CHECK(ring.counters().forced == 3);
  check_ledger(ring.counters());
}

TEST_CASE("pieces that cannot be kept are counted with their reason") {
  std::vector<MadeWindow> made;
  RingLimits limits;
  limits.bytes_max = 1000;
  TimeRing ring(SourceId(1), limits);
  ring.begin_run({});
  ring.pass(500, false, kNow, made);
  ring.pass(400, false, kNow, made);                             // lower: ignored
  ring.pass(kNow + TimeRing::kAheadMax + 1, false, kNow, made);  // a clock that is wrong
  ring.add(piece_at(499, 1), kNow, made);
  ring.add(piece_at(600, 1, 0, 900), kNow, made);
  ring.add(piece_at(-1, 1), kNow, made);
  ring.add(piece_at(INT64_MAX, 1), kNow, made);
  ring.add(piece_at(600, 1, -1), kNow, made);
  ring.add(piece_at(600, 1, TimeRing::kDurationMax + 1), kNow, made);
  ring.drop(PieceDrop::no_time);
  ring.add(piece_at(600, 1), kNow, made);
  CHECK(dropped(ring, PieceDrop::late) == 1);
  CHECK(dropped(ring, PieceDrop::too_large) == 1);
  CHECK(dropped(ring, PieceDrop::bad_time) == 4);
  CHECK(dropped(ring, PieceDrop::no_time) == 1);
  CHECK(ring.counters().held == 1);
  ring.end_run();
  CHECK(dropped(ring, PieceDrop::run_ended) == 1);
  CHECK(ring.counters().held == 0);
  check_ledger(ring.counters());
}

TEST_CASE("a window that reaches before a readout's first data is marked, as is one with a known gap") {
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(1), {});
  ring.begin_run(1050);
  ring.open(slice_at(1, 1000, 100, 0), made);
  ring.open(slice_at(2, 1100, 100, 0), made);
  ring.add(piece_at(1060, 1), kNow, made);
  Piece lost = piece_at(1110, 2, 5, 0);
  lost.status = FragmentStatus::missing;
  ring.add(std::move(lost), kNow, made);
  ring.pass(2000, false, kNow, made);
  REQUIRE(made.size() == 2);
  CHECK(made[0].fragment.status == FragmentStatus::truncated);
  CHECK(made[1].fragment.status == FragmentStatus::truncated);
  const auto pieces = pieces_of(made[1].fragment);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].status == static_cast<std::uint8_t>(FragmentStatus::missing));
}

TEST_CASE("a gap that a source reports marks the windows that reach into it") {
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(1), {});
  ring.begin_run({});
  for (std::uint64_t i = 0; i < 4; ++i)
    ring.open(slice_at(i, 1000 + 100 * static_cast<UtcNs>(i), 100, 0), made);
  ring.add(piece_at(1110, 1), kNow, made);
  ring.pass(1100, false, kNow, made);
  ring.pass(1250, true, kNow, made);
  ring.pass(2000, false, kNow, made);
  REQUIRE(made.size() == 4);
  CHECK(made[0].fragment.status == FragmentStatus::ok);
  CHECK(made[1].fragment.status == FragmentStatus::truncated);
  CHECK(made[2].fragment.reason == MissingReason::gap);
  CHECK(made[3].fragment.status == FragmentStatus::ok);
}

TEST_CASE("a closed window is not made, and frees its pieces") {
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(1), {});
  ring.begin_run({});
  ring.open(slice_at(1, 1000, 100, 0), made);
  ring.open(slice_at(2, 1100, 100, 0), made);
  ring.add(piece_at(1010, 1), kNow, made);
  ring.open(slice_at(1, 1000, 100, 0), made);  // announced again
  CHECK(ring.open_windows() == 2);
  ring.close(SliceId(1));
  ring.close(SliceId(1));
  CHECK(ring.counters().held == 0);
  ring.pass(2000, false, kNow, made);
  REQUIRE(made.size() == 1);
  CHECK(made[0].slice == SliceId(2));
}

namespace {

// Compares the ring with a list of all pieces that were ever added: windows have the list's pieces, except
// for those that the ring reports as cut.
class RingExercise {
 public:
  explicit RingExercise(std::uint32_t seed) : random_(seed) {
    limits_.windows_ascend = seed % 2 == 0;
    limits_.bytes_max = seed % 3 == 0 ? 24 * (TimeRing::kPieceOverhead + 16) : 1ULL << 20U;
    overlap_ = below(4) * 15;
    ring_ = std::make_unique<TimeRing>(SourceId(1), limits_);
    ring_->begin_run({});
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      take();
      check_ledger(ring_->counters());
      REQUIRE(ring_->counters().bytes_held <= limits_.bytes_max);
    }
    ring_->pass(clock_ + 10'000, false, kFar, made_);
    take();
    CHECK(open_.empty());
    CHECK(ring_->open_windows() == 0);
    ring_->end_run();
    check_ledger(ring_->counters());
    CHECK(ring_->counters().held == 0);
  }
  [[nodiscard]] const PieceCounters& counters() const { return ring_->counters(); }

 private:
  static constexpr UtcNs kFar = 1'000'000'000;
  static constexpr DurationNs kSlice = 100;

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  static std::uint64_t late(const PieceCounters& counters) {
    return counters.dropped[static_cast<std::size_t>(PieceDrop::late)];
  }

  void step() {
    clock_ += static_cast<UtcNs>(below(8));
    switch (below(8)) {
      case 0:
        return open();
      case 1:
        passed_ = std::max(passed_, clock_ - 70 - static_cast<UtcNs>(below(60)));
        return ring_->pass(passed_, false, kFar, made_);
      case 2:
        if (!open_.empty() && below(8) == 0) {
          const auto at = std::next(open_.begin(), static_cast<std::ptrdiff_t>(below(open_.size())));
          ring_->close(at->second.slice);
          open_.erase(at);
        }
        return;
      default:
        return add();
    }
  }

  void open() {
    TimeWindow window;
    if (limits_.windows_ascend) {
      if (next_slice_ > clock_ + 300) return;
      if (below(10) == 0) next_slice_ += kSlice;  // vetoed
      window = slice_at(++id_, next_slice_, kSlice, static_cast<DurationNs>(overlap_));
      next_slice_ += kSlice;
    } else {
      const UtcNs time = std::max<UtcNs>(clock_ + 50 - static_cast<UtcNs>(below(400)), 1000);
      window = {SliceId(++id_), time, 0, static_cast<DurationNs>(below(60)),
                static_cast<DurationNs>(1 + below(60))};
    }
    open_.emplace(window.slice, window);
    ring_->open(window, made_);
  }

  void add() {
    const UtcNs time = std::max<UtcNs>(clock_ - static_cast<UtcNs>(below(90)), 1000);
    const auto duration = below(5) == 0 ? static_cast<DurationNs>(below(60)) : 0;
    const std::uint64_t content = all_.size();
    const PieceCounters before = ring_->counters();
    all_.push_back({time, duration, FragmentStatus::ok, {}, nullptr});
    ring_->add(piece_at(time, content, duration, 8 + below(8)), kFar, made_);
    CHECK((late(ring_->counters()) > late(before)) == (time < passed_));
    if (time < passed_) lost_.insert(content);
  }

  void take() {
    for (const MadeWindow& one : made_) {
      const auto found = open_.find(one.slice);
      REQUIRE(found != open_.end());
      const TimeWindow window = found->second;
      open_.erase(found);
      std::multiset<std::uint64_t> expected;
      for (std::uint64_t i = 0; i < all_.size(); ++i) {
        if (window.has(all_[i]) && !lost_.contains(i)) expected.insert(i);
      }
      if (one.fragment.status == FragmentStatus::missing) {
        CHECK(one.fragment.reason == MissingReason::too_old);
        continue;
      }
      const std::vector<std::uint64_t> contents = contents_of(one.fragment);
      const std::multiset<std::uint64_t> got(contents.begin(), contents.end());
      CHECK(std::ranges::includes(expected, got));
      if (one.fragment.status == FragmentStatus::ok) {
        CHECK(got == expected);
        CHECK(window.end() <= passed_at_end());
      } else {
        CHECK(one.fragment.status == FragmentStatus::truncated);
      }
    }
    made_.clear();
  }
  [[nodiscard]] UtcNs passed_at_end() const { return ring_->passed().value_or(0); }

  std::mt19937 random_;
  RingLimits limits_;
  std::uint64_t overlap_ = 0;
  std::unique_ptr<TimeRing> ring_;
  std::vector<MadeWindow> made_;
  std::map<SliceId, TimeWindow> open_;
  std::vector<Piece> all_;
  std::set<std::uint64_t> lost_;
  UtcNs clock_ = 2000;
  UtcNs passed_ = 0;
  UtcNs next_slice_ = 1950;
  std::uint64_t id_ = 0;
};

}  // namespace

TEST_CASE("whatever the order, a window that is ok has exactly its pieces") {
  PieceCounters sum;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    RingExercise exercise(seed);
    exercise.run(800);
    sum.windows += exercise.counters().windows;
    sum.forced += exercise.counters().forced;
    sum.cut += exercise.counters().cut;
    sum.placed += exercise.counters().placed;
  }
  // All of it happened.
  CHECK(sum.windows > 3000);
  CHECK(sum.forced > 20);
  CHECK(sum.cut > 20);
  CHECK(sum.cut < sum.windows / 2);
  CHECK(sum.placed > 5000);
}

TEST_CASE("a window soon after a join or a gap is truncated where a lost piece could reach into it") {
  const bool joins = GENERATE(true, false);
  std::vector<MadeWindow> made;
  TimeRing ring(SourceId(7), {});
  ring.begin_run(joins ? std::optional<UtcNs>(1000) : std::nullopt);
  if (!joins) ring.pass(1000, true, kNow, made);
  for (std::uint64_t i = 0; i < 3; ++i)
    ring.open(slice_at(i, 1000 + static_cast<UtcNs>(i) * 100, 100, 0), made);
  ring.add(piece_at(1010, 1, 150), kNow, made);
  ring.add(piece_at(1160, 2, 150), kNow, made);
  ring.pass(1400, false, kNow, made);
  REQUIRE(made.size() == 3);
  CHECK(made[0].fragment.status == FragmentStatus::truncated);
  CHECK(made[1].fragment.status == FragmentStatus::truncated);  // a piece from 999 on would end at 1149
  CHECK(made[2].fragment.status == FragmentStatus::ok);
}
