#include "record.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/filter_job/job.hpp>
#include <weir/storage/slice_record.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <limits>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;

// More than any line of a record's tables takes.
constexpr std::uint64_t kTableLineBytesMax = 64;
constexpr std::uint64_t kHeadBytesMax = 512;

// Null: no filter has decided on it, and it goes to the debug stream, whole.
const filter_job::FilterResult* result_of(const BuiltSlice& slice) {
  return slice.decision.by == DecisionKind::filter ? slice.result : nullptr;
}

// Its filter failed: the record holds the reason in place of a filter result.
bool has_reason(const BuiltSlice& slice) {
  const DecisionKind by = slice.decision.by;
  return (by == DecisionKind::poison || by == DecisionKind::no_filter) && slice.result != nullptr;
}

bool kept(const BuiltSlice& slice, std::uint32_t source) {
  const filter_job::FilterResult* result = result_of(slice);
  if (result == nullptr) return true;
  switch (result->keep) {
    case filter_job::Keep::all:
      return true;
    case filter_job::Keep::none:
      return false;
    case filter_job::Keep::listed:
      break;
  }
  return std::binary_search(result->keep_sources.begin(), result->keep_sources.end(), source);
}

storage::FragmentRecord line(const weir_filter_fragment& fragment, bool keep, bool checksums) {
  storage::FragmentRecord record;
  record.source = SourceId(fragment.source);
  record.status = static_cast<FragmentStatus>(fragment.status);
  record.reason = static_cast<MissingReason>(fragment.missing_reason);
  const bool here = fragment.data != nullptr || fragment.length == 0;
  record.kept = keep && here && record.status != FragmentStatus::missing &&
                record.status != FragmentStatus::not_requested;
  record.checksummed = checksums && record.kept;
  record.stored_length = record.kept ? fragment.length : 0;
  record.total_length = fragment.total;
  record.source_crc32c = fragment.crc32c;
  record.stored_crc32c = fragment.crc32c;  // compared when the fragment was complete
  return record;
}

}  // namespace

std::uint64_t streams_of(const BuiltSlice& slice) {
  const filter_job::FilterResult* result = result_of(slice);
  return result == nullptr ? WEIR_STREAM_DEBUG : result->streams;
}

Record make_record(const BuiltSlice& slice, StoreEpoch epoch, const RecordContext& context) {
  const bool unfiltered = slice.decision.by != DecisionKind::filter || context.undecided;
  const filter_job::FilterResult* result = context.undecided ? nullptr : result_of(slice);
  Record out;
  std::uint64_t payload_bytes = 0;
  std::vector<storage::FragmentRecord> fragments;
  fragments.reserve(slice.table.size());
  const bool raw = context.undecided || context.for_burst;  // what no step has named, too
  bool incomplete = slice.is_incomplete();
  for (assembly::SourceIndex i = 0; i < slice.table.size(); ++i) {
    const weir_filter_fragment& fragment = raw ? slice.arrived(i) : slice.table[i];
    incomplete = incomplete || (raw && assembly::has_flaw(fragment));
    const bool wanted =
        context.only.empty() || std::binary_search(context.only.begin(), context.only.end(), fragment.source);
    const bool keep = wanted && (raw || kept(slice, fragment.source));
    storage::FragmentRecord record = line(fragment, keep, context.checksums);
    if (record.status == FragmentStatus::corrupt && record.kept) {
      record.stored_crc32c =
          crc32c(ConstBytes(static_cast<const std::byte*>(fragment.data), fragment.length));
    }
    fragments.push_back(record);
    if (record.kept && fragment.length > 0) {
      out.payloads.emplace_back(static_cast<const std::byte*>(fragment.data), fragment.length);
      payload_bytes += fragment.length;
    }
  }
  std::vector<storage::OutputEvent> events;
  if (result != nullptr) {
    for (const filter_job::EventSpan& event : result->events) {
      events.push_back({event.id, ConstBytes(result->event_bytes).subspan(event.offset, event.size)});
    }
  }
  storage::SliceRecord record;
  storage::SliceHead& head = record.head;
  head.slice = slice.id();
  head.run = context.run;
  head.attempt = slice.attempt();
  head.epoch = epoch;
  head.trigger_time = slice.assignment.time;
  head.duration = slice.assignment.duration;
  head.trigger_type = slice.assignment.type;
  head.dcm = context.dcm;
  head.stream_mask = streams_of(slice);
  head.decision = slice.decision.by;
  head.prescale = result != nullptr ? std::max(1U, result->prescale) : 1;
  if (incomplete) head.flags |= storage::slice_flag::incomplete;
  if (unfiltered) head.flags |= storage::slice_flag::unfiltered;
  if (slice.decision.by == DecisionKind::poison) head.flags |= storage::slice_flag::poison;
  if (context.for_burst && !slice.decision.accepted) {
    head.stream_mask = 0;
    head.decision = DecisionKind::burst;
  }
  if (context.undecided) {
    head.stream_mask = 0;
    head.decision = DecisionKind::undecided;
  }
  record.trigger_payload = slice.assignment.trigger_payload();
  if (result != nullptr) record.filter_result = result->filter_result;
  if (has_reason(slice) && !context.undecided)
    record.filter_result = ConstBytes(std::as_bytes(std::span(slice.result->error)));
  record.events = events;
  record.fragments = fragments;
  storage::encode_slice_meta(record, out.meta);
  out.bytes = storage::slice_record_length(record);
  WEIR_ASSERT(out.bytes == out.meta.size() + payload_bytes);
  return out;
}

bool fits_a_record(const BuiltSlice& slice) {
  std::uint64_t meta =
      kHeadBytesMax + slice.assignment.payload.size() + kTableLineBytesMax * slice.table.size();
  if (const filter_job::FilterResult* result = result_of(slice); result != nullptr) {
    meta += result->event_bytes.size() + result->filter_result.size() +
            kTableLineBytesMax * result->events.size();
  }
  if (has_reason(slice)) meta += slice.result->error.size();
  const bool small = meta <= std::numeric_limits<std::uint32_t>::max();
  if (small && meta + slice.payload_bytes <= wire::kRecordBytesMax)
    return true;  // whatever part of it is kept
  std::uint64_t bytes = meta;
  for (const weir_filter_fragment& fragment : slice.table) {
    if (kept(slice, fragment.source)) bytes += fragment.length;
  }
  return small && bytes <= wire::kRecordBytesMax;
}

}  // namespace weir::dcm
