#include <weir/assembly/slice_state.hpp>

#include <array>

namespace weir::assembly {
namespace {

constexpr std::array<std::string_view, kSliceStates> kNames = {
    "spare",      "assigned", "blocked",   "waiting_for_memory", "collecting", "complete",  "queued",
    "unassigned", "suspect",  "filtering", "abandoned",          "decided",    "held_back", "reported",
    "kept",       "storing",  "stored",    "given_up",           "released"};

}  // namespace

std::string_view name(BuildState state) { return kNames[static_cast<std::size_t>(state)]; }

}  // namespace weir::assembly
