#include <weir/base/assert.hpp>
#include <weir/filter_host/lane.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

// The input is written into the lane as a worker would: a result, and the bytes behind it. In every case an
// accepted result fulfils job.hpp's contract and all limits.
namespace {

using namespace weir;
using namespace weir::filter_host;

constexpr std::uint32_t kSources = 6;
constexpr std::uint64_t kToken = 7;

bool ascends(const std::vector<std::uint32_t>& sources) {
  return std::adjacent_find(sources.begin(), sources.end(), std::greater_equal<>()) == sources.end();
}

void check(const FilterResult& result, const FilterLimits& limits, std::uint64_t streams) {
  WEIR_ASSERT(result.token == kToken && result.verdict <= StepVerdict::forward);
  WEIR_ASSERT(result.events.size() <= limits.events_max &&
              result.event_bytes.size() <= limits.event_bytes_max);
  WEIR_ASSERT(result.filter_result.size() <= limits.filter_result_bytes_max);
  WEIR_ASSERT(result.error.size() <= LaneLayout::kErrorMax);
  if (result.verdict == StepVerdict::forward)
    WEIR_ASSERT(result.filter_result.size() <= WEIR_FORWARD_BYTES_MAX);
  if (result.verdict == StepVerdict::accept) {
    WEIR_ASSERT(result.streams != 0 && (result.streams & ~streams) == 0 && result.prescale >= 1);
    WEIR_ASSERT(result.keep <= Keep::none && ascends(result.keep_sources));
    for (const EventSpan& event : result.events)
      WEIR_ASSERT(std::uint64_t{event.offset} + event.size <= result.event_bytes.size());
  }
  if (result.verdict == StepVerdict::need_more && !result.need_all) {
    WEIR_ASSERT(!result.need_sources.empty() && ascends(result.need_sources));
    for (const std::uint32_t source : result.need_sources) WEIR_ASSERT(source < kSources && source % 2 == 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const FilterLimits limits{4096, 16, 1024, 20};
  const LaneLayout layout(1, kSources, limits);
  static std::byte* const memory =
      static_cast<std::byte*>(::operator new (layout.bytes, std::align_val_t{alignof(LaneHeader)}));
  const LaneView lane({memory, layout.bytes}, layout);
  new (memory) LaneHeader;
  if (size > 0) std::memcpy(&lane.result(0), data, std::min(size, sizeof(LaneResult)));
  for (const LanePlace place : {LanePlace::slot, LanePlace::spill, LanePlace::large}) {
    const Bytes to = lane.place(0, place);
    if (size > sizeof(LaneResult))
      std::memcpy(to.data(), data + sizeof(LaneResult), std::min(size - sizeof(LaneResult), to.size()));
  }
  std::vector<weir_filter_fragment> table(kSources);
  for (std::uint32_t source = 0; source < kSources; ++source) {
    table[source].source = source;
    table[source].status = source % 2 == 1 ? WEIR_FRAGMENT_NOT_REQUESTED : WEIR_FRAGMENT_OK;
  }
  weir_filter_slice slice = empty_slice();
  slice.fragments = table.data();
  slice.fragment_count = kSources;
  const StreamTable streams({"muons"});
  FilterResult result;
  TakenResult taken;
  constexpr std::uint32_t kCells = 100;
  if (!read_result(lane, 0, kToken, slice, limits, streams.mask(), result, taken, kCells)) return 0;
  check(result, limits, streams.mask());
  for (const histograms::Addition& one : result.fills)
    WEIR_ASSERT(one.cell < kCells && std::isfinite(one.amount));
  return 0;
}
