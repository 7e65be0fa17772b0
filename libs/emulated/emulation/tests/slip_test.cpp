#include "weir_catch.hpp"
#include <weir/emulation/dummy_source.hpp>
#include <weir/emulation/slip.hpp>

#include <utility>
#include <vector>

using namespace weir;
using namespace weir::emulation;

namespace {

struct Seen {
  std::vector<std::int64_t> counters;  // less the slice's number
  std::vector<std::int64_t> times;     // less the slice's time
  std::vector<bool> own_data;
};

// Plays slices 5 to 9, 1000 ns apart; the slip is at 7.
Seen play(SlipKind kind) {
  const auto group = std::make_shared<DummyGroup>(DummySettings{}, false);
  SlippingSource source(std::make_unique<DummySource>(SourceId(3), group), {kind, SliceId(7), 10});
  source.begin_run(RunNumber(1));
  Seen seen;
  for (std::uint64_t slice = 5; slice < 10; ++slice) {
    const source::Trigger trigger{SliceId(slice), static_cast<UtcNs>(slice) * 1000, 0, {}};
    const auto fragment = source.produce(trigger);
    const Stamp stamp = source.stamp(trigger);
    seen.counters.push_back(static_cast<std::int64_t>(stamp.counter - slice));
    seen.times.push_back(stamp.time - trigger.time);
    seen.own_data.push_back(
        DummyVerifier().verify(RunNumber(1), SourceId(3), trigger.slice, fragment.bytes).has_value());
  }
  return seen;
}

using Numbers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("each kind of slip begins at its slice, in the counter, the time or the data") {
  const Numbers none{0, 0, 0, 0, 0};
  const std::vector<bool> own{true, true, true, true, true};
  const auto counts = [&](SlipKind kind, const Numbers& expected) {
    const Seen seen = play(kind);
    INFO(name(kind));
    CHECK(seen.counters == expected);
    CHECK(seen.times == none);
    CHECK(seen.own_data == own);
  };
  counts(SlipKind::none, none);
  counts(SlipKind::miss, {0, 0, -1, -1, -1});
  counts(SlipKind::twice, {0, 0, 1, 1, 1});
  counts(SlipKind::restart, {0, 0, -7, -7, -7});
  counts(SlipKind::jump, {0, 0, 16, 16, 16});
  const Seen lag = play(SlipKind::lag);
  CHECK(lag.counters == Numbers{0, 0, -1, -1, -1});
  CHECK(lag.times == Numbers{0, 0, -1000, -1000, -1000});
  CHECK(lag.own_data == std::vector<bool>{true, true, false, false, false});
  const Seen drift = play(SlipKind::drift);
  CHECK(drift.counters == none);
  CHECK(drift.times == Numbers{0, 0, 10, 20, 30});
}
