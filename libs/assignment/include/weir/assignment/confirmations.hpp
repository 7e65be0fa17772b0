#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/assignment/given_up_copies.hpp>
#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/slice_book.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::assignment {

// What an acknowledged copy is.
enum class Copy : std::uint8_t {
  live,       // of the last confirmation, and the slice is still confirmed: it is stored
  late_live,  // of the last confirmation, which was given up, and no other was confirmed since: it is stored,
              // too
  repeated,   // it counted already
  dead,       // another one counts, or none
  old_live,   // of a slice that is forgotten, and not known as given up: it is the one that counts
  old_dead    // ... that was given up
};

// Accepted slices on their way to disk: each is confirmed to one writer at a time, under a higher epoch each
// time, and one copy of it counts. Pure; one thread.
class Confirmations {
 public:
  enum class Result : std::uint8_t {
    confirmed,
    no_writer,  // none is there: it waits for one
    exhausted   // there is no further epoch
  };

  explicit Confirmations(std::size_t writers) : writers_(writers), given_up_(writers) {}

  // Of a slice that is accepted; an earlier confirmation was given up. To the next writer in turn, not to
  // `silent` or to one of `unreached` while there is another.
  [[nodiscard]] Result confirm(SliceEntry& entry, TimeNs now, NodeIndex silent,
                               std::span<const NodeIndex> unreached);
  // A confirmation is taken back: its copy may be on disk, or get there, and does not count. Changes nothing
  // for a slice that is not confirmed.
  void give_up(const SliceEntry& entry);
  // `entry`: null when the slice is forgotten.
  [[nodiscard]] Copy judge(const SliceEntry* entry, NodeIndex writer, const StoredAck& ack) const;
  // A copy that is late_live counts from here on.
  void take(SliceEntry& entry, NodeIndex writer, const StoredAck& ack);
  // The slice is over, and is not stored.
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
