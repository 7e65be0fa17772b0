#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// The states of a slice in a collector, as one table: from its assignment to the moment when nothing of it is
// left. A slice is in one state at a time, and SliceTable is who changes it.
namespace weir::assembly {

enum class SliceState : std::uint8_t {
  spare,     // no slice: the object waits for its next one
  assigned,  // waits for room among the open ones
  blocked,   // assigned, while an earlier attempt of it is open here
  // Open, which is: known under its id, with a table of fragments.
  waiting_for_memory,  // its fragments are asked for when there is memory for them
  collecting,          // fragments are outstanding
  complete,            // as complete as it gets; for its turn in id order
  queued,              // handed out; waits for the processing units
  unassigned,          // pushed and complete; the supervisor has not assigned it yet
  suspect,             // complete; waits to be alone with the processing units
  filtering,           // with the processing units
  abandoned,           // likewise, and nobody wants what comes of it
  decided,             // the supervisor is to be told
  held_back,           // accepted; the decision waits until writers have taken some
  reported,            // waits for the confirmation
  storing,             // confirmed, on its way to a writer
  stored,              // on disk; a connection may refer to its memory
  given_up,            // nobody wants it; a connection may refer to its memory
  // Not open any more.
  released,  // a fragment is still being received into its memory
};
constexpr std::size_t kSliceStates = 18;

struct SliceTransition {
  SliceState from;
  SliceState to;
};

// Every transition that there is.
[[nodiscard]] std::span<const SliceTransition> slice_transitions();
[[nodiscard]] bool may_follow(SliceState from, SliceState to);

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
