#pragma once

#include <weir/assignment/answered_triggers.hpp>
#include <weir/assignment/words.hpp>
#include <weir/base/bytes.hpp>
#include <weir/slice_rows/rows.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::assignment {

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
  std::vector<Confirmation> unsent;      // for the journal only: their DCM left first
  std::vector<SliceId> fetched;          // for the journal only: whole in a DCM of their group
  std::vector<NumberedAnswer> answered;  // for the journal only: to triggers as lines of text
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
           unsent.empty() && fetched.empty() && answered.empty() && cleared.empty() && copies.empty() &&
           leaving.empty() && judged.empty();
  }
  // Drops all actions for one DCM. The store epochs of its confirmations are used up.
  void drop(NodeIndex dcm);
  void clear();
};

}  // namespace weir::assignment
