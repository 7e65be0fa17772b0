#pragma once

#include <weir/base/transitions.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// The states of a slice in a DCM, as one table: from its assignment to its end. A slice is in one state at a
// time, which only SliceTable changes.
namespace weir::assembly {

enum class SliceState : std::uint8_t {
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
  storing,             // confirmed, on its way to a writer
  stored,              // on disk; a connection may refer to its memory
  given_up,            // not wanted; a connection may refer to its memory
  // Closed states.
  released,  // a fragment is still being received into its memory
};
constexpr std::size_t kSliceStates = 18;

// Every allowed transition.
inline constexpr Transitions kSliceTransitions({
    Transition<SliceState>{SliceState::spare, SliceState::assigned},
    {SliceState::assigned, SliceState::blocked},
    {SliceState::assigned, SliceState::waiting_for_memory},
    {SliceState::assigned, SliceState::spare},  // the slice is here already, or the supervisor gone
    {SliceState::blocked, SliceState::waiting_for_memory},
    {SliceState::blocked, SliceState::spare},  // a later attempt waits, or the supervisor is gone
    {SliceState::waiting_for_memory, SliceState::collecting},
    {SliceState::waiting_for_memory, SliceState::complete},  // no fragments are requested
    {SliceState::waiting_for_memory, SliceState::decided},   // given back
    {SliceState::waiting_for_memory, SliceState::released},
    {SliceState::collecting, SliceState::complete},
    {SliceState::collecting, SliceState::decided},  // given back
    {SliceState::collecting, SliceState::released},
    {SliceState::complete, SliceState::queued},
    {SliceState::complete, SliceState::released},
    {SliceState::queued, SliceState::filtering},
    {SliceState::queued, SliceState::unassigned},
    {SliceState::queued, SliceState::suspect},
    {SliceState::queued, SliceState::decided},  // accepted without the filter
    {SliceState::queued, SliceState::released},
    {SliceState::unassigned, SliceState::queued},
    {SliceState::unassigned, SliceState::released},
    {SliceState::suspect, SliceState::queued},
    {SliceState::suspect, SliceState::released},
    {SliceState::filtering, SliceState::waiting_for_memory},  // the filter needs more
    {SliceState::filtering, SliceState::decided},
    {SliceState::filtering, SliceState::queued},  // the filter's state of it is lost: from step 0
    {SliceState::filtering, SliceState::abandoned},
    {SliceState::abandoned, SliceState::released},
    {SliceState::decided, SliceState::held_back},
    {SliceState::decided, SliceState::reported},
    {SliceState::decided, SliceState::released},
    {SliceState::held_back, SliceState::reported},
    {SliceState::held_back, SliceState::released},
    {SliceState::reported, SliceState::storing},
    {SliceState::reported, SliceState::released},
    {SliceState::storing, SliceState::storing},  // confirmed again, for another writer
    {SliceState::storing, SliceState::stored},
    {SliceState::storing, SliceState::given_up},
    {SliceState::stored, SliceState::storing},  // likewise
    {SliceState::stored, SliceState::given_up},
    {SliceState::stored, SliceState::released},
    {SliceState::given_up, SliceState::released},
    {SliceState::released, SliceState::spare},
});

[[nodiscard]] constexpr bool is_open(SliceState state) {
  return state >= SliceState::waiting_for_memory && state <= SliceState::given_up;
}
// Its decision was sent to the supervisor.
[[nodiscard]] constexpr bool is_reported(SliceState state) {
  return state >= SliceState::reported && state <= SliceState::given_up;
}
[[nodiscard]] constexpr bool is_with_filter(SliceState state) {
  return state == SliceState::filtering || state == SliceState::abandoned;
}

// "spare", "assigned", …
[[nodiscard]] std::string_view name(SliceState state);

}  // namespace weir::assembly
