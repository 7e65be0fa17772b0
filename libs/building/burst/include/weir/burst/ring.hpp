#pragma once

#include <weir/base/ids.hpp>
#include <weir/burst/alert.hpp>
#include <weir/burst/region.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace weir::burst {

struct RingSettings {
  std::uint64_t bytes = 0;                        // of memory
  std::uint64_t frozen_bytes_max = 0;             // exempt from overwriting at a time
  std::uint64_t bytes_per_s = 0;                  // saved at most, on average
  std::uint64_t in_flight_bytes_max = 32U << 20;  // sent and not acknowledged; one larger record goes alone
  std::uint64_t disk_bytes = 0;                   // of disk behind the memory; 0: none
  // With a disk, `frozen_bytes_max` bounds the frozen bytes of both. Of it, records that only memory has:
  std::uint64_t frozen_memory_bytes_max = UINT64_MAX;
  std::uint64_t writing_bytes_max = 8U << 20;  // on their way to the disk; one larger record goes alone
};

// The slice records that a DCM keeps after their slices are settled, and which of them an alert saves. Places
// are offsets into a region of memory that the caller owns, and into one of disk. A new record overwrites the
// oldest ones in memory and never waits: it passes over frozen ones, and is given up (`no_room`) where no gap
// is long enough. With a disk, each record is written behind; memory overwrites copied records, and a
// record that the disk has not taken by then is lost, with the disk as its reason. A slice that an alert asks
// for is frozen until every alert that asks for it has it saved; alerts share its bytes. Pure.
class Ring {
 public:
  // One record to be sent to a writer.
  struct Record {
    std::uint32_t alert = 0;
    SliceId slice;
    Attempt attempt;
    std::uint64_t offset = 0;  // in memory, or on disk
    std::uint64_t bytes = 0;
    bool from_disk = false;
    std::uint32_t checksum = 0;  // on disk: as given to written()
  };
  // One record to be copied from memory to disk.
  struct Write {
    SliceId slice;
    std::uint64_t from = 0;  // offset in memory
    std::uint64_t to = 0;    // offset on disk
    std::uint64_t bytes = 0;
  };

  explicit Ring(const RingSettings& settings)
      : settings_(settings), memory_(settings.bytes), disk_(settings.disk_bytes) {}

  // Takes a settled slice. Returns where its record goes; nothing when it cannot be kept, or is here already.
  [[nodiscard]] std::optional<std::uint64_t> add(SliceId slice, Attempt attempt, UtcNs time,
                                                 std::uint64_t bytes);
  // The next record for the disk, the oldest first. Its memory is not overwritten until one of the two calls
  // below.
  [[nodiscard]] std::optional<Write> next_write();
  void written(SliceId slice, std::uint32_t checksum);
  // It is tried again later: the caller decides when it calls next_write().
  void write_failed(SliceId slice);

  // Freezes the slices of the alert's window, the oldest first, and those that come from now on. A number
  // that is known changes nothing. Requires: fewer than kOpenAlertsMax alerts are open.
  void open(const Alert& alert);
  [[nodiscard]] bool can_open() const;
  // No further slice belongs to the alert. Waiting slices are given up, and count as `refused`.
  void close(std::uint32_t alert);

  // The next record to be sent, alerts in turn, if rate and bytes in flight allow it. It is in flight
  // until one of the calls below.
  [[nodiscard]] std::optional<Record> next(TimeNs now);
  void saved(std::uint32_t alert, SliceId slice);
  void refused(std::uint32_t alert, SliceId slice);
  // The disk did not return it.
  void read_failed(std::uint32_t alert, SliceId slice);
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

  [[nodiscard]] std::uint64_t bytes_used() const { return memory_.used(); }
  [[nodiscard]] std::uint64_t disk_bytes_used() const { return disk_.used(); }
  [[nodiscard]] std::uint64_t bytes_frozen() const { return frozen_; }
  [[nodiscard]] std::uint64_t slices() const { return index_.size(); }
  [[nodiscard]] std::uint64_t kept() const { return kept_; }        // ever
  [[nodiscard]] std::uint64_t largest() const { return largest_; }  // bytes, of the slices ever kept
  [[nodiscard]] std::uint64_t overwritten() const { return gone_count_; }
  [[nodiscard]] std::uint64_t unplaced() const { return unplaced_; }  // found no room
  // Of the overwritten ones, those that the disk had not taken.
  [[nodiscard]] std::uint64_t disk_slow() const { return slow_count_; }
  [[nodiscard]] std::uint64_t disk_failed() const { return failed_count_; }
  // Trigger time of the oldest slice that is here; 0: none.
  [[nodiscard]] UtcNs oldest() const { return times_.empty() ? 0 : times_.begin()->first; }
  // Empty, or what does not fit together. Costs a walk over all slices.
  [[nodiscard]] std::string_view broken_invariant() const;

 private:
  enum class OnDisk : std::uint8_t {
    no,  // and may wait for it
    writing,
    yes,
    no_room,  // beside frozen ones
    gone,     // overwritten there
  };
  struct Entry {
    SliceId slice;
    Attempt attempt;
    UtcNs time = 0;
    std::uint64_t bytes = 0;
    std::optional<Region::Extents::iterator> memory;
    std::optional<Region::Extents::iterator> disk;
    OnDisk on_disk = OnDisk::no;
    std::uint32_t checksum = 0;     // of the disk's copy
    std::uint16_t wanted = 0;       // slots of alerts that it is frozen for
    std::uint16_t sending = 0;      // of them, in flight
    std::uint16_t from_memory = 0;  // of these, out of memory
    // Memory must not be overwritten.
    [[nodiscard]] bool holds_memory() const {
      return from_memory != 0 || on_disk == OnDisk::writing || (wanted != 0 && on_disk != OnDisk::yes);
    }
  };
  struct Gone {
    SliceSum too_old;
    SliceSum no_room;
    SliceSum disk_slow;
    SliceSum disk_failed;
  };
  struct Open {
    Alert alert;
    Account account;
    std::deque<SliceId> queue;
  };

  void await_disk(SliceId slice);
  void leave_memory(SliceId slice);
  void leave_disk(SliceId slice);
  void forget(Entry& entry);
  SliceSum& fate_of(const Entry& entry);
  [[nodiscard]] Gone& gone_at(UtcNs time);
  void ask(std::size_t slot, Entry& entry);
  void let_go(Entry& entry, std::size_t slot);
  [[nodiscard]] std::optional<std::size_t> slot_of(std::uint32_t alert) const;
  Entry* in_flight(std::uint32_t alert, SliceId slice, std::size_t& slot);
  [[nodiscard]] std::string_view broken_alerts() const;

  RingSettings settings_;
  Region memory_;
  Region disk_;
  std::unordered_map<SliceId, Entry> index_;
  std::multimap<UtcNs, SliceId> times_;
  std::map<std::int64_t, Gone> gone_;  // by quantum
  std::deque<SliceId> for_disk_;       // not written yet; some have been overwritten since
  std::uint64_t writing_ = 0;          // bytes
  bool disk_fails_ = false;            // at its last write
  std::array<std::optional<Open>, kOpenAlertsMax> slots_;
  std::size_t turn_ = 0;
  std::map<std::uint32_t, Account> closed_;
  std::uint64_t frozen_ = 0;
  std::uint64_t frozen_memory_ = 0;  // of them, not on disk
  std::uint64_t in_flight_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t largest_ = 0;
  std::uint64_t gone_count_ = 0;
  std::uint64_t slow_count_ = 0;
  std::uint64_t failed_count_ = 0;
  std::uint64_t unplaced_ = 0;
  TimeNs paid_ns_ = 0;  // the rate is used up until then
};

}  // namespace weir::burst
