#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/assignment/given_up_copies.hpp>
#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/slice_book.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::assignment {

// The status of an acknowledged copy.
enum class Copy : std::uint8_t {
  live,       // of the last confirmation, which is still in force: the slice is stored
  late_live,  // of the last confirmation, which was given up without a further one: the slice is stored,
              // too
  repeated,   // counted before
  dead,       // another copy counts, or none
  old_live,   // of a forgotten slice, and not known as given up: it is the live copy
  old_dead    // of a forgotten slice, and given up
};

// Accepted slices on their way to disk: each is confirmed to one writer at a time, under a higher epoch each
// time, and one copy of it counts. Pure; one thread.
class Confirmations {
 public:
  enum class Result : std::uint8_t {
    confirmed,
    no_writer,  // no writer is available: the slice waits for one
    exhausted   // epochs are used up
  };

  explicit Confirmations(std::size_t writers) : writers_(writers), given_up_(writers) {}

  // Confirms an accepted slice. Requires: any earlier confirmation was given up. Chooses the next writer in
  // turn, and avoids `silent` and `unreached` while another is available.
  [[nodiscard]] Result confirm(SliceEntry& entry, TimeNs now, NodeIndex silent,
                               std::span<const NodeIndex> unreached);
  // Takes a confirmation back: its copy does not count, even if it is or will be on disk. No effect if the
  // slice is not confirmed.
  void give_up(const SliceEntry& entry);
  // `entry`: null if the slice is forgotten.
  [[nodiscard]] Copy judge(const SliceEntry* entry, NodeIndex writer, const CopyId& ack) const;
  // Makes a late_live copy the one that counts.
  void take(SliceEntry& entry, NodeIndex writer, const CopyId& ack);
  // Marks the copies of a slice that ended without being stored.
  void not_stored(const SliceEntry& entry) {
    if (entry.confirmations > 0) given_up_.orphan(entry.slice);
  }

  [[nodiscard]] NodeTable& writers() { return writers_; }
  [[nodiscard]] const NodeTable& writers() const { return writers_; }
  [[nodiscard]] GivenUpCopies& given_up() { return given_up_; }
  [[nodiscard]] const GivenUpCopies& given_up() const { return given_up_; }

 private:
  NodeTable writers_;
  GivenUpCopies given_up_;
};

}  // namespace weir::assignment
