#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::assignment {

// Whether a node takes part in the run, as run control wants it; whether it is there is another matter.
enum class Part : std::uint8_t {
  in,         // it does, or will as soon as it comes
  draining,   // is given nothing new; finishes what it has
  leaving,    // has nothing left, and was told to end
  returning,  // likewise, and its next process takes part
  out         // is given nothing, should it come
};
constexpr std::size_t kParts = 5;

// The roles that take part beside the supervisor. The places are those of JournalFarm.Node.role, too.
inline constexpr Role kNodeRoles[] = {Role::readout, Role::dcm, Role::writer};
[[nodiscard]] constexpr std::size_t place_of(Role role) {
  return role == Role::readout ? 0 : role == Role::dcm ? 1 : 2;
}

// The node that joined, left or asked for less: a readout, a DCM or a writer.
struct NodeRef {
  Role role = Role::readout;
  NodeIndex node;
  bool operator==(const NodeRef&) const = default;
};

// What a DCM decided about one attempt.
enum class Verdict : std::uint8_t {
  reject,
  accept,
  failed,
  held,    // accepted, and the DCM has no room yet to wait for its writer: the decision itself follows
  forward  // selected: a DCM of another group goes on with it
};

// Why a triggered slice was neither stored nor rejected. The numbers stand in messages and files: never reuse
// one.
enum class DiscardReason : std::uint8_t {
  none = 0,
  unspecified = 1,          // failed, and the DCM gave no reason that is known here
  no_buffer = 2,            // the DCM had no memory for it
  overflow = 3,             // newer slices pushed it out
  too_large = 4,            // larger than the configured limit
  deadline = 5,             // not built in time, and incomplete slices are not wanted
  filter_failed = 6,        // the filter crashed, threw or hung: never final, the slice goes to another DCM
  lost = 7,                 // the DCM no longer has what it accepted: never final, likewise
  no_writer = 8,            // accepted in a farm that stores nothing
  drain_timeout = 9,        // not settled when the time to drain was over
  attempts_exhausted = 10,  // the DCMs that had it died or stalled, too often
  supervisor_restart = 11,  // it was not known after the supervisor had been restarted
  writer_refused = 12,      // no writer took its record, however often it was built
  unreachable = 13          // the DCM is cut off from a readout that others reach: never final, likewise
};
constexpr std::size_t kDiscardReasons = 14;

// Why an offered trigger did not become a slice.
enum class VetoReason : std::uint8_t {
  none = 0,
  busy_pending = 1,     // as many slices wait for a DCM as may
  in_flight = 2,        // as many slices are unsettled as may be
  throttled = 3,        // a readout or a writer asked for less
  duplicate_id = 4,     // the id was given before in this run
  bad_id = 5,           // beyond kSliceIdNamedMax, or there is no next id
  too_large = 6,        // the payload is longer than the limit
  draining = 7,         // the run ends, or has its number of slices
  closed = 8,           // this run takes no triggers from outside
  stalled = 9,          // fell due so long ago, without a pass, that it was not even tried
  paused = 10,          // the run is paused
  id_memory_full = 11,  // the id needs another interval in the memory of ids given, and none is left
  not_ascending = 12    // below an id that was given, in a farm of ascending ids
};
constexpr std::size_t kVetoReasons = 13;

enum class Outcome : std::uint8_t { stored, rejected, discarded };

// What a DCM is told about its decision.
enum class Answer : std::uint8_t {
  refused = 0,  // the attempt is not its own any more: drop it, and count nothing
  settled = 1,  // counts as decided; an accept that is `settled` is not stored (no_writer): drop it
  store = 2     // send it to `writer` under `epoch`, keep it until the writer has it on disk
};

[[nodiscard]] std::string_view name(Verdict verdict);
[[nodiscard]] std::string_view name(DiscardReason reason);
[[nodiscard]] std::string_view name(VetoReason reason);
[[nodiscard]] std::string_view name(Outcome outcome);
// Not what the farm file asks for: slices that were wanted, and are not there.
[[nodiscard]] constexpr bool is_loss(DiscardReason reason) {
  return reason != DiscardReason::none && reason != DiscardReason::no_writer &&
         reason != DiscardReason::deadline;
}
// The reason of that name; `unspecified` when there is none.
[[nodiscard]] DiscardReason discard_reason(std::string_view reason_name);

constexpr NodeIndex kNoNode{UINT16_MAX};
constexpr std::size_t kGroupsMax = 64;  // of DCMs
// Slice ids end here: a run that has used them up is over.
constexpr SliceId kSliceIdMax{(std::uint64_t{1} << 62) - 1};
// Ids that the farm file or a trigger names end here, 2^32 earlier: one number that went wrong leaves enough
// for the triggers that have none.
constexpr SliceId kSliceIdNamedMax{kSliceIdMax.value - (std::uint64_t{1} << 32)};

// What a trigger says about its slice; travels with it to filter and file.
struct TriggerInfo {
  UtcNs time = 0;           // start of a time slice, or the moment of a trigger
  DurationNs duration = 0;  // length of a time slice; 0 for an event
  TriggerType type;
};

enum class AssignmentError : std::uint8_t { unknown_name, bad_setting, bad_line };

// An expected failure, with a sentence for the person who has to mend it.
struct Failure {
  AssignmentError error = AssignmentError::bad_setting;
  std::string message;
};

}  // namespace weir::assignment
