#include <weir/assignment/slice_book.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/transitions.hpp>

#include <algorithm>

namespace weir::assignment {
namespace {

// No state follows settled: the book forgets the slice.
constexpr Transitions kTransitions({
    Transition<SliceState>{SliceState::empty, SliceState::pending},
    {SliceState::pending, SliceState::assigned},
    {SliceState::pending, SliceState::settled},
    {SliceState::assigned, SliceState::pending},
    {SliceState::assigned, SliceState::waiting_writer},
    {SliceState::assigned, SliceState::confirmed},
    {SliceState::assigned, SliceState::settled},
    {SliceState::waiting_writer, SliceState::pending},
    {SliceState::waiting_writer, SliceState::waiting_writer},
    {SliceState::waiting_writer, SliceState::confirmed},
    {SliceState::waiting_writer, SliceState::settled},
    {SliceState::confirmed, SliceState::pending},
    {SliceState::confirmed, SliceState::waiting_writer},
    {SliceState::confirmed, SliceState::confirmed},
    {SliceState::confirmed, SliceState::settled},
});

std::size_t ring_size(std::size_t in_flight_max, std::size_t remembered) {
  const std::size_t wanted = std::max(2 * in_flight_max, remembered);
  std::size_t power = 1;
  while (power < wanted) power *= 2;
  return power;
}

}  // namespace

void enter(SliceEntry& entry, SliceState state) {
  WEIR_ASSERT(kTransitions.allow(entry.state, state));
  entry.state = state;
}

SliceBook::SliceBook(std::size_t in_flight_max, std::size_t remembered)
    : ring_(ring_size(in_flight_max, remembered)), mask_(ring_.size() - 1) {}

SliceEntry* SliceBook::insert(SliceId slice, const TriggerInfo& info, ConstBytes payload) {
  if (find(slice) != nullptr) return nullptr;
  SliceEntry* entry = &ring_[slice.value & mask_];
  if (entry->live()) entry = &overflow_[slice];
  WEIR_ASSERT(!entry->live() && live_ < ring_.size() + overflow_.size());
  lowest_ = live_ == 0 ? slice.value : std::min(lowest_, slice.value);
  highest_ = live_ == 0 ? slice.value : std::max(highest_, slice.value);
  *entry = SliceEntry{};
  entry->slice = slice;
  entry->info = info;
  enter(*entry, SliceState::pending);
  if (!payload.empty()) {
    entry->has_payload = true;
    payloads_.emplace(slice, std::vector<std::byte>(payload.begin(), payload.end()));
    payload_bytes_ += payload.size();
    WEIR_ASSERT(payloads_.size() <= live_ + 1);
  }
  ++live_;
  return entry;
}

void SliceBook::settle(SliceEntry& entry, Outcome outcome) {
  WEIR_ASSERT(entry.live());
  const SliceId slice = entry.slice;
  if (entry.has_payload) {
    const auto found = payloads_.find(slice);
    WEIR_ASSERT(found != payloads_.end());
    WEIR_ASSERT(found->second.size() <= payload_bytes_);
    payload_bytes_ -= found->second.size();
    payloads_.erase(found);
    entry.has_payload = false;
  }
  if (entry.has_forwarded) {
    forwarded_.erase(slice);
    entry.has_forwarded = false;
  }
  enter(entry, SliceState::settled);
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
  WEIR_ASSERT(payloads_.contains(entry.slice));
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
  WEIR_ASSERT(forwarded_.contains(entry.slice));
  return forwarded_.find(entry.slice)->second;
}

SliceEntry* SliceBook::find_overflow(SliceId slice) {
  const auto found = overflow_.find(slice);
  return found == overflow_.end() ? nullptr : &found->second;
}

}  // namespace weir::assignment
