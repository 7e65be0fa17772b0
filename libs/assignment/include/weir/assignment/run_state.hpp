#pragma once

#include <weir/assignment/absences.hpp>
#include <weir/assignment/id_intervals.hpp>
#include <weir/assignment/ledger.hpp>
#include <weir/assignment/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

// An unsettled slice, as far as it outlives the supervisor's process. Which DCM has it does not: a DCM drops
// what it has when it loses its supervisor.
struct OpenSlice {
  SliceId slice;
  SliceOrder order;
  TriggerInfo info;
  std::vector<std::byte> payload;
  Attempt attempt;                  // the last one that was handed out
  bool assigned = false;            // it was handed out at all
  std::uint8_t kills = 0;           // attempts that killed or stalled their filter
  std::uint8_t losses = 0;          // attempts whose DCM died or stalled without a slice to blame
  bool suspect = false;             // goes through a filter alone
  std::uint8_t refusals = 0;        // records of it that writers refused
  std::uint16_t confirmations = 0;  // over all attempts
  StoreEpoch epoch;                 // of the last one
  Attempt copy_attempt;             // of the last one, as is its writer
  NodeIndex copy_writer = kNoNode;
  bool copy_incomplete = false;  // with missing fragments
  GroupIndex group = {};         // of the DCMs that it is for
  bool arrived = false;          // was forwarded, and has not been assigned in its group yet
  std::vector<std::byte> forwarded = {};
};

// A copy whose confirmation was taken back: its writer may come with it, and it does not count.
struct GivenUpCopy {
  SliceId slice;
  NodeIndex writer;
  StoreEpoch epoch;
  bool orphan = false;  // its slice was not stored after all: no copy with a higher epoch says so
};

// What run control has made of the farm.
struct FarmShape {
  std::vector<NodeRef> removed;  // whose part is not `in`
  std::vector<AbsenceRange> absences;
  bool paused = false;
  DurationNs paused_ns = 0;  // altogether, until now
};

// What a supervisor has to know to go on with a run that another process of it began.
struct RunState {
  SupervisorLedger ledger;
  SliceId next_slice;
  std::vector<IdInterval> given;  // ids; ascending
  UtcNs begun_utc = 0;            // when start() was called: what clock slices are counted from
  std::vector<OpenSlice> open;    // in the order of announcement
  std::vector<GivenUpCopy> given_up;
  FarmShape shape;
};

}  // namespace weir::assignment
