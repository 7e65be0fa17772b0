#include <weir/base/assert.hpp>
#include <weir/shaping/barrel.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::shaping {
namespace {

constexpr std::size_t kStaleMax = 1024;  // entries of settled slices before they are swept out

std::uint32_t cut_off_groups(const BarrelSettings& settings) {
  const std::vector<std::uint32_t>& groups = settings.cut_off_groups;
  WEIR_ASSERT(groups.empty() || (groups.size() == settings.sources && std::ranges::is_sorted(groups)));
  return groups.empty() ? settings.sources : groups.back() + 1;
}

}  // namespace

Barrel::Barrel(const BarrelSettings& settings)
    : settings_(settings),
      cut_off_(settings.cut_off_bytes, settings.cut_off_slices, cut_off_groups(settings)),
      to_(settings.dcms) {
  WEIR_ASSERT(!settings_.barrel || settings_.slot_ns > 0);
  WEIR_ASSERT(settings_.piece_bytes > 0 && settings_.slices_max > 0);
  settings_.stall_ns = std::max(settings_.stall_ns, 2 * settings_.slot_ns);
}

Barrel::Parcel* Barrel::find(SliceId slice, State state) {
  const auto found = parcels_.find(slice);
  return found != parcels_.end() && found->second.state == state ? &found->second : nullptr;
}

void Barrel::add(SliceId slice, std::uint32_t dcm, TimeNs ready_ns, std::span<const std::uint32_t> sizes) {
  WEIR_ASSERT(sizes.size() == settings_.sources && dcm < settings_.dcms);
  if (parcels_.contains(slice)) return;
  while (parcels_.size() >= settings_.slices_max && !over_.empty()) {
    const SliceId oldest = over_.front();
    over_.pop_front();
    if (find(oldest, State::over) != nullptr) parcels_.erase(oldest);
  }
  Parcel& parcel = parcels_[slice];
  parcel.slice = slice;
  parcel.dcm = dcm;
  parcel.sizes.assign(sizes.begin(), sizes.end());
  parcel.verdicts.assign(sizes.size(), PushVerdict::whole);
  parcel.gone.assign(sizes.size(), false);
  counters_.offered.fragments += sizes.size();
  counters_.waiting.fragments += sizes.size();
  for (const std::uint32_t size : sizes) {
    counters_.offered.bytes += size;
    counters_.waiting.bytes += size;
  }
  decide(parcel);
  if (parcels_.size() > settings_.slices_max) {
    leave(parcel, NotPushed::full);
    return;
  }
  if (!settings_.barrel) {
    to_[dcm].push_back(slice);
    return;
  }
  parcel.due_ns = ready_ns + settings_.delay_slots * settings_.slot_ns;
  // Slices go in order, although the clocks from which their times come may jump.
  if (slice >= newest_) newest_due_ns_ = parcel.due_ns = std::max(parcel.due_ns, newest_due_ns_);
  newest_ = std::max(newest_, slice);
  auto at = waiting_.end();
  const auto is_later = [&](SliceId other) {
    const Parcel* ahead = find(other, State::waiting);
    return ahead != nullptr && ahead->due_ns > parcel.due_ns;
  };
  while (at != waiting_.begin() && is_later(*std::prev(at))) --at;
  waiting_.insert(at, slice);
  if (!current_) wake_ns_ = std::min(wake_ns_, parcel.due_ns);
}

void Barrel::cut_off(const Parcel& parcel) {
  const auto group_of = [this](std::uint32_t source) {
    return settings_.cut_off_groups.empty() ? source : settings_.cut_off_groups[source];
  };
  std::uint32_t next = 0;
  for (std::uint32_t first = 0; first < parcel.sizes.size(); first = next) {
    std::uint64_t bytes = 0;
    for (next = first; next < parcel.sizes.size() && group_of(next) == group_of(first); ++next)
      bytes += parcel.sizes[next];
    const auto middle = cut_off_.saw(group_of(first), parcel.slice, bytes);
    for (std::uint32_t source = first; middle && source < next; ++source) suppress(*middle, source);
  }
}

void Barrel::decide(Parcel& parcel) {
  if (settings_.cut_off_bytes > 0) cut_off(parcel);
  const bool limited = settings_.overrun == Overrun::truncate || settings_.overrun == Overrun::drop;
  for (std::uint32_t source = 0; source < parcel.sizes.size(); ++source) {
    std::uint32_t& size = parcel.sizes[source];
    if (!limited || settings_.overrun_bytes == 0 || size <= settings_.overrun_bytes) continue;
    const bool drops = settings_.overrun == Overrun::drop;
    const std::uint32_t cut = drops ? size : size - settings_.overrun_bytes;
    parcel.verdicts[source] = drops ? PushVerdict::dropped : PushVerdict::truncated;
    WEIR_ASSERT(cut <= size);
    size -= cut;
    WEIR_ASSERT(cut <= counters_.waiting.bytes);
    counters_.waiting.bytes -= cut;
    counters_.dropped.bytes += cut;
    counters_.truncated += drops ? 0 : 1;
    if (!drops) continue;
    WEIR_ASSERT(counters_.waiting.fragments > 0);
    --counters_.waiting.fragments;
    ++counters_.dropped.fragments;
  }
}

// Has an effect only while the slice waits for its slot; a fragment that has begun is sent.
void Barrel::suppress(SliceId slice, std::uint32_t source) {
  Parcel* parcel = find(slice, State::waiting);
  if (parcel == nullptr || parcel->gone[source] || parcel->source > 0 || parcel->offset > 0) return;
  if (parcel->verdicts[source] == PushVerdict::dropped) return;
  if (std::exchange(parcel->verdicts[source], PushVerdict::suppressed) == PushVerdict::truncated)
    --counters_.truncated;
  const std::uint32_t size = std::exchange(parcel->sizes[source], 0);
  WEIR_ASSERT(counters_.waiting.fragments > 0);
  --counters_.waiting.fragments;
  WEIR_ASSERT(size <= counters_.waiting.bytes);
  counters_.waiting.bytes -= size;
  ++counters_.suppressed.fragments;
  counters_.suppressed.bytes += size;
}

std::optional<PushPiece> Barrel::next(TimeNs now_ns, std::span<const PushLink> links) {
  WEIR_ASSERT(links.size() == settings_.dcms);
  if (!settings_.barrel) return next_at_once(links);
  auto piece = next_in_turn(now_ns, links);
  plan_wake(now_ns);
  return piece;
}

std::optional<PushPiece> Barrel::next_at_once(std::span<const PushLink> links) {
  for (std::uint32_t dcm = 0; dcm < settings_.dcms; ++dcm) {
    auto& queue = to_[dcm];
    while (!queue.empty()) {
      Parcel* parcel = find(queue.front(), State::waiting);
      if (parcel != nullptr && !links[dcm].up) {
        if (waits_for_link(*parcel)) break;
        leave(*parcel, NotPushed::not_connected);
      }
      if (parcel == nullptr || parcel->state == State::over) {
        queue.pop_front();
        continue;
      }
      if (links[dcm].unsent_bytes >= settings_.ahead_bytes) break;
      if (auto piece = take(*parcel)) return piece;
      over(*parcel);
    }
  }
  return std::nullopt;
}

// Held slices are the oldest that are due.
void Barrel::take_up_held(std::span<const PushLink> links) {
  for (std::uint32_t dcm = 0; dcm < settings_.dcms; ++dcm) {
    if (to_[dcm].empty() || !links[dcm].up || links[dcm].unsent_bytes >= settings_.ahead_bytes) continue;
    std::deque<SliceId> merged;
    const auto due_ns = [this](SliceId slice) {
      const auto found = parcels_.find(slice);
      return found != parcels_.end() ? found->second.due_ns : 0;
    };
    for (const SliceId slice : to_[dcm]) {
      if (Parcel* parcel = find(slice, State::held)) parcel->state = State::waiting;
    }
    std::merge(to_[dcm].begin(), to_[dcm].end(), waiting_.begin(), waiting_.end(), std::back_inserter(merged),
               [&](SliceId a, SliceId b) { return due_ns(a) < due_ns(b); });
    waiting_ = std::move(merged);
    to_[dcm].clear();
  }
}

std::optional<PushPiece> Barrel::next_in_turn(TimeNs now_ns, std::span<const PushLink> links) {
  if (settings_.holds) take_up_held(links);
  for (;;) {
    if (!current_ && !begin(now_ns, links)) return std::nullopt;
    Parcel* parcel = find(*current_, State::sending);
    if (parcel == nullptr) {  // settled in the meantime
      end_current();
      continue;
    }
    const PushLink& link = links[parcel->dcm];
    if (waits_for_link(*parcel) && (!link.up || !to_[parcel->dcm].empty())) {
      put_back();
      continue;
    }
    if (!link.up) {
      leave(*parcel, NotPushed::not_connected);
      end_current();
      continue;
    }
    skip_gone(*parcel);
    if (parcel->source == parcel->sizes.size()) {
      // The next slice waits until the connection has sent all of this one.
      if (link.unsent_bytes > 0 && !takes_nothing(now_ns, link)) return std::nullopt;
      over(*parcel);
      end_current();
      continue;
    }
    if (yields(*parcel, now_ns, link)) {
      put_back();
      continue;
    }
    if (link.unsent_bytes >= settings_.ahead_bytes) return std::nullopt;
    gave_ = true;
    moved_ns_ = now_ns;
    unsent_ = link.unsent_bytes;
    return take(*parcel);
  }
}

// Returns whether the current slice, which is not finished, is put back for later.
bool Barrel::yields(const Parcel& parcel, TimeNs now_ns, const PushLink& link) {
  drop_stale(waiting_, State::waiting);
  const bool another_is_due = !waiting_.empty() && find(waiting_.front(), State::waiting)->due_ns <= now_ns;
  if (current_is_rest_ && another_is_due) return true;
  const bool overruns = !current_is_rest_ && now_ns >= slot_end_ns_ && !waits_for_link(parcel);
  if (settings_.overrun == Overrun::requeue && overruns) {
    ++counters_.requeued;
    return true;
  }
  if (link.unsent_bytes < settings_.ahead_bytes || !takes_nothing(now_ns, link)) return false;
  ++counters_.stalled;
  return true;
}

bool Barrel::takes_nothing(TimeNs now_ns, const PushLink& link) {
  if (link.unsent_bytes < unsent_) moved_ns_ = now_ns;
  unsent_ = link.unsent_bytes;
  return now_ns - moved_ns_ >= settings_.stall_ns;
}

bool Barrel::begin(TimeNs now_ns, std::span<const PushLink> links) {
  drop_stale(waiting_, State::waiting);
  if (waiting_.empty() || find(waiting_.front(), State::waiting)->due_ns > now_ns)
    return begin_rest(now_ns, links);
  current_ = waiting_.front();
  current_is_rest_ = false;
  waiting_.pop_front();
  Parcel& parcel = *find(*current_, State::waiting);
  parcel.state = State::sending;
  slot_dcm_ = parcel.dcm;
  slot_end_ns_ = parcel.due_ns + settings_.slot_ns;
  moved_ns_ = now_ns;
  unsent_ = links[parcel.dcm].unsent_bytes;
  if (now_ns >= slot_end_ns_) ++counters_.behind;
  return true;
}

// Within a DCM's slot, begins an unfinished slice of that DCM; outside any slot, the oldest unfinished one.
bool Barrel::begin_rest(TimeNs now_ns, std::span<const PushLink> links) {
  const bool in_slot = now_ns < slot_end_ns_;
  for (auto at = rests_.begin(); at != rests_.end();) {
    Parcel* parcel = find(*at, State::rest);
    if (parcel != nullptr && !links[parcel->dcm].up) leave(*parcel, NotPushed::not_connected);
    if (parcel == nullptr || parcel->state == State::over) {
      at = rests_.erase(at);
      continue;
    }
    const bool in_turn = !in_slot || parcel->dcm == slot_dcm_;
    const PushLink& link = links[parcel->dcm];
    if (!in_turn || link.unsent_bytes >= settings_.ahead_bytes) {
      ++at;
      continue;
    }
    current_ = *at;
    current_is_rest_ = true;
    parcel->state = State::sending;
    rests_.erase(at);
    moved_ns_ = now_ns;
    unsent_ = link.unsent_bytes;
    return true;
  }
  return false;
}

void Barrel::put_back() {
  Parcel& parcel = *find(*current_, State::sending);
  const bool held = waits_for_link(parcel);
  parcel.state = held ? State::held : State::rest;
  if (held) {
    to_[parcel.dcm].push_back(parcel.slice);
  } else if (current_is_rest_) {
    rests_.push_front(parcel.slice);
  } else {
    rests_.push_back(parcel.slice);
  }
  end_current();
}

void Barrel::end_current() {
  current_.reset();
  current_is_rest_ = false;
}

void Barrel::skip_gone(Parcel& parcel) const {
  while (parcel.source < parcel.sizes.size() && parcel.gone[parcel.source]) {
    ++parcel.source;
    parcel.offset = 0;
  }
}

std::optional<PushPiece> Barrel::take(Parcel& parcel) {
  skip_gone(parcel);
  if (parcel.source == parcel.sizes.size()) return std::nullopt;
  const std::uint32_t rest = parcel.sizes[parcel.source] - parcel.offset;
  // A short last piece would cost more than making this one longer.
  const std::uint32_t length =
      rest <= settings_.piece_bytes + settings_.piece_bytes / 2 ? rest : settings_.piece_bytes;
  const PushPiece piece{parcel.slice, parcel.dcm, parcel.source, parcel.offset, length};
  parcel.begun = true;
  counters_.sent.bytes += length;
  WEIR_ASSERT(length <= counters_.waiting.bytes);
  counters_.waiting.bytes -= length;
  if (length < rest) {
    parcel.offset += length;
    return piece;
  }
  const PushVerdict verdict = parcel.verdicts[parcel.source];
  if (verdict != PushVerdict::suppressed && verdict != PushVerdict::dropped) {  // counted already
    ++counters_.sent.fragments;
    WEIR_ASSERT(counters_.waiting.fragments > 0);
    --counters_.waiting.fragments;
  }
  parcel.gone[parcel.source] = true;
  ++parcel.source;
  parcel.offset = 0;
  return piece;
}

void Barrel::not_pushed(Parcel& parcel, std::uint32_t source, NotPushed reason) {
  if (parcel.gone[source]) return;
  parcel.gone[source] = true;
  const PushVerdict verdict = parcel.verdicts[source];
  if (verdict == PushVerdict::suppressed || verdict == PushVerdict::dropped) return;
  const std::uint32_t sent = source == parcel.source ? parcel.offset : 0;
  BarrelCounters::Amount& amount = counters_.not_pushed[static_cast<std::size_t>(reason)];
  ++amount.fragments;
  amount.bytes += parcel.sizes[source] - sent;
  WEIR_ASSERT(counters_.waiting.fragments > 0);
  --counters_.waiting.fragments;
  WEIR_ASSERT(parcel.sizes[source] - sent <= counters_.waiting.bytes);
  counters_.waiting.bytes -= parcel.sizes[source] - sent;
}

void Barrel::leave(Parcel& parcel, NotPushed reason) {
  for (std::uint32_t source = 0; source < parcel.sizes.size(); ++source) not_pushed(parcel, source, reason);
  over(parcel);
}

void Barrel::over(Parcel& parcel) {
  parcel.state = State::over;
  over_.push_back(parcel.slice);
}

void Barrel::dcm_left(std::uint32_t dcm, SliceId below) {
  WEIR_ASSERT(dcm < settings_.dcms);
  if (!settings_.holds) return;
  for (const SliceId slice : to_[dcm]) {
    Parcel* const parcel = find(slice, settings_.barrel ? State::held : State::waiting);
    if (parcel != nullptr && slice < below && waits_for_link(*parcel))
      leave(*parcel, NotPushed::not_connected);
  }
}

void Barrel::asked_for(SliceId slice, std::uint32_t source) {
  const auto found = parcels_.find(slice);
  if (found != parcels_.end()) not_pushed(found->second, source, NotPushed::asked_for);
}

void Barrel::forget(SliceId slice) {
  const auto found = parcels_.find(slice);
  if (found == parcels_.end()) return;
  for (std::uint32_t source = 0; source < settings_.sources; ++source)
    not_pushed(found->second, source, NotPushed::cleared);
  parcels_.erase(found);
  while (!over_.empty() && !parcels_.contains(over_.front())) over_.pop_front();
  sweep(over_);
  sweep(waiting_);
  sweep(rests_);
  for (auto& queue : to_) sweep(queue);
}

// Behind an entry that stays, settled ones would accumulate.
void Barrel::sweep(std::deque<SliceId>& queue) {
  if (queue.size() <= 2 * parcels_.size() + kStaleMax) return;
  std::erase_if(queue, [this](SliceId each) { return !parcels_.contains(each); });
}

void Barrel::forget_all() {
  for (auto& [slice, parcel] : parcels_) {
    for (std::uint32_t source = 0; source < settings_.sources; ++source)
      not_pushed(parcel, source, NotPushed::cleared);
  }
  parcels_.clear();
  over_.clear();
  waiting_.clear();
  rests_.clear();
  for (auto& queue : to_) queue.clear();
  end_current();
  wake_ns_ = kNever;
}

PushVerdict Barrel::verdict(SliceId slice, std::uint32_t source) const {
  const auto found = parcels_.find(slice);
  return found == parcels_.end() ? PushVerdict::whole : found->second.verdicts[source];
}

void Barrel::drop_stale(std::deque<SliceId>& queue, State state) {
  while (!queue.empty() && find(queue.front(), state) == nullptr) queue.pop_front();
}

// If the connection was given data, it sends them after this pass, so next() has to run once more. Later
// calls follow its own progress.
void Barrel::plan_wake(TimeNs now_ns) {
  wake_ns_ = kNever;
  drop_stale(waiting_, State::waiting);
  const TimeNs due = waiting_.empty() ? kNever : find(waiting_.front(), State::waiting)->due_ns;
  if (current_) {
    if (std::exchange(gave_, false)) {
      wake_ns_ = now_ns;
    } else {
      wake_ns_ = moved_ns_ + settings_.stall_ns;
      if (settings_.overrun == Overrun::requeue && slot_end_ns_ > now_ns)
        wake_ns_ = std::min(wake_ns_, slot_end_ns_);
    }
    if (due > now_ns) wake_ns_ = std::min(wake_ns_, due);
    return;
  }
  wake_ns_ = due;
  if (!rests_.empty() && slot_end_ns_ > now_ns) wake_ns_ = std::min(wake_ns_, slot_end_ns_);
}

}  // namespace weir::shaping
