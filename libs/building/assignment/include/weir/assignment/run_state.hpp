#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/assignment/words.hpp>
#include <weir/slice_rows/absences.hpp>
#include <weir/slice_rows/id_intervals.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

// The part of an unsettled slice that outlives the supervisor's process. The DCM is not part of it: a DCM
// drops its slices when it loses its supervisor.
struct OpenSlice {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  std::vector<std::byte> payload;
  Attempt attempt;            // of the last assignment
  bool assigned = false;      // has been assigned at least once
  std::uint8_t kills = 0;     // attempts that killed or stalled their filter
  std::uint8_t losses = 0;    // attempts during which their DCM died or stalled without a slice to blame
  bool suspect = false;       // goes through a filter alone
  std::uint8_t refusals = 0;  // records refused by writers
  std::uint16_t confirmations = 0;  // over all attempts
  StoreEpoch epoch;                 // of the last confirmation
  Attempt copy_attempt;             // of the last confirmation, like its writer
  NodeIndex copy_writer = kNoNode;
  bool copy_incomplete = false;  // with missing fragments
  GroupIndex group = {};         // the group that builds it
  bool arrived = false;          // forwarded, and not yet assigned in its group
  std::vector<std::byte> forwarded = {};
};

// A copy with a revoked confirmation: its writer may report it, and it does not count.
struct GivenUpCopy {
  SliceId slice;
  NodeIndex writer;
  StoreEpoch epoch;
  bool orphan = false;  // its slice ended without being stored: no copy with a higher epoch marks it as dead
};

// Run control's changes to the farm.
struct FarmShape {
  std::vector<NodeRef> removed;  // nodes whose Part is not `in`
  std::vector<AbsenceRange> absences;
  bool paused = false;
  DurationNs paused_ns = 0;  // total so far
};

// The state that a supervisor needs to resume a run of another process.
struct RunState {
  SupervisorLedger ledger;
  SliceId next_slice;
  std::vector<IdInterval> given;  // assigned ids, ascending
  UtcNs begun_utc = 0;            // time of start(): the origin of clock slices
  std::vector<OpenSlice> open;    // in the order of announcement
  std::vector<GivenUpCopy> given_up;
  FarmShape shape;
};

}  // namespace weir::assignment
