#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/bytes.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir::assignment {

enum class SliceState : std::uint8_t {
  empty,           // no slice was ever here
  pending,         // waits for a DCM
  assigned,        // a DCM has the lease of `attempt`
  waiting_writer,  // accepted, not confirmed: no writer is there
  confirmed,       // accepted and confirmed to `writer` under `epoch`, not on disk yet
  settled          // over; kept for a while to recognise what comes late
};

struct SliceEntry {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  TimeNs since = 0;  // of the lease, or of the confirmation
  Attempt attempt;   // the one that is open, or the last one
  StoreEpoch epoch;  // of the last confirmation; means something when `confirmations` > 0
  NodeIndex dcm = kNoNode;
  NodeIndex writer = kNoNode;
  Attempt copy_attempt;  // of the last confirmation, as is the writer of the copy
  NodeIndex copy_writer = kNoNode;
  bool copy_incomplete = false;     // as its accepting decision said
  std::uint16_t before = 0;         // other slices that the DCM had when it was given this one
  std::uint16_t confirmations = 0;  // accepts that were confirmed, over all attempts
  SliceState state = SliceState::empty;
  Outcome outcome = Outcome::discarded;  // when settled
  std::uint8_t kills = 0;                // attempts that killed or stalled their filter
  std::uint8_t losses = 0;               // attempts whose DCM died or stalled without a slice to blame
  bool suspect = false;                  // goes through a filter alone
  bool held = false;                     // accepted by its DCM, whose decision is to follow
  std::uint8_t refusals = 0;             // records of it that writers refused
  bool incomplete = false;               // as the last accepting decision said
  bool has_payload = false;
  GroupIndex group;  // of the DCMs that it is for
  bool has_forwarded = false;
  bool arrived = false;  // was forwarded, and has not been assigned in its group yet

  [[nodiscard]] bool live() const { return state != SliceState::empty && state != SliceState::settled; }
};

// Every unsettled slice of the run, and the last settled ones. A slice lives at its id modulo the size of a
// ring, which costs next to nothing where ids ascend; where another unsettled slice is in its place, in a
// map. A settled slice stays known until a later id takes its place. No allocation in steady state, but for
// payloads and for ids that do not ascend. One thread; pointers are valid until the next insert or settle.
class SliceBook {
 public:
  // `remembered`: over how many consecutive ids a settled slice stays known, at least.
  SliceBook(std::size_t in_flight_max, std::size_t remembered);

  // A new pending entry; null when the id is unsettled or remembered.
  [[nodiscard]] SliceEntry* insert(SliceId slice, const TriggerInfo& info, ConstBytes payload);
  // Unsettled or remembered; null when unknown.
  [[nodiscard]] SliceEntry* find(SliceId slice) {
    SliceEntry& entry = ring_[slice.value & mask_];
    if (entry.slice == slice && entry.state != SliceState::empty) return &entry;
    return overflow_.empty() ? nullptr : find_overflow(slice);
  }
  // Ends an unsettled slice's life. `entry` is invalid afterwards.
  void settle(SliceEntry& entry, Outcome outcome);

  // Empty when the slice came without.
  [[nodiscard]] ConstBytes payload(const SliceEntry& entry) const;
  // Keeps the bytes that the slice is forwarded with, in place of earlier ones.
  void set_forwarded(SliceEntry& entry, ConstBytes bytes);
  // Empty when nothing was forwarded.
  [[nodiscard]] ConstBytes forwarded(const SliceEntry& entry) const;
  [[nodiscard]] std::size_t live() const { return live_; }
  [[nodiscard]] std::size_t payload_bytes() const { return payload_bytes_; }

  // Calls visit(SliceEntry&) for each unsettled slice, in no order worth relying on; visit neither inserts
  // nor settles. Costs a pass over the ids from the lowest unsettled one to the highest, or over the whole
  // ring where they are further apart.
  template <class Visit>
  void for_each_live(Visit visit) {
    if (live_ == 0) return;
    std::optional<std::uint64_t> lowest;
    if (highest_ - lowest_ >= ring_.size()) {
      for (SliceEntry& entry : ring_) {
        if (!entry.live()) continue;
        lowest = std::min(entry.slice.value, lowest.value_or(UINT64_MAX));
        visit(entry);
      }
    } else {
      const std::uint64_t first = lowest_;
      for (std::uint64_t i = 0; i <= highest_ - first; ++i) {
        SliceEntry& entry = ring_[(first + i) & mask_];
        if (!entry.live() || entry.slice.value != first + i) continue;
        if (!lowest) lowest = first + i;
        visit(entry);
      }
    }
    lowest_ = lowest.value_or(highest_);
    for (auto& [slice, entry] : overflow_) visit(entry);
  }
  // Lists the unsettled slices that are wanted(entry), in the order of announcement: the caller may settle
  // and insert, and the order does not depend on where the book keeps them. Costs as for_each_live(), and the
  // sort.
  template <class Wanted>
  void collect(std::vector<SliceId>& slices, Wanted wanted) {
    std::vector<std::pair<SliceOrder, SliceId>> in_order;
    for_each_live([&](const SliceEntry& entry) {
      if (wanted(entry)) in_order.emplace_back(entry.order, entry.slice);
    });
    std::sort(in_order.begin(), in_order.end());
    slices.clear();
    for (const auto& [order, slice] : in_order) slices.push_back(slice);
  }
  // Likewise visit(const SliceEntry&) for each that is unsettled or remembered.
  template <class Visit>
  void for_each_known(Visit visit) const {
    for (const SliceEntry& entry : ring_) {
      if (entry.state != SliceState::empty) visit(entry);
    }
    for (const auto& [slice, entry] : overflow_) visit(entry);
  }

 private:
  [[nodiscard]] SliceEntry* find_overflow(SliceId slice);

  std::vector<SliceEntry> ring_;
  std::uint64_t mask_;
  boost::unordered_flat_map<SliceId, SliceEntry, std::hash<SliceId>> overflow_;  // unsettled only
  boost::unordered_flat_map<SliceId, std::vector<std::byte>, std::hash<SliceId>> payloads_;
  boost::unordered_flat_map<SliceId, std::vector<std::byte>, std::hash<SliceId>> forwarded_;
  std::size_t live_ = 0;
  std::uint64_t lowest_ = 0;  // no unsettled id of the ring is below, none above `highest_`
  std::uint64_t highest_ = 0;
  std::size_t payload_bytes_ = 0;
};

}  // namespace weir::assignment
