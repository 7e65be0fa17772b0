#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/job.hpp>
#include <weir/weir_filter.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

// The memory that a DCM and one filter worker share (docs/protocols.md, "Filter workers"). Number n of a lane
// is in slot n mod slots.
//
//   header │ descriptions, each with its table │ results │ 16 KiB for each result │ trigger payloads │ large
//   area
//
// Pages of the last three are touched only when they are used.
namespace weir::filter_host {

// Exit status of a worker after `new` found no memory.
constexpr int kExitOutOfMemory = 86;

struct LaneCounter {
  static constexpr std::size_t kNameBytes = 104;
  std::atomic<std::uint64_t> value{0};
  std::array<char, kNameBytes> name{};  // ends with a zero byte
};

struct LaneHeader {
  static constexpr std::uint64_t kMagic = 0x314e41'4c524957;  // "WIRLAN1" in memory
  static constexpr std::uint32_t kVersion = 3;
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kCounters = FilterMetrics::kCountersMax;

  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  // Written by the DCM.
  alignas(kCacheLine) std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint32_t> dcm_asleep{0};
  // Written by the worker.
  alignas(kCacheLine) std::atomic<std::uint64_t> begun{0};
  std::atomic<std::int64_t> begun_ns{0};  // steady clock
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint32_t> worker_asleep{0};
  std::atomic<std::int64_t> cpu_ns{0};  // of the process, when it last had nothing to do
  // Of the filter, up to the last finished step.
  alignas(kCacheLine) std::atomic<std::uint32_t> counters{0};
  std::array<LaneCounter, kCounters> counter;
};

enum class LaneKind : std::uint32_t { step = 0, forget = 1 };

// A slice, or state to drop. Its table follows: weir_filter_fragment, with `data` as an offset into slice
// memory plus 1.
struct LaneDescription {
  std::uint64_t token = 0;
  LaneKind kind = LaneKind::step;
  std::uint32_t run = 0;
  std::uint64_t slice = 0;
  std::uint32_t attempt = 0;
  std::uint32_t step = 0;
  std::int64_t trigger_time_utc_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint32_t trigger_type = 0;
  std::uint32_t trigger_payload_size = 0;
  std::uint32_t flags = 0;
  std::uint32_t rows = 0;
  std::uint32_t forwarded_size = 0;  // bytes behind the payload
  std::uint32_t reserved = 0;
};

enum class LanePlace : std::uint32_t { slot = 0, spill = 1, large = 2 };

// Bytes follow in `place`: histogram entries, kept sources, needed sources, sources to prefetch, events,
// their bytes, filter result, error, alert (its two times, then its reason).
struct LaneResult {
  std::uint64_t token = 0;
  std::uint32_t verdict = 0;
  std::uint32_t keep = 0;
  std::uint64_t streams = 0;
  std::uint64_t prescale_counter = 0;
  std::uint32_t prescale = 1;
  std::uint32_t need_all = 0;
  std::uint32_t holds_state = 0;
  LanePlace place = LanePlace::slot;
  std::uint32_t keep_count = 0;
  std::uint32_t need_count = 0;
  std::uint32_t event_count = 0;
  std::uint32_t filter_result_bytes = 0;
  std::uint64_t event_bytes = 0;
  std::uint32_t error_bytes = 0;
  std::uint32_t forward_group = 0;
  std::uint32_t prefetch_count = 0;
  std::uint32_t fill_count = 0;
  std::uint32_t alert_bytes = 0;  // 0: none
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;

  [[nodiscard]] std::uint64_t bytes() const;
};

// Where the parts of a lane are.
struct LaneLayout {
  static constexpr std::uint32_t kPayloadMax = 64 * 1024;  // bytes of a trigger's payload
  static constexpr std::uint32_t kHeadMax = kPayloadMax + WEIR_FORWARD_BYTES_MAX;  // with what was forwarded
  static constexpr std::size_t kResultBytes = 512;  // of a slot, header included
  static constexpr std::size_t kSpillBytes = 16 * 1024;
  static constexpr std::uint32_t kListMax = 1U << 20;  // sources to keep or to ask for
  static constexpr std::uint32_t kErrorMax = 4096;
  static constexpr std::uint32_t kAlertTimesBytes = 2 * sizeof(std::int64_t);

  LaneLayout() = default;
  LaneLayout(std::uint32_t slots, std::uint32_t rows_max, const FilterLimits& limits);

  std::uint32_t slots = 0;
  std::uint32_t rows_max = 0;
  std::size_t description_bytes = 0;  // of one, with its table
  std::size_t descriptions = 0;       // offsets of the parts
  std::size_t results = 0;
  std::size_t spills = 0;
  std::size_t payloads = 0;
  std::size_t large = 0;
  std::size_t large_bytes = 0;
  std::size_t bytes = 0;
};

// A mapped lane. Checks no number that the other side wrote.
class LaneView {
 public:
  LaneView() = default;
  LaneView(Bytes memory, const LaneLayout& layout) : memory_(memory), layout_(layout) {}

  [[nodiscard]] const LaneLayout& layout() const { return layout_; }
  [[nodiscard]] LaneHeader& header() const { return *reinterpret_cast<LaneHeader*>(memory_.data()); }
  [[nodiscard]] LaneDescription& description(std::uint64_t n) const {
    return *reinterpret_cast<LaneDescription*>(at(layout_.descriptions, layout_.description_bytes, n));
  }
  [[nodiscard]] weir_filter_fragment* rows(std::uint64_t n) const {
    return reinterpret_cast<weir_filter_fragment*>(&description(n) + 1);
  }
  [[nodiscard]] std::byte* payload(std::uint64_t n) const {
    return at(layout_.payloads, LaneLayout::kHeadMax, n);
  }
  [[nodiscard]] LaneResult& result(std::uint64_t n) const {
    return *reinterpret_cast<LaneResult*>(at(layout_.results, LaneLayout::kResultBytes, n));
  }
  // The bytes of a result in this place.
  [[nodiscard]] Bytes place(std::uint64_t n, LanePlace place) const;
  // The smallest place that holds so many bytes; it must be at most large_bytes.
  [[nodiscard]] LanePlace place_for(std::uint64_t bytes) const;

 private:
  [[nodiscard]] std::byte* at(std::size_t part, std::size_t stride, std::uint64_t n) const {
    return memory_.data() + part + stride * static_cast<std::size_t>(n % layout_.slots);
  }

  Bytes memory_;
  LaneLayout layout_;
};

// ---- the DCM's side

// Writes a step of a slice. Its fragments' bytes are in `slice_memory`.
void write_description(const LaneView& lane, std::uint64_t n, std::uint64_t token,
                       const weir_filter_slice& slice, ConstBytes slice_memory);
void write_forget(const LaneView& lane, std::uint64_t n, std::uint64_t token);

struct TakenResult {
  bool holds_state = false;
};
// Copies a result and checks the copy: it may be anything. `histogram_cells`: cells that the worker has
// booked. False: impossible.
[[nodiscard]] bool read_result(const LaneView& lane, std::uint64_t n, std::uint64_t token,
                               const weir_filter_slice& slice, const FilterLimits& limits,
                               std::uint64_t streams, FilterResult& out, TakenResult& taken,
                               std::uint32_t histogram_cells = 0);

// ---- the worker's side

// The view of a step; the table is translated in the lane.
[[nodiscard]] weir_filter_slice read_description(const LaneView& lane, std::uint64_t n,
                                                 ConstBytes slice_memory);
void write_result(const LaneView& lane, std::uint64_t n, const FilterResult& result, bool holds_state,
                  LanePlace place);
[[nodiscard]] std::uint64_t result_bytes(const FilterResult& result);

}  // namespace weir::filter_host
