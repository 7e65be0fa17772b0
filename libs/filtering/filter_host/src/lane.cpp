#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/lane.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace weir::filter_host {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// Copies one array after the other.
class Writer {
 public:
  explicit Writer(Bytes to) : to_(to) {}
  void put(const void* from, std::size_t size) {
    if (size == 0) return;
    std::memcpy(to_.data() + at_, from, size);
    at_ += size;
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(items.data(), items.size() * sizeof(T));
  }

 private:
  Bytes to_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(ConstBytes from) : from_(from) {}
  template <class T>
  void take(std::vector<T>& items, std::size_t count) {
    items.resize(count);
    take(items.data(), count * sizeof(T));
  }
  void take(void* to, std::size_t size) {
    if (size == 0) return;
    std::memcpy(to, from_.data() + at_, size);
    at_ += size;
  }

 private:
  ConstBytes from_;
  std::size_t at_ = 0;
};

bool ascends(const std::vector<std::uint32_t>& sources) {
  return std::adjacent_find(sources.begin(), sources.end(), std::greater_equal<>()) == sources.end();
}

bool within_limits(const LaneResult& result, const LaneLayout& layout, const FilterLimits& limits) {
  if (result.keep_count > LaneLayout::kListMax || result.need_count > LaneLayout::kListMax) return false;
  if (result.prefetch_count > LaneLayout::kListMax) return false;
  if (result.fill_count > histograms::kCellsMax) return false;
  if (result.event_count > limits.events_max || result.event_bytes > limits.event_bytes_max) return false;
  if (result.filter_result_bytes > limits.filter_result_bytes_max) return false;
  if (result.error_bytes > LaneLayout::kErrorMax) return false;
  if (result.alert_bytes > LaneLayout::kAlertTimesBytes + AlertRequest::kReasonMax) return false;
  if (result.alert_bytes > 0 && result.alert_bytes < LaneLayout::kAlertTimesBytes) return false;
  std::uint64_t room = 0;
  switch (result.place) {
    case LanePlace::slot:
      room = LaneLayout::kResultBytes - sizeof(LaneResult);
      break;
    case LanePlace::spill:
      room = LaneLayout::kSpillBytes;
      break;
    case LanePlace::large:
      room = layout.large_bytes;
      break;
    default:
      return false;
  }
  return result.bytes() <= room;
}

bool fills_make_sense(const std::vector<histograms::Addition>& fills, std::uint32_t cells) {
  return std::all_of(fills.begin(), fills.end(), [cells](const histograms::Addition& one) {
    return one.cell < cells && std::abs(one.amount) <= histograms::kStepSumMax;
  });
}

bool alert_makes_sense(const AlertRequest& alert) {
  constexpr std::int64_t kMax = AlertRequest::kWindowMsMax;
  return std::abs(alert.before_ms) <= kMax && std::abs(alert.after_ms) <= kMax &&
         clean_text(alert.reason, AlertRequest::kReasonMax) == alert.reason;
}

bool accept_makes_sense(const FilterResult& result, std::uint32_t keep, std::uint64_t streams) {
  if (keep > WEIR_KEEP_NONE || result.streams == 0 || (result.streams & ~streams) != 0) return false;
  if (result.prescale == 0 || !ascends(result.keep_sources)) return false;
  return std::all_of(result.events.begin(), result.events.end(), [&](const EventSpan& event) {
    return std::uint64_t{event.offset} + event.size <= result.event_bytes.size();
  });
}

bool need_makes_sense(const FilterResult& result, const weir_filter_slice& slice) {
  const auto wanted = [](const weir_filter_fragment* fragment) {
    return fragment != nullptr && fragment->status == WEIR_FRAGMENT_NOT_REQUESTED;
  };
  const auto all_wanted = [&](const std::vector<std::uint32_t>& sources) {
    return ascends(sources) && std::all_of(sources.begin(), sources.end(), [&](std::uint32_t source) {
             return wanted(weir_filter_find(&slice, source));
           });
  };
  if (!result.need_all) {
    return !result.need_sources.empty() && all_wanted(result.need_sources) &&
           all_wanted(result.prefetch_sources);
  }
  if (!result.prefetch_sources.empty()) return false;
  for (std::uint32_t i = 0; i < slice.fragment_count; ++i) {
    if (wanted(weir_filter_fragment_at(&slice, i))) return true;
  }
  return false;
}

}  // namespace

std::uint64_t LaneResult::bytes() const {
  return std::uint64_t{sizeof(std::uint32_t)} * (std::uint64_t{keep_count} + need_count + prefetch_count) +
         sizeof(histograms::Addition) * std::uint64_t{fill_count} +
         sizeof(EventSpan) * std::uint64_t{event_count} + event_bytes + filter_result_bytes + error_bytes +
         alert_bytes;
}

LaneLayout::LaneLayout(std::uint32_t slots_, std::uint32_t rows_max_, const FilterLimits& limits)
    : slots(slots_), rows_max(rows_max_) {
  description_bytes = round_up(sizeof(LaneDescription) + sizeof(weir_filter_fragment) * std::size_t{rows_max},
                               LaneHeader::kCacheLine);
  descriptions = round_up(sizeof(LaneHeader), kPage);
  results = round_up(descriptions + description_bytes * slots, kPage);
  spills = round_up(results + kResultBytes * slots, kPage);
  payloads = spills + kSpillBytes * slots;
  large = round_up(payloads + std::size_t{kHeadMax} * slots, kPage);
  large_bytes = round_up(sizeof(histograms::Addition) * histograms::kCellsMax +
                             2 * sizeof(std::uint32_t) * std::size_t{kListMax} +
                             sizeof(EventSpan) * std::size_t{limits.events_max} + limits.event_bytes_max +
                             limits.filter_result_bytes_max + kErrorMax,
                         kPage);
  bytes = large + large_bytes;
}

Bytes LaneView::place(std::uint64_t n, LanePlace place) const {
  switch (place) {
    case LanePlace::slot:
      return {reinterpret_cast<std::byte*>(&result(n) + 1), LaneLayout::kResultBytes - sizeof(LaneResult)};
    case LanePlace::spill:
      return {at(layout_.spills, LaneLayout::kSpillBytes, n), LaneLayout::kSpillBytes};
    case LanePlace::large:
      break;
  }
  return memory_.subspan(layout_.large, layout_.large_bytes);
}

LanePlace LaneView::place_for(std::uint64_t bytes) const {
  if (bytes <= LaneLayout::kResultBytes - sizeof(LaneResult)) return LanePlace::slot;
  return bytes <= LaneLayout::kSpillBytes ? LanePlace::spill : LanePlace::large;
}

void write_description(const LaneView& lane, std::uint64_t n, std::uint64_t token,
                       const weir_filter_slice& slice, ConstBytes slice_memory) {
  WEIR_ASSERT(slice.fragment_count <= lane.layout().rows_max);
  WEIR_ASSERT(slice.trigger_payload_size <= LaneLayout::kPayloadMax);
  WEIR_ASSERT(slice.forwarded_size <= WEIR_FORWARD_BYTES_MAX);
  LaneDescription& out = lane.description(n);
  out = {token,
         LaneKind::step,
         slice.run,
         slice.slice,
         slice.attempt,
         slice.step,
         slice.trigger_time_utc_ns,
         slice.duration_ns,
         slice.trigger_type,
         slice.trigger_payload_size,
         slice.flags,
         slice.fragment_count,
         slice.forwarded_size};
  if (slice.trigger_payload_size > 0)
    std::memcpy(lane.payload(n), slice.trigger_payload, slice.trigger_payload_size);
  if (slice.forwarded_size > 0)
    std::memcpy(lane.payload(n) + slice.trigger_payload_size, slice.forwarded, slice.forwarded_size);
  weir_filter_fragment* rows = lane.rows(n);
  for (std::uint32_t i = 0; i < slice.fragment_count; ++i) {
    rows[i] = *weir_filter_fragment_at(&slice, i);
    if (rows[i].data == nullptr) continue;
    const auto offset =
        static_cast<std::uint64_t>(static_cast<const std::byte*>(rows[i].data) - slice_memory.data());
    WEIR_ASSERT(offset + rows[i].length <= slice_memory.size());
    rows[i].data = reinterpret_cast<const void*>(offset + 1);
  }
}

void write_forget(const LaneView& lane, std::uint64_t n, std::uint64_t token) {
  lane.description(n) = LaneDescription{};
  lane.description(n).token = token;
  lane.description(n).kind = LaneKind::forget;
}

bool read_result(const LaneView& lane, std::uint64_t n, std::uint64_t token, const weir_filter_slice& slice,
                 const FilterLimits& limits, std::uint64_t streams, FilterResult& out, TakenResult& taken,
                 std::uint32_t histogram_cells) {
  const LaneResult in = lane.result(n);  // a copy: the worker may write while it is checked
  out.clear();
  out.token = token;
  if (in.token != token || in.verdict > static_cast<std::uint32_t>(StepVerdict::forward)) return false;
  if (!within_limits(in, lane.layout(), limits)) return false;
  Reader reader(lane.place(n, in.place));
  if (in.fill_count > 0) reader.take(out.fills, in.fill_count);
  reader.take(out.keep_sources, in.keep_count);
  reader.take(out.need_sources, in.need_count);
  reader.take(out.prefetch_sources, in.prefetch_count);
  reader.take(out.events, in.event_count);
  reader.take(out.event_bytes, static_cast<std::size_t>(in.event_bytes));
  reader.take(out.filter_result, in.filter_result_bytes);
  out.error.resize(in.error_bytes);
  reader.take(out.error.data(), in.error_bytes);
  if (in.alert_bytes > 0) {
    AlertRequest& alert = out.alert.emplace();
    reader.take(&alert.before_ms, sizeof alert.before_ms);
    reader.take(&alert.after_ms, sizeof alert.after_ms);
    alert.reason.resize(in.alert_bytes - LaneLayout::kAlertTimesBytes);
    reader.take(alert.reason.data(), alert.reason.size());
    if (!alert_makes_sense(alert)) return false;
  }
  out.verdict = static_cast<StepVerdict>(in.verdict);
  out.keep = static_cast<Keep>(in.keep);
  out.streams = in.streams;
  out.prescale = in.prescale;
  out.prescale_counter = in.prescale_counter;
  out.need_all = in.need_all != 0;
  out.forward_group = in.forward_group;
  out.wall_ns = in.wall_ns;
  out.cpu_ns = in.cpu_ns;
  taken.holds_state = in.holds_state != 0;
  if (!fills_make_sense(out.fills, histogram_cells)) return false;
  if (out.verdict == StepVerdict::accept) return accept_makes_sense(out, in.keep, streams);
  if (out.verdict == StepVerdict::forward) return out.filter_result.size() <= WEIR_FORWARD_BYTES_MAX;
  return out.verdict != StepVerdict::need_more || need_makes_sense(out, slice);
}

weir_filter_slice read_description(const LaneView& lane, std::uint64_t n, ConstBytes slice_memory) {
  const LaneDescription& in = lane.description(n);
  weir_filter_slice slice = empty_slice();
  slice.run = in.run;
  slice.slice = in.slice;
  slice.attempt = in.attempt;
  slice.step = in.step;
  slice.trigger_time_utc_ns = in.trigger_time_utc_ns;
  slice.duration_ns = in.duration_ns;
  slice.trigger_type = in.trigger_type;
  slice.trigger_payload_size = in.trigger_payload_size;
  slice.trigger_payload = in.trigger_payload_size == 0 ? nullptr : lane.payload(n);
  slice.forwarded_size = in.forwarded_size;
  slice.forwarded = in.forwarded_size == 0 ? nullptr : lane.payload(n) + in.trigger_payload_size;
  slice.flags = in.flags;
  slice.fragment_count = in.rows;
  weir_filter_fragment* rows = lane.rows(n);
  for (std::uint32_t i = 0; i < in.rows; ++i) {
    if (rows[i].data != nullptr)
      rows[i].data = slice_memory.data() + (reinterpret_cast<std::uint64_t>(rows[i].data) - 1);
  }
  slice.fragments = rows;
  return slice;
}

namespace {

std::uint32_t alert_bytes_of(const FilterResult& result) {
  if (!result.alert) return 0;
  return LaneLayout::kAlertTimesBytes + static_cast<std::uint32_t>(result.alert->reason.size());
}

}  // namespace

std::uint64_t result_bytes(const FilterResult& result) {
  return sizeof(std::uint32_t) *
             (result.keep_sources.size() + result.need_sources.size() + result.prefetch_sources.size()) +
         sizeof(histograms::Addition) * result.fills.size() + sizeof(EventSpan) * result.events.size() +
         result.event_bytes.size() + result.filter_result.size() +
         std::min<std::size_t>(result.error.size(), LaneLayout::kErrorMax) + alert_bytes_of(result);
}

void write_result(const LaneView& lane, std::uint64_t n, const FilterResult& result, bool holds_state,
                  LanePlace place) {
  LaneResult& out = lane.result(n);
  out.token = result.token;
  out.verdict = static_cast<std::uint32_t>(result.verdict);
  out.keep = static_cast<std::uint32_t>(result.keep);
  out.streams = result.streams;
  out.prescale_counter = result.prescale_counter;
  out.prescale = result.prescale;
  out.need_all = result.need_all ? 1 : 0;
  out.forward_group = result.forward_group;
  out.holds_state = holds_state ? 1 : 0;
  out.place = place;
  out.keep_count = static_cast<std::uint32_t>(result.keep_sources.size());
  out.need_count = static_cast<std::uint32_t>(result.need_sources.size());
  out.prefetch_count = static_cast<std::uint32_t>(result.prefetch_sources.size());
  out.fill_count = static_cast<std::uint32_t>(result.fills.size());
  out.event_count = static_cast<std::uint32_t>(result.events.size());
  out.event_bytes = result.event_bytes.size();
  out.filter_result_bytes = static_cast<std::uint32_t>(result.filter_result.size());
  out.error_bytes =
      static_cast<std::uint32_t>(std::min<std::size_t>(result.error.size(), LaneLayout::kErrorMax));
  out.alert_bytes = alert_bytes_of(result);
  out.wall_ns = result.wall_ns;
  out.cpu_ns = result.cpu_ns;
  Writer writer(lane.place(n, place));
  writer.put(result.fills);
  writer.put(result.keep_sources);
  writer.put(result.need_sources);
  writer.put(result.prefetch_sources);
  writer.put(result.events);
  writer.put(result.event_bytes);
  writer.put(result.filter_result);
  writer.put(result.error.data(), out.error_bytes);
  if (!result.alert) return;
  writer.put(&result.alert->before_ms, sizeof result.alert->before_ms);
  writer.put(&result.alert->after_ms, sizeof result.alert->after_ms);
  writer.put(result.alert->reason.data(), result.alert->reason.size());
}

}  // namespace weir::filter_host
