#include <weir/base/assert.hpp>
#include <weir/steps/step_watch.hpp>

#include <algorithm>

namespace weir::steps {
namespace {

// Triggers that are searched for the one at a fragment's time.
constexpr std::size_t kNear = 256;

UtcNs distance(UtcNs a, UtcNs b) {
  const auto from = static_cast<std::uint64_t>(std::min(a, b));
  const auto to = static_cast<std::uint64_t>(std::max(a, b));
  return static_cast<UtcNs>(std::min<std::uint64_t>(to - from, INT64_MAX));
}

// Adds without overflow: a front-end may send any time.
UtcNs sum(UtcNs a, DurationNs b) {
  UtcNs result = 0;
  return __builtin_add_overflow(a, b, &result) ? (b > 0 ? INT64_MAX : INT64_MIN) : result;
}

SliceId shifted(SliceId slice, std::int64_t by) {
  return SliceId(slice.value + static_cast<std::uint64_t>(by));
}

}  // namespace

StepWatch::StepWatch(const WatchSettings& settings, std::span<const SourceId> sources) : settings_(settings) {
  WEIR_ASSERT(settings.counter_bits <= 64 && std::is_sorted(sources.begin(), sources.end()));
  sources_.resize(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    sources_[i].id = sources[i];
    for (const auto& [source, offset] : settings.offsets) {
      if (source == sources[i]) sources_[i].offset = offset;
    }
  }
  begin_run();
}

void StepWatch::begin_run() {
  for (Source& source : sources_) {
    source.base.reset();
    source.recalled = 0;
    if (source.offset.counter) source.base = static_cast<std::uint64_t>(-*source.offset.counter);
    source.anchored = source.offset.counter ? kAnchor : 0;
    source.counter.reset();
    source.time.reset();
    source.unmatched.clear();
    source.shift = 0;
    source.compared = false;
  }
  times_.clear();
  triggers_.clear();
  ascending_ = 0;
  early_.clear();
  early_order_.clear();
  early_count_ = with_unmatched_ = 0;
  misfit_count_ = not_compared_ = 0;
  news_ = false;
}

StepWatch::Source* StepWatch::find(SourceId source) {
  if (sources_.empty()) return nullptr;
  // Ids without gaps are the common case.
  const std::uint32_t guess = source.value - sources_.front().id.value;
  if (guess < sources_.size() && sources_[guess].id == source) return &sources_[guess];
  const auto at = std::lower_bound(sources_.begin(), sources_.end(), source,
                                   [](const Source& one, SourceId id) { return one.id < id; });
  return at != sources_.end() && at->id == source ? &*at : nullptr;
}

Placed StepWatch::take(SourceId id, SliceId label, const Stamp& stamp) {
  Source* source = find(id);
  const bool counts = stamp.has_counter && settings_.counter_bits > 0;
  const bool times = stamp.has_time && settings_.time_tolerance_ns > 0;
  if (source == nullptr || (!counts && !times)) return {label, true};
  if (!source->compared) source->compared = news_ = true;
  const std::int64_t shift = source->shift != 0 && !stays(*source, label, stamp) ? source->shift : 0;
  Placed placed{shifted(label, shift), true};
  if (counts) placed.fits = counter_fits(*source, label, shift, stamp.counter);
  if (times) {
    const UtcNs time = sum(stamp.time, source->offset.time_ns);
    const auto trigger = times_.find(placed.slice.value);
    if (trigger == times_.end()) {
      keep_early(placed.slice,
                 {static_cast<std::uint32_t>(source - sources_.data()), placed.fits, time, shift});
      if (is_far(placed.slice)) look_far(*source, label, time);
    } else if (!time_fits(*source, label, shift, time, trigger->second)) {
      placed.fits = false;
    }
  }
  if (!placed.fits) ++misfit_count_;
  return placed;
}

// Both slices may fit where triggers are closer than the tolerance: then the slip counts.
bool StepWatch::stays(const Source& source, SliceId label, const Stamp& stamp) const {
  return may_be_of(source, label, stamp).value_or(false) &&
         !may_be_of(source, shifted(label, source.shift), stamp).value_or(false);
}

std::optional<bool> StepWatch::may_be_of(const Source& source, SliceId slice, const Stamp& stamp) const {
  std::optional<bool> fits;
  if (stamp.has_counter && settings_.counter_bits > 0 && source.base)
    fits = wrapped(stamp.counter - slice.value - *source.base) == 0;
  if (!stamp.has_time || settings_.time_tolerance_ns <= 0) return fits;
  const auto trigger = times_.find(slice.value);
  if (trigger == times_.end()) return fits;
  const bool in_time =
      distance(sum(stamp.time, source.offset.time_ns), trigger->second) <= settings_.time_tolerance_ns;
  return fits.value_or(true) && in_time;
}

// Returns the difference of two counters as the nearest number that it can be.
std::int64_t StepWatch::wrapped(std::uint64_t difference) const {
  const std::uint32_t unused = 64 - settings_.counter_bits;
  return static_cast<std::int64_t>(difference << unused) >> unused;
}

bool StepWatch::counter_fits(Source& source, SliceId label, std::int64_t shift, std::uint64_t counter) {
  const SliceId slice = shifted(label, shift);
  if (!source.base) source.base = counter - slice.value - static_cast<std::uint64_t>(source.recalled - shift);
  const std::int64_t slip = wrapped(counter - slice.value - *source.base);
  if (slip == 0) source.anchored = std::min(source.anchored + 1, kAnchor);
  const bool changed = source.counter.see(label, {slip + shift, true});
  if (changed && source.anchored < kAnchor) {
    // The first fragments were wrong, not these.
    source.base = counter - slice.value;
    source.anchored = kAnchor;
    source.counter.reset();
    return true;
  }
  news_ = news_ || changed;
  return slip == 0;
}

bool StepWatch::time_fits(Source& source, SliceId label, std::int64_t shift, UtcNs time, UtcNs trigger_time) {
  if (distance(time, trigger_time) <= settings_.time_tolerance_ns) {
    see_time(source, label, {shift, true});
    return true;
  }
  // Its own trigger may not be announced yet.
  if (time > sum(triggers_.back().time, settings_.time_tolerance_ns)) {
    wait_for_trigger(source, {label, time, false});
  } else {
    see_own(source, {label, time, false});
  }
  return false;
}

bool StepWatch::is_far(SliceId slice) const {
  if (triggers_.empty()) return false;
  const std::uint64_t latest = triggers_.back().slice.value;
  return std::max(slice.value, latest) - std::min(slice.value, latest) > kFar;
}

void StepWatch::look_far(Source& source, SliceId label, UtcNs time) {
  const Ahead one{label, time, true};
  if (time > sum(triggers_.back().time, settings_.time_tolerance_ns)) {
    wait_for_trigger(source, one);
  } else {
    see_own(source, one);
  }
}

void StepWatch::wait_for_trigger(Source& source, const Ahead& one) {
  if (source.unmatched.empty()) ++with_unmatched_;
  source.unmatched.push_back(one);
  if (source.unmatched.size() <= kUnmatchedMax) return;
  const Ahead oldest = source.unmatched.front();
  source.unmatched.pop_front();
  if (!oldest.far) see_time(source, oldest.slice, {0, false});
}

// Sees a fragment that does not fit its slice as one of the slice at its time. The begin of a slip by number
// is the latter: the numbers of its fragments are not those of slices.
void StepWatch::see_own(Source& source, const Ahead& one) {
  const auto own = slice_at(one.time);
  if (!own) {
    if (!one.far) see_time(source, one.slice, {0, false});
    return;
  }
  const auto slip = static_cast<std::int64_t>(own->value - one.slice.value);
  see_time(source, one.far ? *own : one.slice, {slip, true});
}

void StepWatch::see_time(Source& source, SliceId slice, const Deviation& deviation) {
  if (source.time.see(slice, deviation)) news_ = true;
}

// Returns the slice of the trigger that is nearest to this time, and within the tolerance.
std::optional<SliceId> StepWatch::slice_at(UtcNs time) const {
  std::optional<SliceId> found;
  DurationNs nearest = settings_.time_tolerance_ns;
  const std::size_t count = std::min(kNear, triggers_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Ahead& trigger = triggers_[triggers_.size() - 1 - i];
    // All older ones are then as far away, too.
    if (ascending_ >= count && sum(trigger.time, 2 * settings_.time_tolerance_ns) < time) break;
    const DurationNs away = distance(time, trigger.time);
    if (away > nearest || (found && away == nearest)) continue;
    found = trigger.slice;
    nearest = away;
  }
  return found;
}

void StepWatch::keep_early(SliceId slice, const Early& one) {
  while (early_count_ >= kEarlyMax) {
    const auto oldest = early_.find(early_order_.front().value);
    early_order_.pop_front();
    if (oldest == early_.end()) continue;
    early_count_ -= oldest->second.size();
    not_compared_ += oldest->second.size();
    early_.erase(oldest);
  }
  std::vector<Early>& list = early_[slice.value];
  if (list.empty()) early_order_.push_back(slice);
  list.push_back(one);
  ++early_count_;
}

void StepWatch::remember(SliceId slice, UtcNs time) {
  if (settings_.time_tolerance_ns <= 0) return;
  if (!times_.insert_or_assign(slice.value, time).second) return;
  const bool ascends = triggers_.empty() || sum(time, settings_.time_tolerance_ns) >= latest_;
  ascending_ = ascends ? ascending_ + 1 : 1;
  latest_ = ascends && ascending_ > 1 ? std::max(latest_, time) : time;
  triggers_.push_back({slice, time});
  if (triggers_.size() > kTriggersMax) {
    times_.erase(triggers_.front().slice.value);
    triggers_.pop_front();
  }
  if (with_unmatched_ > 0) {
    for (Source& source : sources_) match_ahead(source, time);
  }
  while (!early_order_.empty() && !early_.contains(early_order_.front().value)) early_order_.pop_front();
  const auto early = early_.find(slice.value);
  if (early == early_.end()) return;
  const std::vector<Early> list = std::move(early->second);
  early_.erase(early);
  early_count_ -= list.size();
  for (const Early& one : list) {
    Source& source = sources_[one.column];
    if (time_fits(source, shifted(slice, -one.shift), one.shift, one.time, time) || !one.fits) continue;
    ++misfit_count_;
    misfits_.push_back(source.id);
  }
}

// Looks up the fragments that were ahead of all triggers until now.
void StepWatch::match_ahead(Source& source, UtcNs upto) {
  const UtcNs last = sum(upto, settings_.time_tolerance_ns);
  while (!source.unmatched.empty() && source.unmatched.front().time <= last) {
    const Ahead one = source.unmatched.front();
    source.unmatched.pop_front();
    if (source.unmatched.empty()) --with_unmatched_;
    see_own(source, one);
  }
}

void StepWatch::recall(const Slipped& known) {
  Source* source = find(known.source);
  if (source == nullptr || source->compared) return;
  if (!known.by_time) source->recalled = known.slip;
  (known.by_time ? source->time : source->counter).recall({known.slip, known.slip != 0}, known.since);
}

void StepWatch::realign(SourceId id, std::int64_t slip) {
  if (Source* source = find(id)) source->shift = slip;
}

std::vector<SourceId> StepWatch::compared() const {
  std::vector<SourceId> all;
  for (const Source& source : sources_) {
    if (source.compared) all.push_back(source.id);
  }
  return all;
}

std::vector<Slipped> StepWatch::slipped() const {
  std::vector<Slipped> all;
  for (const Source& source : sources_) {
    const bool by_time = source.counter.in_step();
    const SlipTracker& tracker = by_time ? source.time : source.counter;
    if (!tracker.in_step()) all.push_back({source.id, tracker.state().slip, tracker.since(), by_time});
  }
  return all;
}

}  // namespace weir::steps
