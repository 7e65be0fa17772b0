#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::slice_rows {

// A node's participation in the run, as ordered by run control; whether it is connected is a separate matter.
enum class Part : std::uint8_t {
  in,         // takes part, or will when it joins
  draining,   // gets no new work; finishes its present work
  leaving,    // has no work left, and was ordered to end
  returning,  // likewise, and its next process takes part
  out         // gets no work, even if it joins
};
constexpr std::size_t kParts = 5;

// The roles that take part besides the supervisor. JournalFarm.Node.role uses the same numbers.
inline constexpr Role kNodeRoles[] = {Role::readout, Role::dcm, Role::writer};
[[nodiscard]] constexpr std::size_t place_of(Role role) {
  return role == Role::readout ? 0 : role == Role::dcm ? 1 : 2;
}

// The node that joined, left or throttled: a readout, a DCM or a writer.
struct NodeRef {
  Role role = Role::readout;
  NodeIndex node;
  bool operator==(const NodeRef&) const = default;
};

// A DCM's decision about one attempt.
enum class Verdict : std::uint8_t {
  reject,
  accept,
  failed,
  held,    // accepted, but the DCM has no room yet to wait for its writer: the decision follows later
  forward  // selected: a DCM of another group continues with it
};

// Why a triggered slice was neither stored nor rejected. The numbers are used in messages and files: never
// reuse one.
enum class DiscardReason : std::uint8_t {
  none = 0,
  unspecified = 1,          // failed, without a reason that this version knows
  no_buffer = 2,            // the DCM had no memory for it
  overflow = 3,             // displaced by newer slices
  too_large = 4,            // larger than the configured limit
  deadline = 5,             // not built in time, and incomplete slices are not configured
  filter_failed = 6,        // the filter crashed, threw or hung: never final, another DCM gets the slice
  lost = 7,                 // the DCM no longer has the slice that it accepted: never final, likewise
  no_writer = 8,            // accepted in a farm that stores nothing
  drain_timeout = 9,        // not settled within the time to drain
  attempts_exhausted = 10,  // its DCMs died or stalled too often
  supervisor_restart = 11,  // its fate was unknown after a restart of the supervisor
  writer_refused = 12,      // no writer accepted its record, even after rebuilding
  unreachable = 13,         // the DCM is cut off from a readout that others reach: never final, likewise
  crowded_out = 14          // other slices hold the DCM's memory: never final, likewise
};
constexpr std::size_t kDiscardReasons = 15;

// A DCM returned the attempt because of its own state, not the slice's.
[[nodiscard]] constexpr bool is_handed_back(DiscardReason reason) {
  return reason == DiscardReason::unreachable || reason == DiscardReason::crowded_out;
}

// Why an offered trigger did not become a slice.
enum class VetoReason : std::uint8_t {
  none = 0,
  busy_pending = 1,     // too many slices wait for a DCM
  in_flight = 2,        // too many slices are unsettled
  throttled = 3,        // a readout or a writer requested it
  duplicate_id = 4,     // the id was used before in this run
  bad_id = 5,           // beyond kSliceIdNamedMax, or ids are used up
  too_large = 6,        // the payload is longer than the limit
  draining = 7,         // the run ends, or has its number of slices
  closed = 8,           // this run takes no triggers from outside
  stalled = 9,          // fell due too long ago, while the supervisor made no pass
  paused = 10,          // the run is paused
  id_memory_full = 11,  // the id needs another interval in the set of given ids, and none is left
  not_ascending = 12    // below an earlier id, in a farm of ascending ids
};
constexpr std::size_t kVetoReasons = 13;

enum class Outcome : std::uint8_t { stored, rejected, discarded };

// The supervisor's answer to a decision.
enum class Answer : std::uint8_t {
  refused = 0,  // the attempt is no longer this DCM's: drop it without counting
  settled = 1,  // counts as decided; an accept that is `settled` is not stored (no_writer): drop it
  store = 2,    // send it to `writer` under `epoch`, and keep it until it is on disk
  keep = 3      // counts as forwarded; keep it until it is `settled`: a DCM of the next group may fetch it
};

[[nodiscard]] std::string_view name(Verdict verdict);
[[nodiscard]] std::string_view name(DiscardReason reason);
[[nodiscard]] std::string_view name(VetoReason reason);
[[nodiscard]] std::string_view name(Outcome outcome);
// True for reasons that the farm file does not ask for: slices that were wanted and are missing.
[[nodiscard]] constexpr bool is_loss(DiscardReason reason) {
  return reason != DiscardReason::none && reason != DiscardReason::no_writer &&
         reason != DiscardReason::deadline;
}
// Returns the reason of that name; `unspecified` if none matches.
[[nodiscard]] DiscardReason discard_reason(std::string_view reason_name);

constexpr NodeIndex kNoNode{UINT16_MAX};
constexpr std::size_t kGroupsMax = 64;  // of DCMs
// The highest slice id: a run that reaches it ends.
constexpr SliceId kSliceIdMax{(std::uint64_t{1} << 62) - 1};
// The highest id that the farm file or a trigger may name, 2^32 below: a single wrong number leaves enough
// ids for triggers without one.
constexpr SliceId kSliceIdNamedMax{kSliceIdMax.value - (std::uint64_t{1} << 32)};

// A trigger's description of its slice; passed on to filter and file.
struct TriggerInfo {
  UtcNs time = 0;           // start of a time slice, or the moment of a trigger
  DurationNs duration = 0;  // length of a time slice; 0 for an event
  TriggerType type;
};

}  // namespace weir::slice_rows
