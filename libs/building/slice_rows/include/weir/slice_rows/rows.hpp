#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/slice_rows/words.hpp>
#include <weir/wire/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// The rows of messages about slices; slice_codec converts them.
namespace weir::slice_rows {

// Writer -> supervisor, in frames of their own: this copy is on disk.
using wire::CopyId;

// DCM -> supervisor. An accept always stores a record, even if it keeps no data and has no output events.
struct AttemptDecision {
  SliceId slice;
  Attempt attempt;
  Verdict verdict = Verdict::reject;
  DiscardReason reason = DiscardReason::none;  // when failed
  bool incomplete = false;                     // fragments were missing
  GroupIndex group = {};                       // when forwarded: the destination group
  ConstBytes bytes = {};                       // when forwarded: for that group's filter
  bool kept = false;                           // when forwarded: the DCM offers to keep the whole slice
};

// The lease of an attempt, held by a DCM.
struct Lease {
  SliceId slice;
  Attempt attempt;
  bool operator==(const Lease&) const = default;
};

// A slice that killed a filter worker of its DCM.
struct FilterKill {
  SliceId slice;
  Attempt attempt;
  std::uint32_t number = 1;  // number of kills
};

// DCM -> supervisor: slices in its filter that matter for blame; replaces the DCM's previous note.
struct FilterNote {
  std::vector<Lease>
      for_long;  // in the filter for half a lease or more: only these are blamed when their lease expires
  // A suspect in the filter, and all that is in the filter beside it (it hangs there). The DCM starts no
  // other slice until it has sent another note and the supervisor has answered it. If the DCM dies, one of
  // these is to blame. Without a suspect: what hangs in the filter while others pass it.
  std::optional<Lease> suspect;
  std::vector<Lease> beside{};
};

// Supervisor -> readouts: a new slice.
struct Announcement {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  std::uint32_t payload_offset =
      0;  // in Actions::payload: the trigger's payload, which is not sent to readouts
  std::uint32_t payload_length = 0;
};

// Supervisor -> DCM: an attempt, as the supervisor sends it.
struct Assignment {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  std::uint32_t payload_offset = 0;  // in Actions::payload
  std::uint32_t payload_length = 0;
  Attempt attempt;
  bool unfiltered = false;  // poison: accept to the debug stream unseen
  // Its DCM died, and no other slice is known to blame: the slice runs alone in the filter, after the
  // supervisor has been notified.
  bool suspect = false;
  std::uint8_t kills = 0;  // earlier attempts that killed or stalled their filter
  std::uint8_t losses =
      0;  // earlier attempts during which their DCM died or stalled without a slice to blame
  std::uint32_t forwarded_offset = 0;  // in Actions::payload: bytes forwarded by the previous group
  std::uint32_t forwarded_length = 0;
  NodeIndex kept_by = kNoNode;  // DCM that keeps the whole slice, as its attempt `kept_attempt`
  Attempt kept_attempt;
};

// The same, as the DCM receives it: it owns the bytes.
struct AssignedSlice {
  SliceId slice;
  SliceOrder order;  // 0 where no readout was absent before it
  Attempt attempt;
  UtcNs time = 0;
  DurationNs duration = 0;
  TriggerType type;
  bool unfiltered = false;  // poison: accept to the debug stream unseen
  bool suspect = false;     // of its DCM's death: runs alone in the filter
  std::uint8_t kills = 0;   // kills of filters by earlier attempts
  std::uint16_t forwarded_bytes =
      0;                           // the end of `payload`: bytes forwarded by the filter of an earlier group
  std::vector<std::byte> payload;  // the trigger's payload, then forwarded bytes
  bool is_kept = false;            // whole in DCM `kept_by`, as its attempt `kept_attempt`
  NodeIndex kept_by;
  Attempt kept_attempt;

  [[nodiscard]] ConstBytes trigger_payload() const {
    WEIR_ASSERT(forwarded_bytes <= payload.size());
    return ConstBytes(payload).first(payload.size() - forwarded_bytes);
  }
  [[nodiscard]] ConstBytes forwarded() const { return ConstBytes(payload).last(forwarded_bytes); }
};

// Supervisor -> DCM: the answer to a decision.
struct Confirmation {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;            // when answer is store
  NodeIndex writer = kNoNode;  // when answer is store
  Answer answer = Answer::refused;
  bool incomplete = false;  // when answer is store: as it was accepted
};

// Sent to all readouts and all writers: the slice's fate is settled. Any other copy of the slice is dead, and
// so is every copy of a slice that is not stored.
struct Cleared {
  SliceId slice;
  SliceOrder order;
  Attempt attempt;
  StoreEpoch epoch;            // of the live copy, when stored
  NodeIndex writer = kNoNode;  // that stored it, when stored
  Outcome outcome = Outcome::discarded;
  DiscardReason reason = DiscardReason::none;  // when discarded
  bool incomplete = false;                     // when stored
  UtcNs time = 0;                              // of the trigger
  NodeIndex kept_by = kNoNode;                 // the DCM that keeps its data for bursts, if any
};

// Sent to one writer after an acknowledgement that did not settle a slice: the fate of that copy.
struct CopyNotice {
  NodeIndex writer;
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
  bool live = false;     // false: list it as dead
  bool settled = false;  // the slice is settled: no further message about it follows
};

// DCM -> DCM: a slice that the other one keeps as its attempt `attempt`, requested for the attempt `as`.
struct FetchRow {
  SliceId slice;
  Attempt attempt;
  Attempt as;
  bool operator==(const FetchRow&) const = default;
};

}  // namespace weir::slice_rows
