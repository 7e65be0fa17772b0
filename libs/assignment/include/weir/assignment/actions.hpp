#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::assignment {

// --- inputs, in batches

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
  // A suspect that is alone in the filter. The DCM starts no other slice until it has sent another note and
  // the supervisor has answered it. If the DCM dies, this slice is to blame.
  std::optional<Lease> alone;
};

// Writer -> supervisor: this copy is on disk.
struct StoredAck {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
};

// --- outputs, in batches

// Sent to all readouts.
struct Announcement {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  std::uint32_t payload_offset =
      0;  // in Actions::payload: the trigger's payload, which is not sent to readouts
  std::uint32_t payload_length = 0;
};

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

// For the journal only: an attempt has failed. The slice's kills must outlive the supervisor's process.
struct Reopening {
  SliceId slice;
  std::uint8_t kills = 0;   // this and the following: as in SliceEntry
  std::uint8_t losses = 0;  //
  bool suspect = false;
  std::uint8_t refusals = 0;
};

// For the journal only: the slice's DCM reports that a filter worker died in it.
struct KillCount {
  SliceId slice;
  std::uint8_t kills = 0;  // total of the slice so far
};

// For the journal only: the slice waits for a DCM of this group.
struct Forwarding {
  SliceId slice;
  Attempt attempt;  // the next one
  GroupIndex group;
  std::uint32_t offset = 0;  // of its bytes, in Actions::payload
  std::uint32_t length = 0;
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

struct DcmActions {
  std::vector<Assignment> assign;
  std::vector<Confirmation> confirm;
};

// The machine's output. Inputs append to it; the node carries everything out once per pass, in this order,
// and calls clear(). The vectors keep their memory.
struct Actions {
  std::vector<Announcement> announce;
  std::vector<DcmActions> dcms;    // by index
  std::vector<NodeIndex> touched;  // the DCMs with entries in `dcms`, each once
  std::vector<Reopening> reopened;
  std::vector<KillCount> killed;  // for the journal only
  std::vector<Forwarding> forwarded;
  std::vector<Confirmation> unsent;  // for the journal only: their DCM left first
  std::vector<SliceId> fetched;      // for the journal only: whole in a DCM of their group
  std::vector<Cleared> cleared;
  std::vector<CopyNotice> copies;
  std::vector<NodeRef> leaving;    // drained nodes, which are told that they may end
  std::vector<NodeIndex> judged;   // DCMs that need the farm's verdict on their unreachable nodes
  std::vector<std::byte> payload;  // of announcements, assignments and forwards

  [[nodiscard]] DcmActions& of(NodeIndex dcm) {
    if (dcm.value >= dcms.size()) dcms.resize(std::size_t{dcm.value} + 1);
    DcmActions& actions = dcms[dcm.value];
    if (actions.assign.empty() && actions.confirm.empty()) touched.push_back(dcm);
    return actions;
  }
  // Answers a decision without a writer: refused or settled.
  void answer(NodeIndex dcm, SliceId slice, Attempt attempt, Answer answer);
  template <class Row>
  [[nodiscard]] std::span<const std::byte> payload_of(const Row& row) const {
    return std::span(payload).subspan(row.payload_offset, row.payload_length);
  }
  [[nodiscard]] bool empty() const {
    return announce.empty() && touched.empty() && reopened.empty() && killed.empty() && forwarded.empty() &&
           unsent.empty() && fetched.empty() && cleared.empty() && copies.empty() && leaving.empty() &&
           judged.empty();
  }
  // Drops all actions for one DCM. The store epochs of its confirmations are used up.
  void drop(NodeIndex dcm);
  void clear();
};

}  // namespace weir::assignment
