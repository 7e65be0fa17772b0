#pragma once

#include <weir/assignment/words.hpp>
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
  empty,           // never used
  pending,         // waits for a DCM
  assigned,        // a DCM has the lease of `attempt`
  waiting_writer,  // accepted, not confirmed: no writer is available
  confirmed,       // accepted and confirmed to `writer` under `epoch`, not on disk yet
  settled          // ended; remembered for a while to recognise late messages
};

struct SliceEntry {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  TimeNs since = 0;  // of the lease, or of the confirmation
  Attempt attempt;   // the open attempt, or the last one
  StoreEpoch epoch;  // of the last confirmation; valid if `confirmations` > 0
  NodeIndex dcm = kNoNode;
  NodeIndex writer = kNoNode;
  Attempt copy_attempt;  // of the last confirmation, like the writer of the copy
  NodeIndex copy_writer = kNoNode;
  bool copy_incomplete = false;     // from its accepting decision
  std::uint16_t before = 0;         // other slices that the DCM had when it received this one
  std::uint16_t confirmations = 0;  // accepts that were confirmed, over all attempts
  SliceState state = SliceState::empty;
  Outcome outcome = Outcome::discarded;  // when settled
  std::uint8_t kills = 0;                // attempts that killed or stalled their filter
  std::uint8_t losses = 0;    // attempts during which their DCM died or stalled without a slice to blame
  bool suspect = false;       // goes through a filter alone
  bool held = false;          // accepted by its DCM, which sends the decision later
  std::uint8_t refusals = 0;  // records refused by writers
  bool incomplete = false;    // from the last accepting decision
  bool has_payload = false;
  GroupIndex group;  // the group that builds it
  bool has_forwarded = false;
  bool arrived = false;  // forwarded, and not yet assigned in its group
  NodeIndex kept_by =
      kNoNode;  // DCM of an earlier group that keeps the whole slice, as attempt `kept_attempt`
  Attempt kept_attempt;

  [[nodiscard]] bool live() const { return state != SliceState::empty && state != SliceState::settled; }
};

// Moves a slice to a following state.
void enter(SliceEntry& entry, SliceState state);

// Every unsettled slice of the run, and the last settled ones. A slice is stored at its id modulo the size of
// a ring, which costs almost nothing for ascending ids; if another unsettled slice occupies the place, it is
// stored in a map. A settled slice is remembered until a later id takes its place. No allocation in steady
// state, except for payloads and non-ascending ids. One thread; pointers are valid until the next insert or
// settle.
class SliceBook {
 public:
  // `remembered`: minimum number of consecutive ids over which a settled slice is remembered.
  SliceBook(std::size_t in_flight_max, std::size_t remembered);

  // Adds a pending entry; returns null if the id is unsettled or remembered.
  [[nodiscard]] SliceEntry* insert(SliceId slice, const TriggerInfo& info, ConstBytes payload);
  // Returns an unsettled or remembered slice, otherwise null.
  [[nodiscard]] SliceEntry* find(SliceId slice) {
    SliceEntry& entry = ring_[slice.value & mask_];
    if (entry.slice == slice && entry.state != SliceState::empty) return &entry;
    return overflow_.empty() ? nullptr : find_overflow(slice);
  }
  // Settles an unsettled slice. Invalidates `entry`.
  void settle(SliceEntry& entry, Outcome outcome);

  // Returns the trigger's payload; empty if it has none.
  [[nodiscard]] ConstBytes payload(const SliceEntry& entry) const;
  // Stores the bytes with which the slice is forwarded, in place of earlier ones.
  void set_forwarded(SliceEntry& entry, ConstBytes bytes);
  // Returns the forwarded bytes; empty if there are none.
  [[nodiscard]] ConstBytes forwarded(const SliceEntry& entry) const;
  [[nodiscard]] std::size_t live() const { return live_; }
  [[nodiscard]] std::size_t payload_bytes() const { return payload_bytes_; }

  // Calls visit(SliceEntry&) for each unsettled slice, in unspecified order. Requires: visit neither inserts
  // nor settles. Costs a pass over the ids from the lowest unsettled one to the highest, or over the whole
  // ring if they are further apart.
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
  // Lists the unsettled slices for which wanted(entry) holds, in the order of announcement: the caller may
  // settle and insert, and the order does not depend on the book's layout. Costs as for_each_live(), plus the
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
  // Calls visit(const SliceEntry&) for each unsettled or remembered slice.
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
  std::uint64_t lowest_ = 0;  // bounds of the unsettled ids in the ring; the other is `highest_`
  std::uint64_t highest_ = 0;
  std::size_t payload_bytes_ = 0;
};

}  // namespace weir::assignment
