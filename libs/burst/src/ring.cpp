#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/burst/ring.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::burst {
namespace {

constexpr std::uint16_t bit(std::size_t slot) { return static_cast<std::uint16_t>(1U << slot); }

}  // namespace

std::optional<std::uint64_t> Ring::add(SliceId slice, Attempt attempt, UtcNs time, std::uint64_t bytes) {
  if (index_.contains(slice)) return std::nullopt;
  const auto offset = place(bytes);
  if (!offset) {
    ++unplaced_;
    gone_at(time).no_room.add(slice);
    for (auto& slot : slots_) {
      if (slot && slot->alert.contains(time)) slot->account.no_room.add(slice);
    }
    return std::nullopt;
  }
  const auto entry = entries_.insert(head_, Entry{slice, attempt, time, *offset, bytes, 0, 0});
  index_.emplace(slice, entry);
  times_.emplace(time, slice);
  used_ += bytes;
  ++kept_;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] && slots_[i]->alert.contains(time)) ask(i, *entry);
  }
  return offset;
}

// Goes round once at most. The records overwritten on the way are the oldest.
std::optional<std::uint64_t> Ring::place(std::uint64_t bytes) {
  if (bytes > settings_.bytes) return std::nullopt;
  bool wrapped = false;
  for (;;) {
    const bool at_end = cursor_ + bytes > settings_.bytes;
    if (at_end && wrapped) return std::nullopt;
    const std::uint64_t until = at_end ? settings_.bytes : cursor_ + bytes;
    bool blocked = false;
    while (!blocked && head_ != entries_.end() && head_->offset < until) {
      const auto entry = head_++;
      if (entry->wanted == 0 || planted(Planted::overwrite_frozen)) {
        overwrite(entry);
      } else if (!at_end) {
        cursor_ = entry->end();
        blocked = true;
      }
    }
    if (at_end) {
      wrapped = true;
      cursor_ = 0;
      head_ = entries_.begin();
    } else if (!blocked) {
      return std::exchange(cursor_, until);
    }
  }
}

void Ring::overwrite(Entries::iterator entry) {
  gone_at(entry->time).too_old.add(entry->slice);
  ++gone_count_;
  used_ -= entry->bytes;
  const auto [first, last] = times_.equal_range(entry->time);
  times_.erase(std::find_if(first, last, [&](const auto& at) { return at.second == entry->slice; }));
  index_.erase(entry->slice);
  entries_.erase(entry);
}

// A window never begins before the oldest quantum that the supervisor counts, which sees the slices of all
// DCMs and so forgets earlier than a DCM does.
Ring::Gone& Ring::gone_at(UtcNs time) {
  const std::int64_t quantum = quantum_of(time);
  if (gone_.size() >= kTimesMax && !gone_.contains(quantum)) gone_.erase(gone_.begin());
  return gone_[quantum];
}

bool Ring::can_open() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const auto& slot) { return !slot; });
}

void Ring::open(const Alert& alert) {
  if (account(alert.number) != nullptr) return;
  const auto free = std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) { return !slot; });
  WEIR_ASSERT(free != slots_.end());
  free->emplace(Open{alert, {}, {}});
  Account& account = (*free)->account;
  for (auto gone = gone_.lower_bound(quantum_of(alert.from));
       gone != gone_.end() && gone->first < quantum_of(alert.until); ++gone) {
    account.too_old += gone->second.too_old;
    account.no_room += gone->second.no_room;
  }
  const auto slot = static_cast<std::size_t>(free - slots_.begin());
  for (auto at = times_.lower_bound(alert.from); at != times_.end() && at->first < alert.until; ++at)
    ask(slot, *index_.at(at->second));
}

void Ring::ask(std::size_t slot, Entry& entry) {
  Open& open = *slots_[slot];
  if (entry.wanted == 0 && frozen_ + entry.bytes > settings_.frozen_bytes_max) {
    open.account.no_room.add(entry.slice);
    return;
  }
  if (entry.wanted == 0) frozen_ += entry.bytes;
  entry.wanted |= bit(slot);
  open.account.waiting.add(entry.slice);
  open.queue.push_back(entry.slice);
}

void Ring::let_go(Entry& entry, std::size_t slot) {
  WEIR_ASSERT(entry.wanted & bit(slot));
  if (entry.sending & bit(slot)) in_flight_ -= entry.bytes;
  entry.wanted &= static_cast<std::uint16_t>(~bit(slot));
  entry.sending &= static_cast<std::uint16_t>(~bit(slot));
  if (entry.wanted == 0) frozen_ -= entry.bytes;
  slots_[slot]->account.waiting.remove(entry.slice);
}

void Ring::close(std::uint32_t alert) {
  const auto slot = slot_of(alert);
  if (!slot) return;
  Open& open = *slots_[*slot];
  if (open.account.waiting.count > 0) {
    for (Entry& entry : entries_) {
      if ((entry.wanted & bit(*slot)) == 0) continue;
      let_go(entry, *slot);
      open.account.refused.add(entry.slice);
    }
  }
  closed_.emplace(alert, open.account);
  slots_[*slot].reset();
}

std::optional<Ring::Record> Ring::next(TimeNs now) {
  if (now < paid_ns_) return std::nullopt;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::size_t slot = (turn_ + i) % slots_.size();
    if (!slots_[slot] || slots_[slot]->queue.empty()) continue;
    Open& open = *slots_[slot];
    Entry& entry = *index_.at(open.queue.front());
    if (in_flight_ > 0 && in_flight_ + entry.bytes > settings_.in_flight_bytes_max) return std::nullopt;
    open.queue.pop_front();
    entry.sending |= bit(slot);
    in_flight_ += entry.bytes;
    turn_ = slot + 1;
    // A pause is not saved up: a second's bytes take a second from here.
    const double ns = static_cast<double>(entry.bytes) * kSecond / static_cast<double>(settings_.bytes_per_s);
    paid_ns_ = std::max(paid_ns_, now - 10 * kMillisecond) + static_cast<DurationNs>(ns);
    return Record{open.alert.number, entry.slice, entry.attempt, entry.offset, entry.bytes};
  }
  return std::nullopt;
}

std::optional<std::size_t> Ring::slot_of(std::uint32_t alert) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] && slots_[i]->alert.number == alert) return i;
  }
  return std::nullopt;
}

// Null where the alert was closed meanwhile, or nothing is in flight: a late word.
Ring::Entry* Ring::in_flight(std::uint32_t alert, SliceId slice, std::size_t& slot) {
  const auto found = slot_of(alert);
  const auto at = index_.find(slice);
  if (!found || at == index_.end() || (at->second->sending & bit(*found)) == 0) return nullptr;
  slot = *found;
  return &*at->second;
}

void Ring::saved(std::uint32_t alert, SliceId slice) {
  std::size_t slot = 0;
  Entry* entry = in_flight(alert, slice, slot);
  if (entry == nullptr) return;
  let_go(*entry, slot);
  slots_[slot]->account.saved.add(slice);
}

void Ring::refused(std::uint32_t alert, SliceId slice) {
  std::size_t slot = 0;
  Entry* entry = in_flight(alert, slice, slot);
  if (entry == nullptr) return;
  let_go(*entry, slot);
  slots_[slot]->account.refused.add(slice);
}

void Ring::send_again(std::uint32_t alert, SliceId slice) {
  std::size_t slot = 0;
  Entry* entry = in_flight(alert, slice, slot);
  if (entry == nullptr) return;
  entry->sending &= static_cast<std::uint16_t>(~bit(slot));
  in_flight_ -= entry->bytes;
  slots_[slot]->queue.push_front(slice);
}

const Account* Ring::account(std::uint32_t alert) const {
  if (const auto slot = slot_of(alert)) return &slots_[*slot]->account;
  const auto found = closed_.find(alert);
  return found == closed_.end() ? nullptr : &found->second;
}

std::string_view Ring::broken_invariant() const {
  std::uint64_t used = 0;
  std::uint64_t frozen = 0;
  std::uint64_t end = 0;
  std::array<std::uint64_t, kOpenAlertsMax> waiting{};
  for (const Entry& entry : entries_) {
    if (entry.offset < end) return "two slices of the burst ring overlap";
    end = entry.end();
    used += entry.bytes;
    if (entry.wanted != 0) frozen += entry.bytes;
    if ((entry.sending & ~entry.wanted) != 0) return "a slice is sent that no alert asks for";
    for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] += entry.wanted & bit(i) ? 1 : 0;
  }
  if (end > settings_.bytes) return "a slice ends outside the burst ring";
  if (used != used_ || frozen != frozen_) return "the burst ring's bytes are miscounted";
  if (frozen > settings_.frozen_bytes_max) return "more bytes are frozen than may be";
  if (index_.size() != entries_.size() || times_.size() != entries_.size())
    return "the burst ring's tables differ";
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (slots_[i] && slots_[i]->account.waiting.count != waiting[i])
      return "an alert's slices are miscounted";
    if (!slots_[i] && waiting[i] > 0) return "a slice is frozen for no alert";
  }
  return {};
}

}  // namespace weir::burst
