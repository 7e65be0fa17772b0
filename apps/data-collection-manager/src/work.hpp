#pragma once

#include <weir/assembly/slice.hpp>
#include <weir/filter_host/job.hpp>
#include <weir/storage/slice_record.hpp>
#include <weir/v1/control.pb.h>
#include <weir/weir_filter.h>

#include <memory>
#include <span>
#include <vector>

namespace weir::dcm {

// What the node keeps of one slice besides its fragments, from assignment to release.
struct Work {
  assembly::Slice* slice = nullptr;
  weir_filter_slice view{};
  filter_host::FilterResult* result = nullptr;  // of the last step; the processing units' own
  v1::Verdict verdict = v1::VERDICT_REJECT;
  const char* failure = "";  // when the verdict is VERDICT_FAILED
  bool unfiltered = false;   // no filter has decided: to the debug stream, whole
  storage::DecisionKind decision = storage::DecisionKind::filter;
  bool decided = false;
  bool counted = false;      // among the accepted bytes that wait for their writer
  bool abandoned = false;    // the supervisor has given it to somebody else
  bool waits_alone = false;  // a suspect that is complete, and not yet with the filter
  bool told_held = false;    // its accept is held back, and the supervisor knows
  bool pushed = false;       // readouts send it on their own
  bool unbound = false;      // a fragment has opened it; the assignment is to come
  TimeNs due_ns = 0;         // pushed: when the last readout's slot begins
  // HeldWork: shipments and connections refer to the slice's memory, from the first shipment until the work
  // is taken back.
  bool held = false;
  bool given_up = false;  // while it was held: released as soon as nobody refers to it
  std::weak_ptr<const void> hold;
};

// The record's meta part and its payloads, for an accepted slice under this epoch.
struct Record {
  std::vector<std::byte> meta;
  std::vector<ConstBytes> payloads;
  std::uint64_t bytes = 0;
};
struct RecordContext {
  RunNumber run;
  NodeIndex collector;
  bool checksums = true;
  bool undecided = false;                 // the filter has not seen it
  std::span<const std::uint32_t> only{};  // sources whose bytes are wanted, sorted; empty: all
};
// Of an accepted slice.
[[nodiscard]] std::uint64_t streams_of(const Work& work);
[[nodiscard]] Record make_record(const Work& work, StoreEpoch epoch, const RecordContext& context);
// A record has a longest length, and so has what is in it besides the fragments' bytes.
[[nodiscard]] bool fits_a_record(const Work& work);

}  // namespace weir::dcm
