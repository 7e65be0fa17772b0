#include <weir/base/assert.hpp>
#include <weir/source/time_windows.hpp>

#include <algorithm>

namespace weir::source {

TimeWindow window_of(const Trigger& trigger, const WindowSettings& settings) {
  const bool event = trigger.duration == 0;
  return {trigger.slice, trigger.time, trigger.duration, event ? settings.before_ns : settings.overlap_ns,
          event ? settings.after_ns : settings.overlap_ns};
}

DurationNs ArrivalDelays::median() const {
  WEIR_ASSERT(!samples_.empty());
  std::vector<DurationNs> sorted = samples_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

TimeWindows::TimeWindows(std::span<const SourceId> sources, const WindowSettings& settings)
    : settings_(settings) {
  for (const SourceId source : sources) {
    WEIR_ASSERT(rings_.empty() || rings_.back().ring.source() < source);
    const auto offset = settings.offsets.find(source);
    rings_.push_back(
        {TimeRing(source, settings.ring), offset == settings.offsets.end() ? 0 : offset->second, {}});
  }
}

TimeWindows::OneSource& TimeWindows::ring(SourceId source) {
  const auto at = std::lower_bound(rings_.begin(), rings_.end(), source,
                                   [](const OneSource& a, SourceId b) { return a.ring.source() < b; });
  WEIR_ASSERT(at != rings_.end() && at->ring.source() == source);
  return *at;
}

void TimeWindows::begin_run(std::optional<UtcNs> from) {
  made_.clear();
  for (OneSource& one : rings_) {
    one.ring.begin_run(from);
    one.delays.clear();
  }
}

void TimeWindows::end_run() {
  made_.clear();
  for (OneSource& one : rings_) one.ring.end_run();
}

void TimeWindows::add(SourceId source, Piece piece, UtcNs utc) {
  OneSource& one = ring(source);
  const bool wraps = __builtin_add_overflow(piece.time, one.offset, &piece.time);
  if (wraps) return one.ring.drop(PieceDrop::bad_time);
  if (piece.time >= 0 && piece.duration >= 0 && piece.duration <= TimeRing::kDurationMax &&
      piece.time <= utc + TimeRing::kAheadMax) {
    one.delays.add(utc - (piece.time + piece.duration));
  }
  one.ring.add(std::move(piece), utc, made_);
}

void TimeWindows::pass(SourceId source, UtcNs time, bool gap, UtcNs utc) {
  OneSource& one = ring(source);
  if (__builtin_add_overflow(time, one.offset, &time)) return;
  one.ring.pass(time, gap, utc, made_);
}

void TimeWindows::announced(std::span<const Trigger> triggers) {
  for (const Trigger& trigger : triggers) {
    const TimeWindow window = window_of(trigger, settings_);
    for (OneSource& one : rings_) one.ring.open(window, made_);
  }
}

void TimeWindows::close(SliceId slice) {
  for (OneSource& one : rings_) one.ring.close(slice);
}

PieceCounters TimeWindows::counters() const {
  PieceCounters all;
  for (const OneSource& one : rings_) {
    const PieceCounters& from = one.ring.counters();
    all.received += from.received;
    all.placed += from.placed;
    all.unplaced += from.unplaced;
    for (std::size_t i = 0; i < kPieceDrops; ++i) all.dropped[i] += from.dropped[i];
    all.held += from.held;
    all.bytes_held += from.bytes_held;
    all.copies += from.copies;
    all.windows += from.windows;
    all.forced += from.forced;
    all.cut += from.cut;
  }
  return all;
}

}  // namespace weir::source
