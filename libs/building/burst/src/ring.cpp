#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/burst/ring.hpp>

#include <algorithm>

namespace weir::burst {
namespace {

constexpr std::size_t kForDiskMin = 1024;  // entries of the queue that are never searched

constexpr std::uint16_t bit(std::size_t slot) { return static_cast<std::uint16_t>(1U << slot); }

}  // namespace

std::optional<std::uint64_t> Ring::add(SliceId slice, Attempt attempt, UtcNs time, std::uint64_t bytes) {
  if (index_.contains(slice)) return std::nullopt;
  const auto extent = memory_.place(
      slice, bytes,
      [this](SliceId there) {
        return !planted(Planted::overwrite_frozen) && index_.at(there).holds_memory();
      },
      [this](SliceId there) { leave_memory(there); });
  if (!extent) {
    ++unplaced_;
    gone_at(time).no_room.add(slice);
    for (auto& slot : slots_) {
      if (slot && slot->alert.contains(time)) slot->account.no_room.add(slice);
    }
    return std::nullopt;
  }
  Entry& entry = index_.emplace(slice, Entry{slice, attempt, time, bytes, extent, {}}).first->second;
  times_.emplace(time, slice);
  ++kept_;
  largest_ = std::max(largest_, bytes);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] && slots_[i]->alert.contains(time)) ask(i, entry);
  }
  if (settings_.disk_bytes > 0) await_disk(slice);
  return (*extent)->offset;
}

// A disk that hangs does not let the queue outgrow the ring.
void Ring::await_disk(SliceId slice) {
  for_disk_.push_back(slice);
  if (for_disk_.size() <= 2 * index_.size() + kForDiskMin) return;
  std::erase_if(for_disk_, [this](SliceId waiting) { return !index_.contains(waiting); });
}

void Ring::leave_memory(SliceId slice) {
  Entry& entry = index_.at(slice);
  entry.memory.reset();
  if (!entry.disk) forget(entry);
}

void Ring::leave_disk(SliceId slice) {
  Entry& entry = index_.at(slice);
  entry.disk.reset();
  entry.on_disk = OnDisk::gone;
  if (!entry.memory) forget(entry);
}

void Ring::forget(Entry& entry) {
  fate_of(entry).add(entry.slice);
  ++gone_count_;
  const auto [first, last] = times_.equal_range(entry.time);
  times_.erase(std::find_if(first, last, [&](const auto& at) { return at.second == entry.slice; }));
  index_.erase(entry.slice);
}

SliceSum& Ring::fate_of(const Entry& entry) {
  Gone& gone = gone_at(entry.time);
  if (settings_.disk_bytes == 0 || entry.on_disk == OnDisk::gone) return gone.too_old;
  if (entry.on_disk == OnDisk::no_room) return gone.no_room;
  ++(disk_fails_ ? failed_count_ : slow_count_);
  return disk_fails_ ? gone.disk_failed : gone.disk_slow;
}

// A window never begins before the oldest quantum that the supervisor counts, which sees the slices of all
// DCMs and so forgets earlier than a DCM does.
Ring::Gone& Ring::gone_at(UtcNs time) {
  const std::int64_t quantum = quantum_of(time);
  if (gone_.size() >= kTimesMax && !gone_.contains(quantum)) gone_.erase(gone_.begin());
  return gone_[quantum];
}

std::optional<Ring::Write> Ring::next_write() {
  while (!for_disk_.empty()) {
    const auto found = index_.find(for_disk_.front());
    if (found == index_.end() ||
        found->second.on_disk != OnDisk::no) {  // overwritten, and perhaps kept again
      for_disk_.pop_front();
      continue;
    }
    Entry& entry = found->second;
    if (writing_ > 0 && writing_ + entry.bytes > settings_.writing_bytes_max) return std::nullopt;
    for_disk_.pop_front();
    const auto is_held = [this](SliceId there) {
      const Entry& other = index_.at(there);
      return other.wanted != 0 || other.on_disk == OnDisk::writing;
    };
    entry.disk = disk_.place(entry.slice, entry.bytes, is_held, [this](SliceId there) { leave_disk(there); });
    if (!entry.disk) {
      entry.on_disk = OnDisk::no_room;
      continue;
    }
    entry.on_disk = OnDisk::writing;
    writing_ += entry.bytes;
    return Write{entry.slice, (*entry.memory)->offset, (*entry.disk)->offset, entry.bytes};
  }
  return std::nullopt;
}

void Ring::written(SliceId slice, std::uint32_t checksum) {
  Entry& entry = index_.at(slice);
  WEIR_ASSERT(entry.on_disk == OnDisk::writing);
  entry.on_disk = OnDisk::yes;
  entry.checksum = checksum;
  WEIR_ASSERT(entry.bytes <= writing_);
  writing_ -= entry.bytes;
  if (entry.wanted != 0) frozen_memory_ -= entry.bytes;
  disk_fails_ = false;
}

void Ring::write_failed(SliceId slice) {
  Entry& entry = index_.at(slice);
  WEIR_ASSERT(entry.on_disk == OnDisk::writing);
  disk_.remove(*entry.disk);
  entry.disk.reset();
  entry.on_disk = OnDisk::no;
  WEIR_ASSERT(entry.bytes <= writing_);
  writing_ -= entry.bytes;
  for_disk_.push_front(slice);
  disk_fails_ = true;
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
    account.disk_slow += gone->second.disk_slow;
    account.disk_failed += gone->second.disk_failed;
  }
  const auto slot = static_cast<std::size_t>(free - slots_.begin());
  for (auto at = times_.lower_bound(alert.from); at != times_.end() && at->first < alert.until; ++at)
    ask(slot, index_.at(at->second));
}

void Ring::ask(std::size_t slot, Entry& entry) {
  Open& open = *slots_[slot];
  const std::uint64_t in_memory = entry.on_disk == OnDisk::yes ? 0 : entry.bytes;
  if (entry.wanted == 0) {
    if (frozen_ + entry.bytes > settings_.frozen_bytes_max ||
        frozen_memory_ + in_memory > settings_.frozen_memory_bytes_max) {
      open.account.no_room.add(entry.slice);
      return;
    }
    frozen_ += entry.bytes;
    frozen_memory_ += in_memory;
  }
  entry.wanted |= bit(slot);
  open.account.waiting.add(entry.slice);
  open.queue.push_back(entry.slice);
}

void Ring::let_go(Entry& entry, std::size_t slot) {
  WEIR_ASSERT(entry.wanted & bit(slot));
  if (entry.sending & bit(slot)) in_flight_ -= entry.bytes;
  entry.wanted &= static_cast<std::uint16_t>(~bit(slot));
  entry.sending &= static_cast<std::uint16_t>(~bit(slot));
  entry.from_memory &= entry.sending;
  if (entry.wanted == 0) {
    WEIR_ASSERT(entry.bytes <= frozen_);
    frozen_ -= entry.bytes;
    if (entry.on_disk != OnDisk::yes) frozen_memory_ -= entry.bytes;
  }
  slots_[slot]->account.waiting.remove(entry.slice);
}

void Ring::close(std::uint32_t alert) {
  const auto slot = slot_of(alert);
  if (!slot) return;
  Open& open = *slots_[*slot];
  if (open.account.waiting.count > 0) {
    for (auto& [slice, entry] : index_) {
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
    Entry& entry = index_.at(open.queue.front());
    if (in_flight_ > 0 && in_flight_ + entry.bytes > settings_.in_flight_bytes_max) return std::nullopt;
    open.queue.pop_front();
    entry.sending |= bit(slot);
    if (entry.memory) entry.from_memory |= bit(slot);
    in_flight_ += entry.bytes;
    turn_ = slot + 1;
    // A pause is not saved up: a second's bytes take a second from here.
    const double ns = static_cast<double>(entry.bytes) * kSecond / static_cast<double>(settings_.bytes_per_s);
    paid_ns_ = std::max(paid_ns_, now - 10 * kMillisecond) + static_cast<DurationNs>(ns);
    const auto& from = entry.memory ? entry.memory : entry.disk;
    return Record{open.alert.number, entry.slice,   entry.attempt, (*from)->offset,
                  entry.bytes,       !entry.memory, entry.checksum};
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
  if (!found || at == index_.end() || (at->second.sending & bit(*found)) == 0) return nullptr;
  slot = *found;
  return &at->second;
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

void Ring::read_failed(std::uint32_t alert, SliceId slice) {
  std::size_t slot = 0;
  Entry* entry = in_flight(alert, slice, slot);
  if (entry == nullptr) return;
  let_go(*entry, slot);
  slots_[slot]->account.disk_failed.add(slice);
}

void Ring::send_again(std::uint32_t alert, SliceId slice) {
  std::size_t slot = 0;
  Entry* entry = in_flight(alert, slice, slot);
  if (entry == nullptr) return;
  entry->sending &= static_cast<std::uint16_t>(~bit(slot));
  entry->from_memory &= entry->sending;
  WEIR_ASSERT(entry->bytes <= in_flight_);
  in_flight_ -= entry->bytes;
  slots_[slot]->queue.push_front(slice);
}

const Account* Ring::account(std::uint32_t alert) const {
  if (const auto slot = slot_of(alert)) return &slots_[*slot]->account;
  const auto found = closed_.find(alert);
  return found == closed_.end() ? nullptr : &found->second;
}

std::string_view Ring::broken_invariant() const {
  for (const Region* region : {&memory_, &disk_}) {
    std::uint64_t used = 0;
    std::uint64_t end = 0;
    for (const Region::Extent& extent : region->extents()) {
      if (extent.offset < end) return "two slices of the burst ring overlap";
      if (!index_.contains(extent.slice)) return "the burst ring has the bytes of no slice";
      end = extent.end();
      used += extent.bytes;
    }
    if (end > region->bytes()) return "a slice ends outside the burst ring";
    if (used != region->used()) return "the burst ring's bytes are miscounted";
  }
  if (times_.size() != index_.size()) return "the burst ring's tables differ";
  return broken_alerts();
}

std::string_view Ring::broken_alerts() const {
  std::uint64_t frozen = 0;
  std::uint64_t only_memory = 0;
  std::uint64_t writing = 0;
  std::array<std::uint64_t, kOpenAlertsMax> waiting{};
  for (const auto& [slice, entry] : index_) {
    const bool has_extent = entry.on_disk == OnDisk::writing || entry.on_disk == OnDisk::yes;
    if (entry.disk.has_value() != has_extent) return "the burst ring's disk differs from its table";
    if (!entry.memory && entry.on_disk != OnDisk::yes) return "a slice of the burst ring has no bytes";
    if (entry.on_disk == OnDisk::writing) writing += entry.bytes;
    if (entry.wanted != 0) frozen += entry.bytes;
    if (entry.wanted != 0 && entry.on_disk != OnDisk::yes) only_memory += entry.bytes;
    if ((entry.sending & ~entry.wanted) != 0 || (entry.from_memory & ~entry.sending) != 0)
      return "a slice is sent that no alert asks for";
    for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] += entry.wanted & bit(i) ? 1 : 0;
  }
  if (frozen != frozen_ || only_memory != frozen_memory_ || writing != writing_)
    return "the burst ring's bytes are miscounted";
  if (frozen > settings_.frozen_bytes_max || only_memory > settings_.frozen_memory_bytes_max)
    return "more bytes are frozen than may be";
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (slots_[i] && slots_[i]->account.waiting.count != waiting[i])
      return "an alert's slices are miscounted";
    if (!slots_[i] && waiting[i] > 0) return "a slice is frozen for no alert";
  }
  return {};
}

}  // namespace weir::burst
