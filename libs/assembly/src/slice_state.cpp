#include <weir/assembly/slice_state.hpp>

namespace weir::assembly {
namespace {

using enum SliceState;

constexpr SliceTransition kTransitions[] = {
    {spare, assigned},
    {assigned, blocked},
    {assigned, waiting_for_memory},
    {assigned, spare},  // of a slice that is here already, or of a supervisor that is gone
    {blocked, waiting_for_memory},
    {blocked, spare},
    {waiting_for_memory, collecting},
    {waiting_for_memory, complete},  // nothing of it is asked for
    {waiting_for_memory, decided},   // given back
    {waiting_for_memory, released},
    {collecting, complete},
    {collecting, decided},  // given back
    {collecting, released},
    {complete, queued},
    {complete, released},
    {queued, filtering},
    {queued, unassigned},
    {queued, suspect},
    {queued, decided},  // accepted without the filter
    {queued, released},
    {unassigned, queued},
    {unassigned, released},
    {suspect, queued},
    {suspect, released},
    {filtering, waiting_for_memory},  // the filter needs more
    {filtering, decided},
    {filtering, abandoned},
    {abandoned, released},
    {decided, held_back},
    {decided, reported},
    {decided, released},
    {held_back, reported},
    {held_back, released},
    {reported, storing},
    {reported, released},
    {storing, storing},  // confirmed again, for another writer
    {storing, stored},
    {storing, given_up},
    {stored, storing},  // likewise
    {stored, given_up},
    {stored, released},
    {given_up, released},
    {released, spare},
};

constexpr std::array<std::string_view, kSliceStates> kNames = {
    "spare",      "assigned",  "blocked",   "waiting_for_memory",
    "collecting", "complete",  "queued",    "unassigned",
    "suspect",    "filtering", "abandoned", "decided",
    "held_back",  "reported",  "storing",   "stored",
    "given_up",   "released"};

constexpr std::uint32_t bit(SliceState state) { return 1U << static_cast<unsigned>(state); }

// By state: those that may follow.
constexpr auto kFollowers = [] {
  std::array<std::uint32_t, kSliceStates> followers{};
  for (const SliceTransition& one : kTransitions)
    followers[static_cast<std::size_t>(one.from)] |= bit(one.to);
  return followers;
}();

}  // namespace

std::span<const SliceTransition> slice_transitions() { return kTransitions; }

bool may_follow(SliceState from, SliceState to) {
  return (kFollowers[static_cast<std::size_t>(from)] & bit(to)) != 0;
}

std::string_view name(SliceState state) { return kNames[static_cast<std::size_t>(state)]; }

}  // namespace weir::assembly
