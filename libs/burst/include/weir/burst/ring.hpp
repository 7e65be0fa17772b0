#pragma once

#include <weir/base/ids.hpp>
#include <weir/burst/alert.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace weir::burst {

struct RingSettings {
  std::uint64_t bytes = 0;                        // of the ring
  std::uint64_t frozen_bytes_max = 0;             // exempt from overwriting at a time
  std::uint64_t bytes_per_s = 0;                  // saved at most, on average
  std::uint64_t in_flight_bytes_max = 32U << 20;  // sent and not acknowledged; one larger record goes alone
};

// The slice records that a DCM keeps after their slices are settled, and which of them an alert saves. Places
// are offsets into a region of `bytes` that the caller owns. A new record overwrites the oldest ones and
// never waits: it passes over frozen ones, and is given up (`no_room`) where no gap is long enough. A slice
// that an alert asks for is frozen until every alert that asks for it has it on disk; alerts share its bytes.
// Pure.
class Ring {
 public:
  // One record to be sent to a writer.
  struct Record {
    std::uint32_t alert = 0;
    SliceId slice;
    Attempt attempt;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
  };

  explicit Ring(const RingSettings& settings) : settings_(settings) {}

  // Takes a settled slice. Returns where its record goes; nothing when it cannot be kept, or is here already.
  [[nodiscard]] std::optional<std::uint64_t> add(SliceId slice, Attempt attempt, UtcNs time,
                                                 std::uint64_t bytes);
  // Freezes the slices of the alert's window, the oldest first, and those that come from now on. A number
  // that is known changes nothing. Requires: fewer than kOpenAlertsMax alerts are open.
  void open(const Alert& alert);
  [[nodiscard]] bool can_open() const;
  // No further slice belongs to the alert. Waiting slices are given up, and count as `refused`.
  void close(std::uint32_t alert);

  // The next record to be sent, alerts in turn, if rate and bytes in flight allow it. It is in flight
  // until one of the three calls below.
  [[nodiscard]] std::optional<Record> next(TimeNs now);
  void saved(std::uint32_t alert, SliceId slice);
  void refused(std::uint32_t alert, SliceId slice);
  // It is sent once more: its connection broke, or the writer had no room.
  void send_again(std::uint32_t alert, SliceId slice);

  // Null: unknown alert.
  [[nodiscard]] const Account* account(std::uint32_t alert) const;
  [[nodiscard]] const std::map<std::uint32_t, Account>& closed() const { return closed_; }
  // Calls visit(const Alert&, const Account&) for each open alert.
  template <class Visit>
  void for_each_open(Visit visit) const {
    for (const auto& slot : slots_) {
      if (slot) visit(slot->alert, slot->account);
    }
  }

  [[nodiscard]] std::uint64_t bytes_used() const { return used_; }
  [[nodiscard]] std::uint64_t bytes_frozen() const { return frozen_; }
  [[nodiscard]] std::uint64_t slices() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t kept() const { return kept_; }  // ever
  [[nodiscard]] std::uint64_t overwritten() const { return gone_count_; }
  [[nodiscard]] std::uint64_t unplaced() const { return unplaced_; }  // found no room
  // Trigger time of the oldest slice that is here; 0: none.
  [[nodiscard]] UtcNs oldest() const { return entries_.empty() ? 0 : times_.begin()->first; }
  // Empty, or what does not fit together. Costs a walk over all slices.
  [[nodiscard]] std::string_view broken_invariant() const;

 private:
  struct Entry {
    SliceId slice;
    Attempt attempt;
    UtcNs time = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint16_t wanted = 0;   // slots of alerts that it is frozen for
    std::uint16_t sending = 0;  // of them, in flight
    [[nodiscard]] std::uint64_t end() const { return offset + bytes; }
  };
  using Entries = std::list<Entry>;  // by offset
  struct Gone {
    SliceSum too_old;
    SliceSum no_room;
  };
  struct Open {
    Alert alert;
    Account account;
    std::deque<SliceId> queue;
  };

  [[nodiscard]] std::optional<std::uint64_t> place(std::uint64_t bytes);
  void overwrite(Entries::iterator entry);
  Gone& gone_at(UtcNs time);
  void ask(std::size_t slot, Entry& entry);
  void let_go(Entry& entry, std::size_t slot);
  [[nodiscard]] std::optional<std::size_t> slot_of(std::uint32_t alert) const;
  Entry* in_flight(std::uint32_t alert, SliceId slice, std::size_t& slot);

  RingSettings settings_;
  Entries entries_;
  Entries::iterator head_ = entries_.end();  // the first one at or behind the cursor
  std::uint64_t cursor_ = 0;
  std::unordered_map<SliceId, Entries::iterator> index_;
  std::multimap<UtcNs, SliceId> times_;
  std::map<std::int64_t, Gone> gone_;  // by quantum
  std::array<std::optional<Open>, kOpenAlertsMax> slots_;
  std::size_t turn_ = 0;
  std::map<std::uint32_t, Account> closed_;
  std::uint64_t used_ = 0;
  std::uint64_t frozen_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t gone_count_ = 0;
  std::uint64_t unplaced_ = 0;
  TimeNs paid_ns_ = 0;  // the rate is used up until then
};

}  // namespace weir::burst
