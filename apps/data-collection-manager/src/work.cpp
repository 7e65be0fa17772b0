#include "work.hpp"

#include <weir/base/crc32c.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <limits>

namespace weir::dcm {
namespace {

// More than any line of a record's tables takes.
constexpr std::uint64_t kTableLineBytesMax = 64;
constexpr std::uint64_t kHeadBytesMax = 512;

bool kept(const Work& work, std::uint32_t source) {
  if (work.unfiltered || work.result == nullptr) return true;
  switch (work.result->keep) {
    case filter_host::Keep::all:
      return true;
    case filter_host::Keep::none:
      return false;
    case filter_host::Keep::listed:
      break;
  }
  return std::binary_search(work.result->keep_sources.begin(), work.result->keep_sources.end(), source);
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

std::uint64_t streams_of(const Work& work) {
  return work.unfiltered || work.result == nullptr ? WEIR_STREAM_DEBUG : work.result->streams;
}

Record make_record(const Work& work, StoreEpoch epoch, const RecordContext& context) {
  const assembly::Slice& slice = *work.slice;
  const filter_host::FilterResult* result = work.unfiltered || context.undecided ? nullptr : work.result;
  Record out;
  std::vector<storage::FragmentRecord> fragments;
  fragments.reserve(slice.table.size());
  for (const weir_filter_fragment& fragment : slice.table) {
    const bool wanted =
        context.only.empty() || std::binary_search(context.only.begin(), context.only.end(), fragment.source);
    const bool keep = wanted && (context.undecided || kept(work, fragment.source));
    storage::FragmentRecord record = line(fragment, keep, context.checksums);
    if (record.status == FragmentStatus::corrupt && record.kept) {
      record.stored_crc32c =
          crc32c(ConstBytes(static_cast<const std::byte*>(fragment.data), fragment.length));
    }
    fragments.push_back(record);
    if (record.kept && fragment.length > 0) {
      out.payloads.emplace_back(static_cast<const std::byte*>(fragment.data), fragment.length);
    }
  }
  std::vector<storage::OutputEvent> events;
  if (result != nullptr) {
    for (const filter_host::OutputEvent& event : result->events) {
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
  head.collector = context.collector;
  head.stream_mask = streams_of(work);
  head.decision = work.decision;
  head.prescale = result != nullptr ? std::max(1U, result->prescale) : 1;
  if (slice.flawed > 0) head.flags |= storage::slice_flag::incomplete;
  if (work.unfiltered) head.flags |= storage::slice_flag::unfiltered;
  if (work.decision == storage::DecisionKind::poison) head.flags |= storage::slice_flag::poison;
  if (context.undecided) {
    head.stream_mask = 0;
    head.decision = storage::DecisionKind::undecided;
    head.flags |= storage::slice_flag::unfiltered;
  }
  record.trigger_payload = slice.assignment.payload;
  if (result != nullptr) record.filter_result = result->filter_result;
  record.events = events;
  record.fragments = fragments;
  storage::encode_slice_meta(record, out.meta);
  out.bytes = storage::slice_record_length(record);
  return out;
}

bool fits_a_record(const Work& work) {
  const assembly::Slice& slice = *work.slice;
  std::uint64_t meta =
      kHeadBytesMax + slice.assignment.payload.size() + kTableLineBytesMax * slice.table.size();
  if (!work.unfiltered && work.result != nullptr) {
    meta += work.result->event_bytes.size() + work.result->filter_result.size() +
            kTableLineBytesMax * work.result->events.size();
  }
  std::uint64_t bytes = meta;
  for (const weir_filter_fragment& fragment : slice.table) {
    if (kept(work, fragment.source)) bytes += fragment.length;
  }
  return meta <= std::numeric_limits<std::uint32_t>::max() && bytes <= wire::kRecordBytesMax;
}

}  // namespace weir::dcm
