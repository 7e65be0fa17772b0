#include <weir/assignment/slice_book.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>

namespace weir::assignment {
namespace {

std::size_t ring_size(std::size_t in_flight_max, std::size_t remembered) {
  const std::size_t wanted = std::max(2 * in_flight_max, remembered);
  std::size_t power = 1;
  while (power < wanted) power *= 2;
  return power;
}

}  // namespace

SliceBook::SliceBook(std::size_t in_flight_max, std::size_t remembered)
    : ring_(ring_size(in_flight_max, remembered)), mask_(ring_.size() - 1) {}

SliceEntry* SliceBook::insert(SliceId slice, const TriggerInfo& info, ConstBytes payload) {
  if (find(slice) != nullptr) return nullptr;
  SliceEntry* entry = &ring_[slice.value & mask_];
  if (entry->live()) entry = &overflow_[slice];
  lowest_ = live_ == 0 ? slice.value : std::min(lowest_, slice.value);
  highest_ = live_ == 0 ? slice.value : std::max(highest_, slice.value);
  *entry = SliceEntry{};
  entry->slice = slice;
  entry->info = info;
  entry->state = SliceState::pending;
  if (!payload.empty()) {
    entry->has_payload = true;
    payloads_.emplace(slice, std::vector<std::byte>(payload.begin(), payload.end()));
    payload_bytes_ += payload.size();
  }
  ++live_;
  return entry;
}

void SliceBook::settle(SliceEntry& entry, Outcome outcome) {
  WEIR_ASSERT(entry.live());
  const SliceId slice = entry.slice;
  if (entry.has_payload) {
    const auto found = payloads_.find(slice);
    WEIR_ASSERT(found->second.size() <= payload_bytes_);
    payload_bytes_ -= found->second.size();
    payloads_.erase(found);
    entry.has_payload = false;
  }
  if (entry.has_forwarded) {
    forwarded_.erase(slice);
    entry.has_forwarded = false;
  }
  entry.state = SliceState::settled;
  entry.outcome = outcome;
  WEIR_ASSERT(live_ > 0);
  --live_;
  SliceEntry& place = ring_[slice.value & mask_];
  if (&place == &entry) return;
  if (!place.live()) place = entry;
  overflow_.erase(slice);
}

ConstBytes SliceBook::payload(const SliceEntry& entry) const {
  if (!entry.has_payload) return {};
  return payloads_.find(entry.slice)->second;
}

void SliceBook::set_forwarded(SliceEntry& entry, ConstBytes bytes) {
  WEIR_ASSERT(entry.live());
  entry.has_forwarded = !bytes.empty();
  if (bytes.empty()) {
    forwarded_.erase(entry.slice);
  } else {
    forwarded_[entry.slice].assign(bytes.begin(), bytes.end());
  }
}

ConstBytes SliceBook::forwarded(const SliceEntry& entry) const {
  if (!entry.has_forwarded) return {};
  return forwarded_.find(entry.slice)->second;
}

SliceEntry* SliceBook::find_overflow(SliceId slice) {
  const auto found = overflow_.find(slice);
  return found == overflow_.end() ? nullptr : &found->second;
}

}  // namespace weir::assignment
