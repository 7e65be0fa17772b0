// What FragmentBuffer does with fragments that arrive on their own time.
#include "missing_fragment.hpp"
#include <weir/base/assert.hpp>
#include <weir/source/fragment_buffer.hpp>

#include <algorithm>

namespace weir::source {
namespace {

constexpr std::size_t index_of(DropReason reason) { return static_cast<std::size_t>(reason); }

}  // namespace

Delivery FragmentBuffer::deliver(SourceId source, SliceId slice, Fragment fragment, AnswerSink& sink) {
  const std::uint32_t column = column_of(source);
  if (column == kNone || !arrives_[column]) return Delivery::unknown_source;
  if (fragment.status == FragmentStatus::missing) {
    if (fragment.reason == MissingReason::none) fragment.reason = MissingReason::not_produced;
  } else {
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
    return drop(fragment, DropReason::late, Delivery::late);
  }
  return keep_early(slice, column, std::move(fragment));
}

Delivery FragmentBuffer::drop(const Fragment& fragment, DropReason reason, Delivery outcome) {
  if (fragment.status == FragmentStatus::missing) return outcome;
  --counters_.held;
  ++counters_.dropped[index_of(reason)];
  return outcome;
}

Delivery FragmentBuffer::fill(Entry& entry, std::uint32_t column, Fragment fragment, AnswerSink& sink) {
  Fragment& place = rows_[entry.row][column];
  if (!is_pending(place)) {
    const bool given_up = place.status == FragmentStatus::missing;
    return given_up ? drop(fragment, DropReason::late, Delivery::late)
                    : drop(fragment, DropReason::duplicate, Delivery::duplicate);
  }
  place = std::move(fragment);
  put_arrived(entry, column, false);
  --entry.pending;
  answer_arrived(entry, sink);
  if (place.status != FragmentStatus::missing) return Delivery::taken;
  if (place.reason == MissingReason::too_large) return Delivery::too_large;
  return place.reason == MissingReason::dropped ? Delivery::full : Delivery::taken;
}

// Counts what lies at its place in the row of a held slice, or says why nothing does.
void FragmentBuffer::put_arrived(Entry& entry, std::uint32_t column, bool pushed_out) {
  Fragment& place = rows_[entry.row][column];
  if (is_pending(place)) {
    const MissingReason passed = passed_[column].reason_of(entry.trigger.slice);
    if (pushed_out) {
      place.reason = MissingReason::dropped;
    } else if (passed != MissingReason::none) {
      place.reason = passed;
      ++counters_.passed_absent;
    } else {
      ++entry.pending;
    }
    return;
  }
  if (place.status == FragmentStatus::missing) return;
  const std::uint64_t size = place.bytes.size();
  if (counters_.bytes_held + size > limits_.bytes_max) {
    const bool too_large = size > limits_.bytes_max;
    (void)drop(place, too_large ? DropReason::too_large : DropReason::buffer_full, Delivery::full);
    place = missing_fragment(too_large ? MissingReason::too_large : MissingReason::dropped);
    return;
  }
  ++entry.kept;
  entry.bytes += size;
  counters_.bytes_held += size;
  if (place.owner) entry.owners = true;
  slice_bytes_estimate_ = std::max(slice_bytes_estimate_, entry.bytes);
}

void FragmentBuffer::answer_arrived(Entry& entry, AnswerSink& sink) {
  const Fragment* row = rows_[entry.row].get();
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

Delivery FragmentBuffer::keep_early(SliceId slice, std::uint32_t column, Fragment fragment) {
  EarlySlices::Slice* early = early_slices_.find(slice);
  if (early == nullptr) {
    while (early_slices_.size() >= limits_.early_slices_max) push_out_oldest();
    early = &early_slices_.add(slice, take_row());
    ++counters_.slices_early;
  }
  Fragment& place = rows_[early->row][column];
  if (!is_pending(place)) {
    const bool given_up = place.status == FragmentStatus::missing;
    return given_up ? drop(fragment, DropReason::late, Delivery::late)
                    : drop(fragment, DropReason::duplicate, Delivery::duplicate);
  }
  if (fragment.status == FragmentStatus::missing) {
    place = std::move(fragment);
    return Delivery::taken;
  }
  const std::uint64_t size = fragment.bytes.size();
  if (size > limits_.early_bytes_max || size > limits_.bytes_max) {
    place = missing_fragment(MissingReason::too_large);
    return drop(fragment, DropReason::too_large, Delivery::too_large);
  }
  while (counters_.bytes_early + size > limits_.early_bytes_max && early_slices_.oldest() != slice) {
    push_out_oldest();
  }
  if (counters_.bytes_early + size > limits_.early_bytes_max) {
    place = missing_fragment(MissingReason::dropped);
    return drop(fragment, DropReason::early_full, Delivery::full);
  }
  place = std::move(fragment);
  ++early->kept;
  early->bytes += size;
  counters_.bytes_early += size;
  return Delivery::taken;
}

void FragmentBuffer::push_out_oldest() {
  const auto [slice, early] = early_slices_.take_oldest();
  release_early(early, DropReason::early_full);
  (void)pushed_out_.add(slice, MissingReason::dropped);
}

void FragmentBuffer::release_early(const EarlySlices::Slice& early, DropReason reason) {
  counters_.dropped[index_of(reason)] += early.kept;
  counters_.held -= early.kept;
  counters_.bytes_early -= early.bytes;
  --counters_.slices_early;
  release_row(early.row);
}

void FragmentBuffer::clear_early(SliceId slice) {
  const auto early = early_slices_.take(slice);
  if (!early) return;
  counters_.cleared += early->kept;
  counters_.held -= early->kept;
  counters_.bytes_early -= early->bytes;
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
  if (column == kNone || !arrives_[column]) return;
  PassedSlices& passed = passed_[column];
  const std::optional<SliceId> before = passed.upto();
  if (before && slice <= *before) return;
  passed.add(slice, reason == MissingReason::none ? MissingReason::not_produced : reason);
  const auto give_up = [&](std::uint32_t at) {
    Entry& entry = entries_[at];
    if (entry.state != State::held || !is_pending(rows_[entry.row][column])) return;
    ++counters_.passed_absent;
    rows_[entry.row][column].reason = passed.reason_of(entry.trigger.slice);
    --entry.pending;
    answer_arrived(entry, sink);
  };
  // Few ids are looked up one by one, many by looking at all that is held.
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
    Fragment* row = rows_[entry.row].get();
    for (std::uint32_t column = 0; column < sources_.size(); ++column) {
      if (is_pending(row[column])) row[column].reason = MissingReason::deadline;
    }
    entry.pending = 0;
    answer_arrived(entry, sink);
  }
}

}  // namespace weir::source
