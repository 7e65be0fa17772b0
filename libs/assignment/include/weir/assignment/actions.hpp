#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::assignment {

// --- what comes in, in batches

// DCM -> supervisor. An accept is always stored as a record, also one that keeps no data and found no events.
struct Decision {
  SliceId slice;
  Attempt attempt;
  Verdict verdict = Verdict::reject;
  DiscardReason reason = DiscardReason::none;  // when failed
  bool incomplete = false;                     // fragments were missing
  GroupIndex group = {};                       // when forwarded: to that one
  ConstBytes bytes = {};                       // when forwarded: for that group's filter
};

// An attempt that a DCM has.
struct Lease {
  SliceId slice;
  Attempt attempt;
  bool operator==(const Lease&) const = default;
};

// A slice that ended a filter worker of its DCM.
struct FilterKill {
  SliceId slice;
  Attempt attempt;
  std::uint32_t number = 1;  // kills
};

// DCM -> supervisor: what is in its filter and is worth a word; replaces what it said before.
struct FilterNote {
  std::vector<Lease> for_long;  // half a lease or more: a lease that runs out is held against these alone
  // A suspect: there is nothing else in the filter, and will not be before the DCM has said something else
  // and was answered. If the DCM dies, this one is to blame.
  std::optional<Lease> alone;
};

// Writer -> supervisor: this copy is on disk.
struct StoredAck {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
};

// --- what goes out, in batches

// To all readouts.
struct Announcement {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  std::uint32_t payload_offset = 0;  // in Actions::payload: the trigger's, which readouts are not told
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
  // It was with a DCM that died, and no other slice is to blame: goes through the filter alone, once
  // the supervisor knows that it does.
  bool suspect = false;
  std::uint8_t kills = 0;              // earlier attempts that killed or stalled their filter
  std::uint8_t losses = 0;             // earlier attempts whose DCM died or stalled without a slice to blame
  std::uint32_t forwarded_offset = 0;  // in Actions::payload: what the group before passed on
  std::uint32_t forwarded_length = 0;
};

struct Confirmation {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;            // when answer is store
  NodeIndex writer = kNoNode;  // when answer is store
  Answer answer = Answer::refused;
  bool incomplete = false;  // when answer is store: as it was accepted
};

// To all readouts and all writers: the slice's fate is settled. A writer that has another copy of it than the
// one named here, or any copy of one that is not stored, has a dead copy.
struct Cleared {
  SliceId slice;
  SliceOrder order;
  Attempt attempt;
  StoreEpoch epoch;            // of the live copy, when stored
  NodeIndex writer = kNoNode;  // that has it, when stored
  Outcome outcome = Outcome::discarded;
  DiscardReason reason = DiscardReason::none;  // when discarded
  bool incomplete = false;                     // when stored
  UtcNs time = 0;                              // of the trigger
  NodeIndex kept_by = kNoNode;                 // the DCM that has its data now, if one has
};

// To no node, for the journal: an attempt has failed. The slice's kills must outlive the supervisor's
// process.
struct Reopening {
  SliceId slice;
  std::uint8_t kills = 0;   // as in SliceEntry, and so are the others
  std::uint8_t losses = 0;  //
  bool suspect = false;
  std::uint8_t refusals = 0;
};

// To no node, for the journal: a filter worker died in this slice, as the DCM that has it reports.
struct KillCount {
  SliceId slice;
  std::uint8_t kills = 0;  // all of the slice so far
};

// To no node, for the journal: the slice waits for a DCM of this group.
struct Forwarding {
  SliceId slice;
  Attempt attempt;  // the next one
  GroupIndex group;
  std::uint32_t offset = 0;  // of its bytes, in Actions::payload
  std::uint32_t length = 0;
};

// To one writer, whose acknowledgement did not settle a slice: what became of that copy.
struct CopyNotice {
  NodeIndex writer;
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
  bool live = false;     // false: list it as dead
  bool settled = false;  // the slice is: no more is said of it
};

struct DcmActions {
  std::vector<Assignment> assign;
  std::vector<Confirmation> confirm;
};

// What the machine wants done. Inputs append; the node carries everything out once per pass, in this order,
// and calls clear(). The vectors keep their memory.
struct Actions {
  std::vector<Announcement> announce;
  std::vector<DcmActions> dcms;    // by index
  std::vector<NodeIndex> touched;  // the DCMs that have something in `dcms`, each once
  std::vector<Reopening> reopened;
  std::vector<KillCount> killed;  // for the journal alone
  std::vector<Forwarding> forwarded;
  std::vector<Cleared> cleared;
  std::vector<CopyNotice> copies;
  std::vector<NodeRef> leaving;    // drained: to be told that they may end
  std::vector<NodeIndex> judged;   // DCMs to be told what the farm makes of what they do not reach
  std::vector<std::byte> payload;  // of announcements, assignments and forwards

  [[nodiscard]] DcmActions& of(NodeIndex dcm) {
    if (dcm.value >= dcms.size()) dcms.resize(std::size_t{dcm.value} + 1);
    DcmActions& actions = dcms[dcm.value];
    if (actions.assign.empty() && actions.confirm.empty()) touched.push_back(dcm);
    return actions;
  }
  // That needs no writer: refused or settled.
  void answer(NodeIndex dcm, SliceId slice, Attempt attempt, Answer answer);
  template <class Row>
  [[nodiscard]] std::span<const std::byte> payload_of(const Row& row) const {
    return std::span(payload).subspan(row.payload_offset, row.payload_length);
  }
  [[nodiscard]] bool empty() const {
    return announce.empty() && touched.empty() && reopened.empty() && killed.empty() && forwarded.empty() &&
           cleared.empty() && copies.empty() && leaving.empty() && judged.empty();
  }
  // Forgets what was meant for one DCM.
  void drop(NodeIndex dcm);
  void clear();
};

}  // namespace weir::assignment
