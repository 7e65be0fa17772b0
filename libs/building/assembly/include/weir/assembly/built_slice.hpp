#pragma once

#include <weir/assembly/gathering.hpp>
#include <weir/assembly/slice_memory.hpp>
#include <weir/assembly/slice_state.hpp>
#include <weir/base/bytes.hpp>
#include <weir/base/decision_kind.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_job/job.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/weir_filter.h>

#include <boost/intrusive/list_hook.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace weir::assembly {

// The order of a slice that fragments have opened, until its assignment comes.
constexpr SliceOrder kOrderUnknown{UINT64_MAX};

using slice_rows::AssignedSlice;

// As in weir_filter_fragment::status.
[[nodiscard]] constexpr std::uint8_t abi_status(FragmentStatus status) {
  return static_cast<std::uint8_t>(status);
}

// True if it makes its slice incomplete.
[[nodiscard]] inline bool has_flaw(const weir_filter_fragment& entry) {
  return entry.status == abi_status(FragmentStatus::truncated) ||
         entry.status == abi_status(FragmentStatus::corrupt) ||
         entry.status == abi_status(FragmentStatus::out_of_step) ||
         (entry.status == abi_status(FragmentStatus::missing) &&
          entry.missing_reason != static_cast<std::uint8_t>(MissingReason::removed));
}

// Judges whether a slice is incomplete, from its fragments: if one is flawed, or if none is here because all
// sources were taken out on purpose.
class Completeness {
 public:
  void add(const weir_filter_fragment& entry) {
    if (entry.status == abi_status(FragmentStatus::not_requested)) return;
    flaw_ = flaw_ || has_flaw(entry);
    (entry.status == abi_status(FragmentStatus::missing) ? absent_ : here_) = true;
  }
  [[nodiscard]] bool is_incomplete() const { return flaw_ || (absent_ && !here_); }

 private:
  bool flaw_ = false;
  bool absent_ = false;
  bool here_ = false;
};

// How far one source's part has come. The part itself is the entry of the same index in BuiltSlice::table.
struct FragmentProgress {
  enum class State : std::uint8_t {
    idle,
    requested,
    receiving,
    done,
    // Requested ahead of the step that may need it, and hidden from the filter until a step names it:
    ahead,
    receiving_ahead,
    here_ahead,
    cancelled,            // was ahead; a step that needs it requests it again
    receiving_cancelled,  // likewise, and a connection is still writing it
    unnamed               // done, and hidden likewise: the slice came whole, or its steps are repeated
  };
  State state = State::idle;
  bool asked_again = false;  // after a checksum that did not match
  bool sent_ahead = false;   // its request has left, while it was ahead
  bool overlapped = false;   // some bytes arrived twice: `crc` is useless
  std::byte* target = nullptr;
  std::uint32_t have = 0;    // bytes from the front
  std::uint32_t asked = 0;   // bytes from the front that are requested, or about to be
  std::uint32_t summed = 0;  // of the received bytes, those covered by `crc`
  std::uint32_t crc = 0;

  [[nodiscard]] bool is_ahead() const { return state == State::ahead || state == State::receiving_ahead; }
  // Returns 1 if it was not requested before.
  std::uint32_t request() {
    if (state != State::idle) return 0;
    state = State::requested;
    return 1;
  }
  void start_again() {
    have = asked = summed = crc = 0;
    overlapped = sent_ahead = false;
  }
};

// The decision about a slice.
struct SliceDecision {
  bool accepted = false;
  std::string_view failure;  // why it was not built; empty: it was
  DecisionKind by = DecisionKind::filter;
  bool forwarded = false;  // to the group in BuiltSlice::result, with its bytes
  bool kept = false;       // forwarded, and kept for that group's DCM

  static SliceDecision accept(DecisionKind by) { return {true, {}, by}; }
  static SliceDecision reject() { return {}; }
  static SliceDecision fail(std::string_view why) { return {false, why, DecisionKind::filter}; }
  static SliceDecision forward() { return {false, {}, DecisionKind::filter, true}; }
};

// Its record on the way to a writer. The payloads are in the slice's memory.
struct Shipment {
  StoreEpoch epoch;
  NodeIndex writer;
  std::vector<std::byte> meta;
  std::vector<ConstBytes> payloads;
  std::uint64_t bytes = 0;   // of the record
  std::uint64_t number = 0;  // its place among the records sent over the connection; 0: not sent
  TimeNs due_ns = 0;         // the writer had no room for it: when it is offered again
  bool sent_before = false;  // over a connection that was lost, perhaps with its acknowledgement
};

struct InState;
struct InOrder;
struct AtWriter;
using StateHook = boost::intrusive::list_base_hook<boost::intrusive::tag<InState>>;
using OrderHook = boost::intrusive::list_base_hook<boost::intrusive::tag<InOrder>>;
using WriterHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<AtWriter>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// One attempt of one slice in a DCM, from its assignment to its end: the same object while it is opened,
// collected, filtered and shipped. SliceTable owns it, keeps its state, and never moves it.
struct BuiltSlice : StateHook, OrderHook, WriterHook {
  // Data used for every fragment is in the first bytes of the object, from the assignment to `gathering`.
  static constexpr std::size_t kHotBytes = 320;

  explicit BuiltSlice(std::uint64_t slot_) : slot(slot_) {}

  [[nodiscard]] SliceId id() const { return assignment.slice; }
  [[nodiscard]] Attempt attempt() const { return assignment.attempt; }
  [[nodiscard]] BuildState state() const { return state_; }
  // As Completeness, of the fragments that the filter's steps have named.
  [[nodiscard]] bool is_incomplete() const;
  // True if it is in a list of the part that ships it.
  [[nodiscard]] bool is_in_line() const { return WriterHook::is_linked(); }
  void leave_line() { WriterHook::unlink(); }

  AssignedSlice assignment;

 private:
  friend class SliceTable;
  BuildState state_ = BuildState::spare;

 public:
  std::uint32_t step = 0;
  std::uint32_t outstanding = 0;  // fragments requested and not done
  std::uint32_t receiving = 0;    // fragments that a connection is writing into
  std::uint32_t flawed = 0;       // fragments missing, truncated or corrupt
  bool counts = false;            // the supervisor has settled this attempt, or a writer has stored it
  std::vector<weir_filter_fragment> table;
  std::vector<FragmentProgress> progress;
  SliceMemory memory;
  std::size_t payload_bytes = 0;  // of all received fragments
  TimeNs last_fragment_ns = 0;    // when bytes of it arrived last
  Gathering gathering;
  std::shared_ptr<const Selection> first;  // the sources of its first step

  std::uint32_t ahead = 0;  // fragments requested ahead and not here
  // Table entries of fragments that are or were ahead or unnamed, by source; empty if none were. The filter
  // may read `table` while these arrive.
  std::vector<weir_filter_fragment> early;
  // Returns the entry of a source whether a step has named it or not.
  [[nodiscard]] const weir_filter_fragment& arrived(SourceIndex source) const {
    const FragmentProgress::State at = progress[source].state;
    const bool hidden = at == FragmentProgress::State::unnamed || at == FragmentProgress::State::here_ahead;
    return hidden ? early[source] : table[source];
  }
  // Where steps are counted:
  TimeNs step_begun_ns = 0;       // of a step after the first: time of its request
  std::size_t step_bytes = 0;     // payload_bytes of the step before
  std::size_t refused_bytes = 0;  // placed_bytes() of fragments that found no memory
  bool crowded_out = false;       // other slices hold the memory that a fragment needed
  TimeNs assigned_ns = 0;
  TimeNs first_request_ns = 0;
  bool is_timed = false;  // counted in the latencies
  TimeNs deadline_ns = 0;
  TimeNs deadline_most_ns = 0;  // limit of the deadline's extension while bytes arrive
  bool expired_empty = false;   // its deadline passed before any byte arrived

  bool fetched = false;  // its fragments come from the DCM that keeps it, not from readouts

  // Push running: readouts send it on their own.
  bool pushed = false;
  bool awaits_assignment = false;  // a fragment has opened it
  TimeNs due_ns = 0;               // when the last readout's slot begins

  weir_filter_slice view{};
  weir_filter_state filter_state{};  // the filter's, between steps
  // Of the step that accepted or forwarded it. Owned by the processing units.
  filter_job::FilterResult* result = nullptr;
  SliceDecision decision;
  Shipment shipment;

  const std::uint64_t slot;  // SliceTable::in_slot()
};

// Compares by order of announcement, or by id if the supervisor gives no order, because ids ascend then.
[[nodiscard]] inline bool is_older(const BuiltSlice& slice, const BuiltSlice& other) {
  if (slice.assignment.order != other.assignment.order)
    return slice.assignment.order < other.assignment.order;
  return slice.id() < other.id();
}

}  // namespace weir::assembly
