#include "weir_catch.hpp"
#include <weir/ports/utc_at.hpp>

#include <cstdlib>
#include <utility>
#include <vector>

using namespace weir;

namespace {

constexpr TimeNs kNow = 5 * kSecond;
constexpr UtcNs kUtc = 1'700'000'000 * kSecond;

// Each reading takes 20 ns, and then as long as `pauses` says, in turn.
class SlowClock final : public ports::Clock {
 public:
  explicit SlowClock(std::vector<DurationNs> pauses) : pauses_(std::move(pauses)) {}
  TimeNs now_ns() const override { return read(); }
  UtcNs utc_ns() const override { return kUtc + read() - kNow; }
  [[nodiscard]] std::size_t readings() const { return readings_; }

 private:
  TimeNs read() const {
    const TimeNs at = now_;
    now_ += 20 + (readings_ < pauses_.size() ? pauses_[readings_] : 0);
    ++readings_;
    return at;
  }

  std::vector<DurationNs> pauses_;
  mutable std::size_t readings_ = 0;
  mutable TimeNs now_ = kNow + 3 * kMillisecond;  // the pass has taken so long already
};

}  // namespace

TEST_CASE("UTC at the beginning of a pass does not depend on how long the pass has taken") {
  const SlowClock clock({});
  CHECK(ports::utc_at(clock, kNow) == kUtc);
  CHECK(clock.readings() == 3);
}

TEST_CASE("a process that stands still between two readings of the clocks reads them again") {
  constexpr DurationNs kPause = 30 * kMillisecond;
  const std::vector<DurationNs> pauses = GENERATE(
      std::vector<DurationNs>{kPause}, std::vector<DurationNs>{0, kPause},
      std::vector<DurationNs>{kPause, 0, 0, kPause}, std::vector<DurationNs>{kPause, kPause, kPause});
  const SlowClock clock(pauses);
  CHECK(ports::utc_at(clock, kNow) == kUtc);
}

TEST_CASE("a machine that never reads both clocks at once gets the best of five readings") {
  const SlowClock clock({kSecond, 0, kSecond, 0, kMillisecond, 0, kSecond, 0, kSecond, 0});
  CHECK(std::abs(ports::utc_at(clock, kNow) - kUtc) <= kMillisecond / 2);
  CHECK(clock.readings() == 11);
}
