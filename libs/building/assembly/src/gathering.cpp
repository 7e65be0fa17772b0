#include <weir/assembly/gathering.hpp>
#include <weir/base/assert.hpp>

#include <utility>

namespace weir::assembly {

void Gathering::begin(std::uint32_t readouts, std::shared_ptr<const Selection> asked, std::uint64_t place) {
  if (has_begun()) {
    clear_ranges();
  } else {
    parts.assign(readouts, {});
    ranges.clear();
    ranges_left = 0;
  }
  selection = std::move(asked);
  order = place;
  ahead = false;
}

void Gathering::end() {
  selection.reset();
  next.reset();
  hint.reset();
  ahead = false;
}

void Gathering::clear_ranges() {
  ranges.clear();
  ranges_left = 0;
  for (Part& part : parts) {
    part.first_range = part.last_range = kNone;
    part.range_bytes = 0;
  }
}

void Gathering::add_range(std::uint32_t readout, const Range& range) {
  Part& part = parts[readout];
  const auto index = static_cast<std::uint32_t>(ranges.size());
  ranges.push_back(range);
  ++ranges_left;
  (part.first_range == kNone ? part.first_range : ranges[part.last_range].next) = index;
  part.last_range = index;
  part.range_bytes += range.length;
}

void Gathering::drop_first_range(std::uint32_t readout) {
  Part& part = parts[readout];
  const Range& range = ranges[part.first_range];
  WEIR_ASSERT(range.length <= part.range_bytes);
  part.range_bytes -= range.length;
  part.first_range = range.next;
  if (part.first_range == kNone) part.last_range = kNone;
  if (--ranges_left == 0) ranges.clear();
}

void Gathering::take_from_first_range(std::uint32_t readout, std::uint32_t bytes) {
  Part& part = parts[readout];
  Range& range = ranges[part.first_range];
  if (bytes >= range.length) return drop_first_range(readout);
  range.offset += bytes;
  WEIR_ASSERT(bytes <= range.length);
  range.length -= bytes;
  WEIR_ASSERT(bytes <= part.range_bytes);
  part.range_bytes -= bytes;
}

}  // namespace weir::assembly
