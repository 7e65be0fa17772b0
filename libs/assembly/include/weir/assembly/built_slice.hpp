#pragma once

#include <weir/assembly/gathering.hpp>
#include <weir/assembly/slice_memory.hpp>
#include <weir/assembly/slice_state.hpp>
#include <weir/base/bytes.hpp>
#include <weir/base/decision_kind.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/weir_filter.h>

#include <boost/intrusive/list_hook.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::filter_host {
struct FilterResult;
}  // namespace weir::filter_host

namespace weir::assembly {

// The order of a slice that fragments have opened, until its assignment comes.
constexpr SliceOrder kOrderUnknown{UINT64_MAX};

struct Assignment {
  SliceId slice;
  SliceOrder order;  // 0 where no readout was absent before it
  Attempt attempt;
  UtcNs time = 0;
  DurationNs duration = 0;
  TriggerType type;
  bool unfiltered = false;            // poison: accept to the debug stream unseen
  bool suspect = false;               // of a DCM's death: goes through the filter alone
  std::uint8_t kills = 0;             // of filters, in earlier attempts
  std::uint16_t forwarded_bytes = 0;  // the last of `payload`: what the filter of an earlier group passed on
  std::vector<std::byte> payload;     // the trigger's, then what was forwarded

  [[nodiscard]] ConstBytes trigger_payload() const {
    return ConstBytes(payload).first(payload.size() - forwarded_bytes);
  }
  [[nodiscard]] ConstBytes forwarded() const { return ConstBytes(payload).last(forwarded_bytes); }
};

// As weir_filter_fragment::status has it.
[[nodiscard]] constexpr std::uint8_t abi_status(FragmentStatus status) {
  return static_cast<std::uint8_t>(status);
}

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
    cancelled,           // was ahead; a step that needs it requests it anew
    receiving_cancelled  // likewise, and a connection is still writing it
  };
  State state = State::idle;
  bool asked_again = false;  // after a checksum that did not match
  bool sent_ahead = false;   // its request has left, while it was ahead
  std::byte* target = nullptr;
  std::uint32_t have = 0;    // bytes from the front
  std::uint32_t asked = 0;   // bytes from the front that are requested, or about to be
  std::uint32_t summed = 0;  // of these, bytes that `crc` is over
  std::uint32_t crc = 0;
  bool overlapped = false;  // some bytes came twice: `crc` is over nothing that helps

  void start_again() {
    have = asked = summed = crc = 0;
    overlapped = sent_ahead = false;
  }
};

// What was decided about a slice.
struct Decision {
  bool accepted = false;
  std::string_view failure;  // why it was not built after all; empty: it was
  DecisionKind by = DecisionKind::filter;
  bool forwarded = false;  // to BuiltSlice::result's group, with its bytes

  static Decision accept(DecisionKind by) { return {true, {}, by, false}; }
  static Decision reject() { return {}; }
  static Decision fail(std::string_view why) { return {false, why, DecisionKind::filter, false}; }
  static Decision forward() { return {false, {}, DecisionKind::filter, true}; }
};

// Its record on the way to a writer. The payloads lie in the slice's memory.
struct Shipment {
  StoreEpoch epoch;
  NodeIndex writer;
  std::vector<std::byte> meta;
  std::vector<ConstBytes> payloads;
  std::uint64_t bytes = 0;   // of the record
  std::uint64_t number = 0;  // its place among the records that were sent over the connection; 0: not sent
  TimeNs due_ns = 0;         // the writer had no room for it: when it is offered again
};

struct InState;
struct InOrder;
struct AtWriter;
using StateHook = boost::intrusive::list_base_hook<boost::intrusive::tag<InState>>;
using OrderHook = boost::intrusive::list_base_hook<boost::intrusive::tag<InOrder>>;
using WriterHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<AtWriter>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

// One slice of one attempt in one collector, from its assignment until nothing of it is left: the same object
// while it is opened, collected, filtered and shipped. SliceTable owns it and says in which state it is; it
// stays where it is.
struct BuiltSlice : StateHook, OrderHook, WriterHook {
  // What every fragment touches lies in the first bytes of the object, from the assignment to `gathering`.
  static constexpr std::size_t kHotBytes = 320;

  explicit BuiltSlice(std::uint64_t slot_) : slot(slot_) {}

  [[nodiscard]] SliceId id() const { return assignment.slice; }
  [[nodiscard]] Attempt attempt() const { return assignment.attempt; }
  [[nodiscard]] SliceState state() const { return state_; }
  // In a list of the part that ships it.
  [[nodiscard]] bool is_in_line() const { return WriterHook::is_linked(); }
  void leave_line() { WriterHook::unlink(); }

  Assignment assignment;

 private:
  friend class SliceTable;
  SliceState state_ = SliceState::spare;

 public:
  std::uint32_t step = 0;
  std::uint32_t outstanding = 0;  // fragments requested and not done
  std::uint32_t receiving = 0;    // fragments that a connection is writing into
  std::uint32_t flawed = 0;       // fragments missing, truncated or corrupt
  bool counts = false;            // the supervisor has settled this attempt, or a writer has it on disk
  std::vector<weir_filter_fragment> table;
  std::vector<FragmentProgress> progress;
  SliceMemory memory;
  std::size_t payload_bytes = 0;  // of all fragments that are here
  TimeNs last_fragment_ns = 0;    // when bytes of it arrived last
  Gathering gathering;

  std::uint32_t ahead = 0;  // fragments requested ahead and not here
  // Table entries of fragments that are or were ahead, by source; empty: none has been. The filter may read
  // `table` while these arrive.
  std::vector<weir_filter_fragment> early;
  // Where steps are counted:
  TimeNs step_begun_ns = 0;       // of a step after the first: when it was requested
  std::size_t step_bytes = 0;     // payload_bytes of the step before
  std::size_t refused_bytes = 0;  // placed_bytes() of fragments that found no memory
  TimeNs assigned_ns = 0;
  TimeNs first_request_ns = 0;
  bool is_timed = false;  // counted in the latencies
  TimeNs deadline_ns = 0;
  TimeNs deadline_most_ns = 0;  // as far as it is put off while bytes arrive
  bool expired_empty = false;   // its deadline passed before any byte arrived

  // Push running: readouts send it on their own.
  bool pushed = false;
  bool awaits_assignment = false;  // a fragment has opened it
  TimeNs due_ns = 0;               // when the last readout's slot begins

  weir_filter_slice view{};
  weir_filter_state filter_state{};  // the filter's, between steps
  filter_host::FilterResult* result =
      nullptr;  // of the step that accepted or forwarded it; the processing units' own
  Decision decision;
  Shipment shipment;

  const std::uint64_t slot;  // SliceTable::in_slot()
};

}  // namespace weir::assembly
