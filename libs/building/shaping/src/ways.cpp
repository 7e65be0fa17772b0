#include "ways.hpp"

#include "tuning.hpp"
#include <weir/base/assert.hpp>
#include <weir/shaping/shaper.hpp>

#include <algorithm>
#include <utility>

namespace weir::shaping {

using namespace tuning;

bool is_far(DurationNs time_ns, double rate) {
  return time_ns > kEpoch || (time_ns > kFar && static_cast<double>(time_ns) * rate > kBurst);
}

void Ways::recount(Way& way) {
  WEIR_ASSERT(way.counted <= elsewhere_);
  elsewhere_ -= way.counted;
  way.counted = way.silent ? way.owed : std::min(way.on_line, way.owed);
  elsewhere_ += way.counted;
}

void Ways::arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) {
  Way& way = ways_[readout];
  const DurationNs gap = way.owed > 0 ? now_ns - way.heard_ns : 0;
  if (gap >= way.gap_ns || now_ns - way.gap_until_ns > 2 * kTimeout) {
    way.gap_ns = gap;
    way.gap_until_ns = now_ns;
  }
  way.heard_ns = now_ns;
  way.silent = false;
  way.bytes += bytes;
}

void Ways::delay_next(Way& way, std::uint64_t bytes, TimeNs now_ns) {
  const auto apart_ns = static_cast<DurationNs>(static_cast<double>(bytes) / way.pace);
  way.next_ns = std::max(way.next_ns, now_ns - std::max(apart_ns, kFar)) + apart_ns;
}

DurationNs Ways::take_gap(std::uint32_t readout, TimeNs now_ns) {
  Way& way = ways_[readout];
  const DurationNs now = way.owed > 0 ? now_ns - way.heard_ns : 0;
  const DurationNs before = std::exchange(way.gap_ns, 0);
  return now_ns - way.gap_until_ns > 2 * kTimeout ? now : std::max(now, before);
}

void Ways::responded(std::uint32_t readout, DurationNs time_ns, DurationNs network_ns) {
  Way& way = ways_[readout];
  way.base_ns = way.base_ns == 0 ? network_ns : std::min(way.base_ns, network_ns);
  way.usual_ns = way.usual_ns == 0 ? time_ns : way.usual_ns + (time_ns - way.usual_ns) / DurationNs{kSome};
}

void Ways::lost(std::uint32_t readout) {
  Way& way = ways_[readout];
  WEIR_ASSERT(way.counted <= elsewhere_);
  elsewhere_ -= way.counted;
  WEIR_ASSERT(way.on_line <= on_lines_);
  on_lines_ -= way.on_line;
  way = {};
}

// Uses the recent rate, because a line is long and requests over it come in bursts.
void Ways::measure(DurationNs base_ns, double rate, double fair, TimeNs now_ns) {
  on_lines_ = 0;
  for (Way& way : ways_) {
    const DurationNs longer = way.base_ns - base_ns;
    const DurationNs over_ns = now_ns - way.since_ns;
    const bool far = is_far(longer, rate);
    if (!far) way.on_line = 0;
    if (far && over_ns >= way.base_ns) {
      way.rate = std::max(static_cast<double>(way.bytes) / static_cast<double>(over_ns), way.rate * kFade);
      way.pace = kFactor * std::max(way.rate, fair);
      way.on_line = static_cast<std::uint64_t>(way.pace * static_cast<double>(longer));
    }
    if (!far || over_ns >= way.base_ns) {
      way.bytes = 0;
      way.since_ns = now_ns;
      recount(way);
    }
    on_lines_ += way.on_line;
  }
}

void Ways::look(TimeNs now_ns) {
  for (Way& way : ways_) {
    const DurationNs usual_ns = std::max(kLookEvery, DurationNs{kSome} * way.usual_ns);
    const bool silent = way.owed > 0 && now_ns - way.heard_ns > usual_ns;
    if (silent == std::exchange(way.silent, silent)) continue;
    recount(way);
  }
}

}  // namespace weir::shaping
