#pragma once

#include <weir/base/transitions.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// The states of a slice in a DCM, as one table: from its assignment to its end. A slice is in one state at a
// time, which only SliceTable changes.
namespace weir::assembly {

enum class BuildState : std::uint8_t {
  spare,     // no slice: the object waits for its next one
  assigned,  // waits for room among the open slices
  blocked,   // assigned, while an earlier attempt of it is open here
  // Open, which is: known under its id, with a table of fragments.
  waiting_for_memory,  // its fragments are asked for when there is memory for them
  collecting,          // fragments are outstanding
  complete,            // complete or past its deadline; waits for its turn in id order
  queued,              // returned by take_completed(); waits for the processing units
  unassigned,          // pushed and complete; not assigned yet
  suspect,             // complete; waits to be alone in the processing units
  filtering,           // in the processing units
  abandoned,           // likewise, and its result is not wanted
  decided,             // to be reported to the supervisor
  held_back,           // accepted; the decision waits for progress of the writers
  reported,            // waits for the confirmation
  kept,                // forwarded; a DCM of the next group may fetch it
  storing,             // confirmed, on its way to a writer
  stored,              // on disk; a connection may refer to its memory
  given_up,            // not wanted; a connection may refer to its memory
  // Closed states.
  released,  // a fragment is still being received into its memory
};
constexpr std::size_t kSliceStates = 19;

// Every allowed transition.
inline constexpr Transitions kSliceTransitions({
    Transition<BuildState>{BuildState::spare, BuildState::assigned},
    {BuildState::assigned, BuildState::blocked},
    {BuildState::assigned, BuildState::waiting_for_memory},
    {BuildState::assigned, BuildState::spare},  // the slice is here already, or the supervisor gone
    {BuildState::blocked, BuildState::waiting_for_memory},
    {BuildState::blocked, BuildState::spare},  // a later attempt waits, or the supervisor has left
    {BuildState::waiting_for_memory, BuildState::collecting},
    {BuildState::waiting_for_memory, BuildState::complete},  // no fragments are requested
    {BuildState::waiting_for_memory, BuildState::decided},   // given back
    {BuildState::waiting_for_memory, BuildState::released},
    {BuildState::collecting, BuildState::complete},
    {BuildState::collecting, BuildState::decided},  // given back
    {BuildState::collecting, BuildState::released},
    {BuildState::complete, BuildState::queued},
    {BuildState::complete, BuildState::released},
    {BuildState::queued, BuildState::filtering},
    {BuildState::queued, BuildState::unassigned},
    {BuildState::queued, BuildState::suspect},
    {BuildState::queued, BuildState::decided},  // accepted without the filter
    {BuildState::queued, BuildState::released},
    {BuildState::unassigned, BuildState::complete},
    {BuildState::unassigned, BuildState::released},
    {BuildState::suspect, BuildState::queued},
    {BuildState::suspect, BuildState::released},
    {BuildState::filtering, BuildState::waiting_for_memory},  // the filter needs more
    {BuildState::filtering, BuildState::decided},
    {BuildState::filtering, BuildState::queued},  // the filter's state of it is lost: from step 0
    {BuildState::filtering, BuildState::abandoned},
    {BuildState::abandoned, BuildState::released},
    {BuildState::decided, BuildState::held_back},
    {BuildState::decided, BuildState::reported},
    {BuildState::decided, BuildState::released},
    {BuildState::held_back, BuildState::reported},
    {BuildState::held_back, BuildState::released},
    {BuildState::reported, BuildState::storing},
    {BuildState::reported, BuildState::kept},
    {BuildState::kept, BuildState::given_up},
    {BuildState::kept, BuildState::released},
    {BuildState::reported, BuildState::released},
    {BuildState::storing, BuildState::storing},  // confirmed again, for another writer
    {BuildState::storing, BuildState::stored},
    {BuildState::storing, BuildState::given_up},
    {BuildState::stored, BuildState::storing},  // likewise
    {BuildState::stored, BuildState::given_up},
    {BuildState::stored, BuildState::released},
    {BuildState::given_up, BuildState::released},
    {BuildState::released, BuildState::spare},
});

[[nodiscard]] constexpr bool is_open(BuildState state) {
  return state >= BuildState::waiting_for_memory && state <= BuildState::given_up;
}
// Its decision was sent to the supervisor.
[[nodiscard]] constexpr bool is_reported(BuildState state) {
  return state >= BuildState::reported && state <= BuildState::given_up;
}
[[nodiscard]] constexpr bool is_with_filter(BuildState state) {
  return state == BuildState::filtering || state == BuildState::abandoned;
}

// "spare", "assigned", …
[[nodiscard]] std::string_view name(BuildState state);

}  // namespace weir::assembly
