#include "plain_choice.hpp"
#include "weir_catch.hpp"
#include <weir/base/hash.hpp>

#include <algorithm>
#include <vector>

namespace weir::shaping {
namespace {

// Slices in line that each want some bytes of some readouts, as in a DCM.
class Farm {
 public:
  Farm(ReadoutOrder order, std::uint32_t first, std::uint32_t readouts)
      : order_(order), first_(first), readouts_(readouts), choice_(order, first, readouts) {}

  // Finds the oldest slice that may send a request, and to which readout, by looking at all of them.
  [[nodiscard]] std::optional<std::uint32_t> plain() const {
    for (const auto& [line, left] : slices_) {
      std::vector<Candidate> candidates;
      for (std::uint32_t readout = 0; readout < readouts_.size(); ++readout) {
        if (left[readout] == 0) continue;
        candidates.push_back({readout, readouts_[readout].owed, left[readout], readouts_[readout].open});
      }
      const auto chosen = choose(order_, candidates, first_, static_cast<std::uint32_t>(readouts_.size()));
      if (chosen) return candidates[*chosen].readout;
    }
    return std::nullopt;
  }
  void change(std::uint64_t random) {
    const auto readout = static_cast<std::uint32_t>((random >> 8U) % readouts_.size());
    const std::uint64_t amount = (random >> 40U) % 4;  // small, so that many are equal
    switch (random % 8) {
      case 0:
        slices_.push_back({line_++, std::vector<std::uint64_t>(readouts_.size(), 1 + amount)});
        for (std::uint32_t i = 0; i < readouts_.size(); ++i) tell(i);
        return;
      case 1:
        readouts_[readout].open = !readouts_[readout].open;
        break;
      case 2:
      case 3:
        readouts_[readout].owed -= std::min(readouts_[readout].owed, amount);
        break;
      default:
        ask();
        return;
    }
    tell(readout);
  }
  // Requests some of the remaining bytes from the chosen readout.
  void ask() {
    const auto chosen = choice_.best();
    if (!chosen) return;
    const auto slice = first_wanting(*chosen);
    REQUIRE(slice != slices_.end());
    --slice->left[*chosen];
    ++readouts_[*chosen].owed;
    std::erase_if(slices_, [](const Line& line) {
      return std::all_of(line.left.begin(), line.left.end(), [](auto left) { return left == 0; });
    });
    tell(*chosen);
  }
  [[nodiscard]] const ReadoutChoice& choice() const { return choice_; }

 private:
  struct Line {
    std::uint64_t line = 0;
    std::vector<std::uint64_t> left;  // by readout
  };
  struct Readout {
    std::uint64_t owed = 0;
    bool open = true;
  };
  std::vector<Line>::iterator first_wanting(std::uint32_t readout) {
    return std::find_if(slices_.begin(), slices_.end(),
                        [&](const Line& line) { return line.left[readout] > 0; });
  }
  void tell(std::uint32_t readout) {
    const auto slice = first_wanting(readout);
    if (slice == slices_.end() || !readouts_[readout].open) return choice_.remove(readout);
    choice_.set(readout, {slice->line, readouts_[readout].owed, slice->left[readout]});
  }

  ReadoutOrder order_;
  std::uint32_t first_;
  std::vector<Readout> readouts_;
  std::vector<Line> slices_;
  std::uint64_t line_ = 0;
  ReadoutChoice choice_;
};

}  // namespace

TEST_CASE("in order, the first readout of the farm is requested first") {
  ReadoutChoice choice(ReadoutOrder::in_order, 2, 4);
  for (const std::uint32_t readout : {3U, 1U, 2U}) choice.set(readout, {0, 9 - readout, readout});
  CHECK(choice.best() == 1U);
}

TEST_CASE("rotated, every DCM begins with a different readout") {
  for (std::uint32_t first = 0; first < 4; ++first) {
    ReadoutChoice choice(ReadoutOrder::rotated, first, 4);
    for (std::uint32_t readout = 0; readout < 4; ++readout) choice.set(readout, {});
    CHECK(choice.best() == first);
  }
  ReadoutChoice choice(ReadoutOrder::rotated, 2, 4);
  choice.set(0, {});
  choice.set(1, {});
  CHECK(choice.best() == 0U);
}

TEST_CASE(
    "least loaded, the readout that owes least is chosen, then the one with most left, then as rotated") {
  ReadoutChoice choice(ReadoutOrder::least_loaded, 1, 2);
  choice.set(0, {0, 10, 0});
  choice.set(1, {0, 5, 0});
  CHECK(choice.best() == 1U);
  choice.set(0, {0, 5, 9});
  choice.set(1, {0, 5, 1});
  CHECK(choice.best() == 0U);
  choice.set(1, {0, 5, 9});
  CHECK(choice.best() == 1U);
}

TEST_CASE("the oldest slice goes ahead, whatever its readouts owe") {
  ReadoutChoice choice(ReadoutOrder::least_loaded, 0, 3);
  choice.set(0, {7, 0, 100});
  choice.set(1, {6, 1000, 1});
  CHECK(choice.best() == 1U);
}

TEST_CASE("an ineligible readout is skipped, and without an eligible one the choice is empty") {
  ReadoutChoice choice(ReadoutOrder::least_loaded, 0, 2);
  CHECK_FALSE(choice.best().has_value());
  choice.set(0, {});
  choice.set(1, {0, 9, 0});
  choice.remove(0);
  choice.remove(0);
  CHECK(choice.best() == 1U);
  choice.remove(1);
  CHECK_FALSE(choice.best().has_value());
}

TEST_CASE("in random states the choice equals that of a search through all candidates") {
  for (const auto order : {ReadoutOrder::in_order, ReadoutOrder::rotated, ReadoutOrder::least_loaded}) {
    for (std::uint32_t readouts = 1; readouts < 12; ++readouts) {
      Farm farm(order, readouts / 3, readouts);
      std::uint64_t state = readouts;
      for (int step = 0; step < 1500; ++step) {
        CAPTURE(static_cast<int>(order), readouts, step);
        farm.change(state = mix64(state));
        REQUIRE(farm.choice().best() == farm.plain());
      }
    }
  }
}

TEST_CASE("a request costs the logarithm of the number of readouts at most") {
  for (const std::uint32_t readouts : {4U, 16U, 64U, 256U}) {
    ReadoutChoice choice(ReadoutOrder::least_loaded, 1, readouts);
    constexpr std::uint64_t kRequests = 10'000;
    for (std::uint32_t readout = 0; readout < readouts; ++readout) choice.set(readout, {});
    const std::uint64_t before = choice.steps();
    std::uint64_t state = 1;
    for (std::uint64_t request = 0; request < kRequests; ++request) {
      state = mix64(state);
      choice.set(*choice.best(), {0, state % 1000, 0});
    }
    std::uint64_t depth = 1;
    while ((1U << depth) <= readouts) ++depth;
    CHECK(choice.steps() - before <= kRequests * (depth + 1));
  }
}

}  // namespace weir::shaping
