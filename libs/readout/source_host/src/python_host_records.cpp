// PythonHost: records that arrive in the lane.
#include "python_host.hpp"
#include <weir/clock/clock.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace weir::source_host {
namespace {

using host_watch::HostWatch;

constexpr std::size_t kRecordsPerPoll = 4096;
constexpr std::size_t kBytesPerPoll = std::size_t{8} << 20;
constexpr std::size_t kTextMax = 64 * 1024;
constexpr DurationNs kReportEvery = 100 * kMillisecond;

void free_bytes(void* owner) { std::free(owner); }

}  // namespace

bool PythonHost::drain() {
  LaneReader& lane = process_->lane();
  std::size_t bytes = 0;
  for (std::size_t records = 0; records < kRecordsPerPoll && bytes < kBytesPerPoll; ++records) {
    LaneRecord record;
    const LaneReader::Read read = lane.next(record);
    if (read == LaneReader::Read::corrupt && watch_.state() != HostWatch::State::ending) {
      refusal_ = "its lane holds nonsense";
      watch_.condemn();
      process_->child().kill(true);
    }
    if (read != LaneReader::Read::record) {
      lane.release();
      lane.ring();
      return true;
    }
    bytes += sizeof record + record.length;
    take(record);
  }
  lane.release();
  lane.ring();
  return false;
}

void PythonHost::take(const LaneRecord& record) {
  if (record.kind == RecordKind::fragment) return take_fragment(record, {});
  if (record.kind == RecordKind::stamped) return take_stamped(record);
  const std::string text = take_text(record);
  switch (record.kind) {
    case RecordKind::failed:
      return take_failure(record.source, record.slice, text);
    case RecordKind::log:
      return log(static_cast<std::int32_t>(record.status), text);
    case RecordKind::ready:
      return take_ready(record.status, text);
    case RecordKind::refused:
      refusal_ = text;
      return watch_.condemn();
    case RecordKind::begun:
      return watch_.begun(process_->lane().asked(), awake_now_ns());
    case RecordKind::ended:
      run_ended_ = true;
      run_error_ = text;
      return;
    case RecordKind::count:
      return host_.count(&host_, host_.counter(&host_, text.c_str()), record.slice);
    case RecordKind::passed:
      return take_passed(record);
    case RecordKind::fault:
      return host_.fault(&host_, text.c_str());
    default:
      return;
  }
}

std::string PythonHost::take_text(const LaneRecord& record) {
  std::string text(std::min<std::size_t>(record.length, kTextMax), '\0');
  if (record.length <= kTextMax) {
    process_->lane().take_bytes(reinterpret_cast<std::byte*>(text.data()), text.size());
  } else {
    process_->lane().take_bytes(nullptr, record.length);
    text = "a text of " + std::to_string(record.length) + " bytes";
  }
  return text;
}

void PythonHost::take_ready(std::uint32_t status, const std::string& text) {
  watch_.ready((status & 1U) != 0);
  log(WEIR_SOURCE_LOG_INFO, "host ready pid=" + std::to_string(process_->child().pid()) + " " + text);
  if (in_run_ && !run_ended_) begin();
}

void PythonHost::take_stamped(LaneRecord record) {
  LaneStamp stamp;
  if (record.length < sizeof stamp) return process_->lane().take_bytes(nullptr, record.length);
  static_assert(sizeof stamp % 8 == 0);  // what follows begins where a record's bytes may
  process_->lane().take_bytes(reinterpret_cast<std::byte*>(&stamp), sizeof stamp);
  record.length -= static_cast<std::uint32_t>(sizeof stamp);
  take_fragment(record, stamp);
}

void PythonHost::take_fragment(const LaneRecord& record, const LaneStamp& stamp) {
  weir_source_fragment fragment{};
  fragment.struct_size = sizeof fragment;
  fragment.source = record.source;
  fragment.slice = record.slice;
  fragment.status = static_cast<std::uint8_t>(std::min<std::uint32_t>(record.status, UINT8_MAX));
  if ((stamp.has & LaneStamp::kCounter) != 0) fragment.flags |= WEIR_SOURCE_HAS_COUNTER;
  if ((stamp.has & LaneStamp::kTime) != 0) fragment.flags |= WEIR_SOURCE_HAS_TIME;
  fragment.counter = stamp.counter;
  fragment.time_ns = stamp.time_ns;
  fragment.duration_ns = stamp.duration_ns;
  const auto* place =
      std::lower_bound(readout_.sources, readout_.sources + readout_.source_count, record.source);
  const bool known = place != readout_.sources + readout_.source_count && *place == record.source;
  if (fragment.status == WEIR_SOURCE_MISSING) {
    process_->lane().take_bytes(nullptr, record.length);
    fragment.missing_reason = WEIR_SOURCE_NOT_PRODUCED;
  } else if (record.length > readout_.fragment_bytes_max) {
    process_->lane().take_bytes(nullptr, record.length);
    take_failure(record.source, record.slice,
                 "too long: " + std::to_string(record.length) + " bytes, and dcm.fragment_bytes_max is " +
                     std::to_string(readout_.fragment_bytes_max));
    return;
  } else {
    auto* bytes = static_cast<std::byte*>(std::malloc(std::max<std::size_t>(record.length, 1)));
    if (bytes == nullptr) throw std::bad_alloc();
    process_->lane().take_bytes(bytes, record.length);
    fragment.data = bytes;
    fragment.length = record.length;
    fragment.release = &free_bytes;
    fragment.owner = bytes;
  }
  if (known) ++tallies_[static_cast<std::size_t>(place - readout_.sources)].reached;
  (void)host_.deliver(&host_, &fragment);
}

// The first progress after a restart of the host does not show whether data were lost meanwhile.
void PythonHost::take_passed(const LaneRecord& record) {
  const auto* place =
      std::lower_bound(readout_.sources, readout_.sources + readout_.source_count, record.source);
  if (place == readout_.sources + readout_.source_count || *place != record.source) return;
  Tally& tally = tallies_[static_cast<std::size_t>(place - readout_.sources)];
  const bool gap = record.status != 0 || std::exchange(tally.restarted, false);
  host_.time_passed(&host_, record.source, static_cast<std::int64_t>(record.slice),
                    gap ? WEIR_SOURCE_GAP : WEIR_SOURCE_NOT_PRODUCED);
}

// `text` begins with "too long" if the source has made the fragment.
void PythonHost::take_failure(std::uint32_t source, std::uint64_t slice, const std::string& text) {
  const bool too_long = text.starts_with("too long");
  const Lost lost = too_long ? kTooLong : kException;
  count(lost);
  const auto* place = std::lower_bound(readout_.sources, readout_.sources + readout_.source_count, source);
  if (place != readout_.sources + readout_.source_count && *place == source) {
    Tally& tally = tallies_[static_cast<std::size_t>(place - readout_.sources)];
    ++tally.reached;
    ++tally.lost[lost];
    (void)deliver_missing(source, slice, too_long ? WEIR_SOURCE_TOO_LARGE : WEIR_SOURCE_NOT_PRODUCED);
  }
  log(WEIR_SOURCE_LOG_ERROR,
      "slice " + std::to_string(slice) + ", source " + std::to_string(source) + ": " + text);
}

bool PythonHost::deliver_missing(std::uint32_t source, std::uint64_t slice, std::uint8_t reason) {
  weir_source_fragment fragment{};
  fragment.struct_size = sizeof fragment;
  fragment.source = source;
  fragment.slice = slice;
  fragment.status = WEIR_SOURCE_MISSING;
  fragment.missing_reason = reason;
  return host_.deliver(&host_, &fragment) == WEIR_DELIVER_TAKEN;
}

// The run's summary names such fragments by their reason.
std::size_t PythonHost::miss_all(std::uint64_t slice, std::uint8_t reason, std::size_t lost) {
  std::size_t missing = 0;
  for (std::uint32_t i = 0; i < readout_.source_count; ++i) {
    if (!deliver_missing(readout_.sources[i], slice, reason)) continue;
    ++missing;
  }
  count(lost, missing);
  return missing;
}

void PythonHost::report_losses(TimeNs now_ns) {
  if (now_ns - reported_ns_ < kReportEvery) return;
  reported_ns_ = now_ns;
  for (std::uint32_t i = 0; i < readout_.source_count; ++i) {
    Tally& tally = tallies_[i];
    if (tally.reached > 0) host_.losses(&host_, readout_.sources[i], tally.reached, 0, "");
    for (std::size_t lost = 0; lost < kLosts; ++lost) {
      if (tally.lost[lost] > 0)
        host_.losses(&host_, readout_.sources[i], 0, tally.lost[lost], kLostNames[lost]);
    }
    tally.reached = 0;
    tally.lost = {};
  }
}

}  // namespace weir::source_host
