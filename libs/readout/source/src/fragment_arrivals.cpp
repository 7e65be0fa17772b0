// FragmentBuffer: fragments that arrive on their own time.
#include <weir/base/assert.hpp>
#include <weir/source/fragment_buffer.hpp>

#include <algorithm>

namespace weir::source {
namespace {

// How fast the expected size of a source follows larger fragments, and smaller or absent ones: fast enough
// that few fragments lack room, slow enough that a source which is empty in most slices reserves little.
constexpr std::uint64_t kRiseOver = 8;
constexpr std::uint64_t kFallOver = 64;

constexpr std::size_t index_of(DropReason reason) { return static_cast<std::size_t>(reason); }

}  // namespace

Delivery FragmentBuffer::deliver(SourceId source, SliceId slice, SourceFragment fragment, AnswerSink& sink) {
  const std::uint32_t column = column_of(source);
  if (column == kNone || timing_[column] == FragmentSource::Timing::at_once) return Delivery::unknown_source;
  drops_[column].unanswered = 0;
  if (fragment.status == FragmentStatus::missing) {
    if (fragment.reason == MissingReason::none) fragment.reason = MissingReason::not_produced;
  } else {
    ++drops_[column].reached;
    drops_[column].last_ns = now_;
    ++counters_.produced;
    ++counters_.held;
    counters_.bytes_produced += fragment.bytes.size();
  }
  const std::uint32_t at = index_.find(slice);
  if (at != SliceIndex::kNone && entries_[at].state == State::held) {
    const Delivery outcome = fill(entries_[at], column, std::move(fragment), sink);
    update_throttle();
    return outcome;
  }
  const bool passed = passed_[column].reason_of(slice) != MissingReason::none;
  if (passed || (at == SliceIndex::kNone && is_over(slice))) {
    const bool skipped = at == SliceIndex::kNone && skipped_.contains(slice);
    return drop(column, fragment, skipped ? DropReason::not_triggered : DropReason::late, Delivery::late);
  }
  return keep_early(slice, column, std::move(fragment));
}

Delivery FragmentBuffer::drop(std::uint32_t column, const SourceFragment& fragment, DropReason reason,
                              Delivery outcome) {
  if (fragment.status == FragmentStatus::missing) return outcome;
  --counters_.held;
  ++counters_.dropped[index_of(reason)];
  // A copy is not a loss. An early fragment that was evicted is one only if its slice is announced.
  if (reason != DropReason::duplicate && reason != DropReason::early_full)
    ++drops_[column].dropped[index_of(reason)];
  return outcome;
}

Delivery FragmentBuffer::fill(Entry& entry, std::uint32_t column, SourceFragment fragment, AnswerSink& sink) {
  SourceFragment& place = rows_[entry.row][column];
  if (!is_pending(place)) {
    const bool given_up = place.status == FragmentStatus::missing;
    return given_up ? drop(column, fragment, DropReason::late, Delivery::late)
                    : drop(column, fragment, DropReason::duplicate, Delivery::duplicate);
  }
  unreserve(entry, column);
  place = std::move(fragment);
  put_arrived(entry, column, false);
  --entry.pending;
  answer_arrived(entry, sink);
  if (place.status != FragmentStatus::missing) return Delivery::taken;
  if (place.reason == MissingReason::too_large) return Delivery::too_large;
  return place.reason == MissingReason::dropped ? Delivery::full : Delivery::taken;
}

// Counts the fragment at its place in a held slice, or records the reason of its absence.
void FragmentBuffer::put_arrived(Entry& entry, std::uint32_t column, bool pushed_out) {
  SourceFragment& place = rows_[entry.row][column];
  if (is_pending(place)) {
    const MissingReason passed = passed_[column].reason_of(entry.trigger.slice);
    if (pushed_out) {
      place.reason = MissingReason::dropped;
      ++drops_[column].dropped[index_of(DropReason::early_full)];
    } else if (passed != MissingReason::none) {
      place.reason = passed;
      ++counters_.passed_absent;
    } else {
      reserve(entry, column, expected_[column].bytes);
    }
    return;
  }
  if (place.status == FragmentStatus::missing) return learn_size(column, 0);
  const std::uint64_t size = place.bytes.size();
  learn_size(column, size);
  if (size > bytes_free()) {
    const bool too_large = size > limits_.bytes_max;
    (void)drop(column, place, too_large ? DropReason::too_large : DropReason::buffer_full, Delivery::full);
    place = missing_fragment(too_large ? MissingReason::too_large : MissingReason::dropped);
    return;
  }
  ++entry.kept;
  entry.bytes += size;
  counters_.bytes_held += size;
  if (place.owner) entry.owners = true;
  slice_bytes_estimate_ = std::max(slice_bytes_estimate_, entry.bytes + entry.reserved);
}

// Reserves memory for a fragment that has not arrived. One that its source holds in memory has to fit. The
// size of one that a front-end will send is unknown: at most the free bytes are reserved.
void FragmentBuffer::reserve(Entry& entry, std::uint32_t column, std::uint64_t bytes) {
  const std::uint64_t reserved = std::min({bytes, bytes_free(), std::uint64_t{UINT32_MAX}});
  if (reserved < bytes && timing_[column] == FragmentSource::Timing::either) {
    rows_[entry.row][column] = missing_fragment(MissingReason::dropped);
    return sources_[column]->given_up(entry.trigger.slice);
  }
  rows_[entry.row][column] = pending_fragment(static_cast<std::uint32_t>(reserved));
  entry.reserved += reserved;
  counters_.bytes_reserved += reserved;
  ++entry.pending;
}

void FragmentBuffer::unreserve(Entry& entry, std::uint32_t column) {
  const std::uint64_t reserved = expected_bytes(rows_[entry.row][column]);
  WEIR_ASSERT(reserved <= entry.reserved);
  entry.reserved -= reserved;
  WEIR_ASSERT(reserved <= counters_.bytes_reserved);
  counters_.bytes_reserved -= reserved;
}

void FragmentBuffer::learn_size(std::uint32_t column, std::uint64_t bytes) {
  ExpectedSize& expected = expected_[column];
  if (!expected.known) {
    if (bytes > 0) expected = {bytes, true};
  } else if (bytes > expected.bytes) {
    expected.bytes += (bytes - expected.bytes + kRiseOver - 1) / kRiseOver;
  } else {
    expected.bytes -= (expected.bytes - bytes) / kFallOver;
  }
}

void FragmentBuffer::give_up_pending(Entry& entry, std::uint32_t column, MissingReason reason) {
  unreserve(entry, column);
  learn_size(column, 0);
  rows_[entry.row][column] = missing_fragment(reason);
  --entry.pending;
  sources_[column]->given_up(entry.trigger.slice);
}

void FragmentBuffer::answer_arrived(Entry& entry, AnswerSink& sink) {
  const SourceFragment* row = rows_[entry.row].get();
  const auto give = [&](const RequestedFragment& request) {
    answer(request, row[column_of(request.source)], sink);
  };
  if (entry.pending == 0) {
    parked_.take(entry.parked, give);
  } else {
    parked_.drop_if(entry.parked, [&](const RequestedFragment& request) {
      if (is_pending(row[column_of(request.source)])) return false;
      give(request);
      return true;
    });
  }
  counters_.parked = parked_.size();
}

Delivery FragmentBuffer::keep_early(SliceId slice, std::uint32_t column, SourceFragment fragment) {
  EarlySlices::Slice* early = early_slices_.find(slice);
  if (early == nullptr) {
    while (early_slices_.size() >= limits_.early_slices_max) push_out_oldest();
    early = &early_slices_.add(slice, take_row());
    ++counters_.slices_early;
  }
  SourceFragment& place = rows_[early->row][column];
  if (!is_pending(place)) {
    const bool given_up = place.status == FragmentStatus::missing;
    return given_up ? drop(column, fragment, DropReason::late, Delivery::late)
                    : drop(column, fragment, DropReason::duplicate, Delivery::duplicate);
  }
  if (fragment.status == FragmentStatus::missing) {
    place = std::move(fragment);
    return Delivery::taken;
  }
  const std::uint64_t size = fragment.bytes.size();
  if (size > limits_.early_bytes_max || size > limits_.bytes_max) {
    place = missing_fragment(MissingReason::too_large);
    return drop(column, fragment, DropReason::too_large, Delivery::too_large);
  }
  while (counters_.bytes_early + size > limits_.early_bytes_max && early_slices_.oldest() != slice) {
    push_out_oldest();
  }
  if (counters_.bytes_early + size > limits_.early_bytes_max) {
    place = missing_fragment(MissingReason::dropped);
    return drop(column, fragment, DropReason::early_full, Delivery::full);
  }
  place = std::move(fragment);
  ++early->kept;
  early->bytes += size;
  counters_.bytes_early += size;
  return Delivery::taken;
}

void FragmentBuffer::mark_out_of_step(SourceId source, SliceId slice) {
  const std::uint32_t column = column_of(source);
  const EarlySlices::Slice* early = early_slices_.find(slice);
  if (column == kNone || early == nullptr) return;
  SourceFragment& place = rows_[early->row][column];
  if (place.status != FragmentStatus::missing) place.status = FragmentStatus::out_of_step;
}

void FragmentBuffer::push_out_oldest() {
  const auto [slice, early] = early_slices_.take_oldest();
  release_early(early, DropReason::early_full);
  (void)pushed_out_.add(slice, MissingReason::dropped);
}

void FragmentBuffer::release_early(const EarlySlices::Slice& early, DropReason reason) {
  counters_.dropped[index_of(reason)] += early.kept;
  WEIR_ASSERT(early.kept <= counters_.held);
  counters_.held -= early.kept;
  WEIR_ASSERT(early.bytes <= counters_.bytes_early);
  counters_.bytes_early -= early.bytes;
  WEIR_ASSERT(counters_.slices_early > 0);
  --counters_.slices_early;
  release_row(early.row);
}

void FragmentBuffer::clear_early(SliceId slice) {
  const auto early = early_slices_.take(slice);
  if (!early) return;
  counters_.cleared += early->kept;
  WEIR_ASSERT(early->kept <= counters_.held);
  counters_.held -= early->kept;
  WEIR_ASSERT(early->bytes <= counters_.bytes_early);
  counters_.bytes_early -= early->bytes;
  WEIR_ASSERT(counters_.slices_early > 0);
  --counters_.slices_early;
  release_row(early->row);
}

void FragmentBuffer::release_row(std::uint32_t row) {
  for (std::size_t column = 0; column < sources_.size(); ++column) rows_[row][column].owner.reset();
  free_rows_.push_back(row);
}

bool FragmentBuffer::awaits(const Awaited& awaited) const {
  const Entry& entry = entries_[awaited.entry];
  return entry.state == State::held && entry.trigger.slice == awaited.slice && entry.pending > 0;
}

void FragmentBuffer::source_passed(SourceId source, SliceId slice, MissingReason reason, AnswerSink& sink) {
  const std::uint32_t column = column_of(source);
  if (column == kNone || timing_[column] == FragmentSource::Timing::at_once) return;
  drops_[column].unanswered = 0;
  PassedSlices& passed = passed_[column];
  const std::optional<SliceId> before = passed.upto();
  if (before && slice <= *before) return;
  passed.add(slice, reason == MissingReason::none ? MissingReason::not_produced : reason);
  const auto give_up = [&](std::uint32_t at) {
    Entry& entry = entries_[at];
    if (entry.state != State::held || !is_pending(rows_[entry.row][column])) return;
    ++counters_.passed_absent;
    give_up_pending(entry, column, passed.reason_of(entry.trigger.slice));
    answer_arrived(entry, sink);
  };
  // Looks up few ids one by one, and many by scanning all held slices.
  if (before && slice.value - before->value <= entries_.size()) {
    for (SliceId id = before->next(); id <= slice; id = id.next()) {
      if (const std::uint32_t at = index_.find(id); at != SliceIndex::kNone) give_up(at);
      if (id.value == UINT64_MAX) break;
    }
    return;
  }
  for (std::uint32_t at = 0; at < entries_.size(); ++at) {
    if (entries_[at].trigger.slice <= slice) give_up(at);
  }
}

void FragmentBuffer::tick(TimeNs now, AnswerSink& sink) {
  now_ = now;
  while (!awaited_.empty()) {
    const Awaited awaited = awaited_.front();
    const bool waits = awaits(awaited);
    if (waits && awaited.until > now) break;
    awaited_.pop_front();
    if (!waits) continue;
    Entry& entry = entries_[awaited.entry];
    counters_.not_arrived += entry.pending;
    const SourceFragment* row = rows_[entry.row].get();
    for (std::uint32_t column = 0; entry.pending > 0 && column < sources_.size(); ++column) {
      if (!is_pending(row[column])) continue;
      if (drops_[column].unanswered++ == 0)
        drops_[column].unanswered_since_ns = awaited.until - limits_.wait_ns;
      give_up_pending(entry, column, MissingReason::deadline);
    }
    answer_arrived(entry, sink);
  }
}

}  // namespace weir::source
