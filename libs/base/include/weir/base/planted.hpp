#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Bugs that are planted on purpose, to see that the simulation finds them (tests/sim). Only a build with
// WEIR_PLANTED_BUGS has them; everywhere else planted() is constant and nothing of them is left.
namespace weir {

enum class Planted : std::uint8_t {
  none,
  drop_acknowledgement,  // a writer does not tell the supervisor of some stored slices
  acknowledge_unsynced,  // a writer acknowledges what it appended and did not sync
  lose_lease,            // some slices of a DCM that left stay with it
  forget_clear,          // some settled slices are not cleared in the readouts
  clear_early,           // slices are cleared when confirmed, not when stored
  double_credit,         // a decision gives two credits back
  accept_late,           // a fragment that was given up is taken when it comes
  confirm_two_attempts,  // the decision of an attempt that was taken back is confirmed, too
  forget_epoch,          // a confirmation to another writer keeps the store epoch
  never_release,         // some slices' memory is not given back
  release_early,         // a slice's memory is given back while it is on its way to the writer
  forget_missing,        // a fragment that is missing is not marked so
  forget_request,        // after a reconnect a readout is not asked again
  forget_shipment,       // after a reconnect a writer is not sent again what it has not acknowledged
  store_twice,           // a writer stores what it has already
  believe_torn_records,  // a restarted writer takes damaged records for stored
  forget_journal,        // some outcomes are not in the supervisor's journal
  never_release_grants,  // a writer's grants are not given back
  lose_lent,             // slices that a dead filter worker had not begun are not filtered
  blame_unbegun,         // a filter worker's death blames the slice behind the one that it was working on
  keep_dead_state,       // a slice whose filter state died with its worker goes on with its next step
  lose_forward,          // some forwarded slices do not wait for a DCM of their group
  clear_forwarded,       // readouts drop the fragments of some slices when they are forwarded
  forget_forward,        // some forwards are not in the supervisor's journal
  forward_stale,         // the forward of an attempt that was taken back is accepted, too
  forget_forward_bytes,  // attempts after the first of a group are assigned without the forwarded bytes
};
constexpr std::size_t kPlanted = 27;

[[nodiscard]] constexpr std::string_view name(Planted bug) {
  constexpr std::string_view kNames[kPlanted] = {"none",
                                                 "drop-acknowledgement",
                                                 "acknowledge-unsynced",
                                                 "lose-lease",
                                                 "forget-clear",
                                                 "clear-early",
                                                 "double-credit",
                                                 "accept-late",
                                                 "confirm-two-attempts",
                                                 "forget-epoch",
                                                 "never-release",
                                                 "release-early",
                                                 "forget-missing",
                                                 "forget-request",
                                                 "forget-shipment",
                                                 "store-twice",
                                                 "believe-torn-records",
                                                 "forget-journal",
                                                 "never-release-grants",
                                                 "lose-lent",
                                                 "blame-unbegun",
                                                 "keep-dead-state",
                                                 "lose-forward",
                                                 "clear-forwarded",
                                                 "forget-forward",
                                                 "forward-stale",
                                                 "forget-forward-bytes"};
  return kNames[static_cast<std::size_t>(bug)];
}

#ifdef WEIR_PLANTED_BUGS
inline Planted planted_bug = Planted::none;  // set once, before anything runs
[[nodiscard]] inline bool planted(Planted bug) { return planted_bug == bug; }
#else
[[nodiscard]] constexpr bool planted(Planted) { return false; }
#endif

}  // namespace weir
