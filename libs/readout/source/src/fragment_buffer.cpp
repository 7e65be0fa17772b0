#include <weir/base/assert.hpp>
#include <weir/source/fragment_buffer.hpp>

#include <algorithm>
#include <stdexcept>

namespace weir::source {
namespace {

// The large slices of a burst influence the estimate of the next slice's size for about this many slices.
constexpr std::uint64_t kEstimateMemory = 64;

template <class T>
std::uint32_t take_free(std::vector<std::uint32_t>& free, std::vector<T>& all) {
  if (free.empty()) {
    all.emplace_back();
    return static_cast<std::uint32_t>(all.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  return index;
}

}  // namespace

FragmentBuffer::FragmentBuffer(std::vector<std::unique_ptr<FragmentSource>> sources,
                               const BufferLimits& limits)
    : limits_(limits),
      sources_(std::move(sources)),
      index_(limits.slices_max + limits.announced_max),
      queue_(std::max<std::size_t>(limits.announced_max, 1)),
      parked_(limits.parked_max),
      notes_(limits.notes_max),
      settled_(limits.notes_max),
      pushed_out_(limits.notes_max),
      skipped_(limits.notes_max),
      passed_(sources_.size()) {
  if (limits.bytes_max == 0 || limits.slices_max == 0 || limits.announced_max == 0 ||
      limits.parked_max == 0 || limits.early_slices_max == 0) {
    throw std::runtime_error("readout buffer: every limit must be above zero");
  }
  std::sort(sources_.begin(), sources_.end(), [](const auto& a, const auto& b) { return a->id() < b->id(); });
  for (const auto& source : sources_) {
    if (!ids_.empty() && ids_.back() == source->id()) {
      throw std::runtime_error("readout buffer: source " + std::to_string(source->id().value) +
                               " occurs twice");
    }
    ids_.push_back(source->id());
    timing_.push_back(source->timing());
    any_arrives_ = any_arrives_ || source->timing() != FragmentSource::Timing::at_once;
  }
  drops_.resize(sources_.size());
  if (any_arrives_) expected_.resize(sources_.size());
}

void FragmentBuffer::begin_run(RunNumber run) {
  WEIR_ASSERT(counters_.held == 0 && queue_.empty());
  counters_ = {};
  watermark_.reset();
  missed_.clear();
  settled_.clear();
  skipped_.clear();
  first_.reset();
  slice_bytes_estimate_ = 0;
  std::fill(expected_.begin(), expected_.end(), ExpectedSize{limits_.expected_bytes, false});
  std::fill(drops_.begin(), drops_.end(), SourceDrops());
  throttle_ = Throttle::none;
  for (const auto& source : sources_) source->begin_run(run);
}

void FragmentBuffer::end_run(AnswerSink& sink) {
  while (!queue_.empty()) {
    const std::uint32_t at = queue_.pop();
    Entry& entry = entries_[at];
    if (entry.state == State::waiting) {
      index_.erase(entry.trigger.slice);
      answer_all_missing(entry.parked, MissingReason::not_produced, sink);
      ++counters_.never_made;
      WEIR_ASSERT(counters_.waiting > 0);
      --counters_.waiting;
      entry.state = State::settled;
    }
    free_entries_.push_back(at);
  }
  for (std::uint32_t at = 0; at < entries_.size(); ++at) {
    if (entries_[at].state != State::held) continue;
    counters_.dropped[static_cast<std::size_t>(DropReason::run_ended)] += entries_[at].kept;
    index_.erase(entries_[at].trigger.slice);
    answer_all_missing(entries_[at].parked, MissingReason::not_produced, sink);
    release_held(entries_[at], at);
  }
  while (!early_slices_.empty()) release_early(early_slices_.take_oldest().second, DropReason::run_ended);
  pushed_out_.clear();
  for (PassedSlices& passed : passed_) passed.clear();
  awaited_.clear();
  for (auto& [slice, list] : early_) answer_all_missing(list, MissingReason::not_produced, sink);
  early_.clear();
  notes_.clear();
  update_throttle();
}

std::size_t FragmentBuffer::announce(std::span<const Trigger> triggers, AnswerSink& sink) {
  std::size_t taken = 0;
  std::optional<SliceId> highest;
  for (const Trigger& trigger : triggers) {
    const SliceId slice = trigger.slice;
    if (is_past(slice) || is_missed(slice) || (highest && slice <= *highest) ||
        index_.find(slice) != SliceIndex::kNone) {
      ++counters_.announced_again;
      ++taken;
      continue;
    }
    if (queue_.full()) break;
    ++taken;
    ++counters_.announced;
    if (!first_) first_ = slice;
    if (limits_.ids_ascend) {
      if (limits_.gaps_have_no_trigger) skip_before(slice, highest ? highest : watermark_);
      highest = slice;
    }
    if (notes_.find(slice)) {
      ++counters_.never_made;
      continue;
    }
    const std::uint32_t at = new_entry(trigger);
    if (!early_.empty()) {
      if (const auto early = early_.find(slice.value); early != early_.end()) {
        entries_[at].parked = early->second;
        early_.erase(early);
      }
    }
    index_.insert(slice, at);
    ++counters_.waiting;
    const bool pushed = queue_.try_push(at);
    WEIR_ASSERT(pushed);
  }
  if (highest) move_watermark(*highest, sink);
  update_throttle();
  return taken;
}

void FragmentBuffer::advance_watermark(SliceId watermark, AnswerSink& sink) {
  if (!is_past(watermark)) move_watermark(watermark, sink);
}

void FragmentBuffer::skip_before(SliceId slice, std::optional<SliceId> previous) {
  const SliceId first = previous ? previous->next() : SliceId();
  if (first < slice) skipped_.add(first, SliceId(slice.value - 1));
}

void FragmentBuffer::skip(std::span<const SliceId> slices, AnswerSink& sink) {
  for (const SliceId slice : slices) {
    skipped_.add(slice, slice);
    if (const auto early = early_slices_.take(slice)) release_early(*early, DropReason::not_triggered);
    answer_early(slice, MissingReason::not_produced, sink);
  }
}

void FragmentBuffer::miss(SliceId slice, AnswerSink& sink) {
  WEIR_ASSERT(index_.find(slice) == SliceIndex::kNone);
  missed_.insert(slice.value);
  if (const auto early = early_slices_.take(slice)) release_early(*early, DropReason::late);
  answer_early(slice, MissingReason::restarted, sink);
}

std::size_t FragmentBuffer::make_some(std::size_t max_slices, AnswerSink& sink) {
  std::size_t made = 0;
  while (made < max_slices && !queue_.empty()) {
    const std::uint32_t at = queue_.front();
    if (entries_[at].state == State::settled) {
      free_entries_.push_back(queue_.pop());
      continue;
    }
    if (!has_room()) break;
    (void)queue_.pop();
    make(at);
    answer_arrived(entries_[at], sink);
    ++made;
  }
  counters_.parked = parked_.size();
  update_throttle();
  return made;
}

void FragmentBuffer::list_open(std::vector<SliceId>& out) const {
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const SliceId slice = entries_[i].trigger.slice;
    if (entries_[i].state != State::settled && index_.find(slice) == i) out.push_back(slice);
  }
}

void FragmentBuffer::clear(std::span<const SliceId> slices, AnswerSink& sink) {
  for (const SliceId slice : slices) clear_one(slice, sink);
  update_throttle();
}

void FragmentBuffer::clear_one(SliceId slice, AnswerSink& sink) {
  const std::uint32_t at = index_.find(slice);
  if (at == SliceIndex::kNone) {
    if (is_over(slice)) {
      // A DCM that has not heard of its end may yet request it.
      if (missed_.erase(slice.value) > 0) (void)settled_.add(slice, MissingReason::restarted);
      ++counters_.clears_unknown;
      return;
    }
    ++counters_.clears_early;
    clear_early(slice);
    note(slice, MissingReason::not_produced);
    return answer_early(slice, MissingReason::not_produced, sink);
  }
  index_.erase(slice);
  if (!limits_.ids_ascend) (void)settled_.add(slice, MissingReason::not_produced);
  ++counters_.slices_cleared;
  Entry& entry = entries_[at];
  if (entry.state == State::held) {
    counters_.cleared += entry.kept;
    answer_all_missing(entry.parked, MissingReason::not_produced, sink);
    return release_held(entry, at);
  }
  clear_early(slice);
  answer_all_missing(entry.parked, MissingReason::not_produced, sink);
  entry.state = State::settled;  // its number stays taken until the queue reaches it
  ++counters_.never_made;
  WEIR_ASSERT(counters_.waiting > 0);
  --counters_.waiting;
}

void FragmentBuffer::release_held(Entry& entry, std::uint32_t entry_index) {
  for (std::uint32_t column = 0; entry.pending > 0 && column < sources_.size(); ++column) {
    if (!is_pending(rows_[entry.row][column])) continue;
    WEIR_ASSERT(entry.pending > 0);
    --entry.pending;
    sources_[column]->given_up(entry.trigger.slice);
  }
  if (entry.owners) {
    release_row(entry.row);
  } else {
    free_rows_.push_back(entry.row);
  }
  WEIR_ASSERT(entry.kept <= counters_.held);
  counters_.held -= entry.kept;
  WEIR_ASSERT(entry.bytes <= counters_.bytes_held);
  counters_.bytes_held -= entry.bytes;
  WEIR_ASSERT(entry.reserved <= counters_.bytes_reserved);
  counters_.bytes_reserved -= entry.reserved;
  WEIR_ASSERT(counters_.slices_held > 0);
  --counters_.slices_held;
  entry.state = State::settled;
  free_entries_.push_back(entry_index);
}

std::uint32_t FragmentBuffer::new_entry(const Trigger& trigger) {
  const std::uint32_t at = take_free(free_entries_, entries_);
  Entry& entry = entries_[at];
  entry = {};
  entry.trigger = trigger;
  return at;
}

std::uint32_t FragmentBuffer::take_row() {
  const std::uint32_t at = take_free(free_rows_, rows_);
  Row& row = rows_[at];
  if (!row) row = std::make_unique<SourceFragment[]>(sources_.size());
  if (!any_arrives_) return at;
  for (std::uint32_t column = 0; column < sources_.size(); ++column) {
    if (timing_[column] != FragmentSource::Timing::at_once) row[column] = pending_fragment(0);
  }
  return at;
}

void FragmentBuffer::make(std::uint32_t at) {
  Entry& entry = entries_[at];
  const SliceId slice = entry.trigger.slice;
  const auto early = early_slices_.take(slice);
  entry.row = early ? early->row : take_row();
  if (early) {
    WEIR_ASSERT(early->bytes <= counters_.bytes_early);
    counters_.bytes_early -= early->bytes;
    WEIR_ASSERT(counters_.slices_early > 0);
    --counters_.slices_early;
  }
  const bool pushed_out = pushed_out_.find(slice).has_value();
  for (std::uint32_t column = 0; column < sources_.size(); ++column) {
    if (timing_[column] == FragmentSource::Timing::later) {
      put_arrived(entry, column, pushed_out);
    } else {
      put_made(entry, column, make_fragment(column, entry.trigger));
    }
  }
  if (entry.pending > 0 && limits_.wait_ns > 0) awaited_.push_back({now_ + limits_.wait_ns, at, slice});
  entry.state = State::held;
  ++counters_.made;
  WEIR_ASSERT(counters_.waiting > 0);
  --counters_.waiting;
  ++counters_.slices_held;
  slice_bytes_estimate_ =
      std::max(entry.bytes + entry.reserved, slice_bytes_estimate_ - slice_bytes_estimate_ / kEstimateMemory);
}

void FragmentBuffer::put_made(Entry& entry, std::uint32_t column, SourceFragment fragment) {
  SourceFragment& place = rows_[entry.row][column];
  place = std::move(fragment);
  if (place.status == FragmentStatus::missing) {
    if (is_pending(place) && timing_[column] == FragmentSource::Timing::either)
      reserve(entry, column, expected_bytes(place));
    return;
  }
  ++entry.kept;
  ++counters_.held;
  counters_.bytes_held += place.bytes.size();
  entry.bytes += place.bytes.size();
  if (place.owner) entry.owners = true;
}

SourceFragment FragmentBuffer::make_fragment(std::uint32_t column, const Trigger& trigger) {
  SourceFragment fragment = sources_[column]->produce(trigger);
  if (fragment.status == FragmentStatus::missing) return fragment;
  const std::uint64_t size = fragment.bytes.size();
  ++counters_.produced;
  counters_.bytes_produced += size;
  if (size <= bytes_free()) return fragment;
  const bool too_large = size > limits_.bytes_max;
  const auto reason = static_cast<std::size_t>(too_large ? DropReason::too_large : DropReason::buffer_full);
  ++counters_.dropped[reason];
  ++drops_[column].dropped[reason];
  return missing_fragment(too_large ? MissingReason::too_large : MissingReason::dropped);
}

// The size of the next slice is known only once it is made, so earlier slices are used as an estimate.
// Fragments that do not fit are dropped and counted. An empty buffer always accepts a slice, because waiting
// longer would not help.
bool FragmentBuffer::has_room() const {
  if (counters_.slices_held >= limits_.slices_max) return false;
  return counters_.slices_held == 0 || slice_bytes_estimate_ <= bytes_free();
}

SourceDrops FragmentBuffer::drops_of(std::size_t column) const {
  SourceDrops drops = drops_[column];
  if (timing_[column] != FragmentSource::Timing::later) drops.reached = counters_.made;
  return drops;
}

std::uint64_t FragmentBuffer::bytes_free() const {
  const std::uint64_t taken = counters_.bytes_held + counters_.bytes_reserved;
  return limits_.bytes_max - std::min(limits_.bytes_max, taken);
}

std::uint32_t FragmentBuffer::column_of(SourceId source) const {
  if (ids_.empty()) return kNone;
  // Ids without gaps are the common case.
  const std::uint32_t guess = source.value - ids_.front().value;
  if (guess < ids_.size() && ids_[guess] == source) return guess;
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), source);
  return at != ids_.end() && *at == source ? static_cast<std::uint32_t>(at - ids_.begin()) : kNone;
}

// No reason: the slice may still be announced.
MissingReason FragmentBuffer::reason_of_absent(SliceId slice) const {
  if (const auto noted = notes_.find(slice)) return *noted;
  if (is_missed(slice)) return MissingReason::restarted;
  if (const auto settled = settled_.find(slice)) return *settled;
  if (!is_past(slice)) return skipped_.contains(slice) ? MissingReason::not_produced : MissingReason::none;
  return !first_ || slice < *first_ ? MissingReason::restarted : MissingReason::not_produced;
}

void FragmentBuffer::move_watermark(SliceId slice, AnswerSink& sink) {
  early_slices_.take_range(
      watermark_, slice, [&](SliceId early) { return index_.find(early) == SliceIndex::kNone; },
      [&](SliceId, const EarlySlices::Slice& early) { release_early(early, DropReason::not_triggered); });
  watermark_ = slice;
  if (early_.empty() || slice < early_lowest_) return;
  early_lowest_ = SliceId(UINT64_MAX);
  for (auto at = early_.begin(); at != early_.end();) {
    const auto here = at++;
    const SliceId waiting(here->first);
    if (is_past(waiting)) {
      answer_all_missing(here->second, reason_of_absent(waiting), sink);
      early_.erase(here);
    } else {
      early_lowest_ = std::min(early_lowest_, waiting);
    }
  }
}

void FragmentBuffer::note(SliceId slice, MissingReason reason) {
  counters_.notes_forgotten += notes_.add(slice, reason);
}

void FragmentBuffer::update_throttle() {
  const auto level = [](std::uint64_t used, std::uint64_t limit) {
    return static_cast<double>(used) / static_cast<double>(limit);
  };
  const double bytes = level(counters_.bytes_held + counters_.bytes_reserved, limits_.bytes_max);
  const double slices = level(counters_.slices_held, limits_.slices_max);
  const double announced = level(queue_.size(), limits_.announced_max);
  const double highest = std::max({bytes, slices, announced});
  level_ = std::min(highest, 1.0);
  fullest_ = highest == bytes ? Throttle::bytes : highest == slices ? Throttle::slices : Throttle::announced;
  const bool on = highest >= (throttle_ == Throttle::none ? limits_.throttle_high : limits_.throttle_low);
  throttle_ = on ? fullest_ : Throttle::none;
}

}  // namespace weir::source
