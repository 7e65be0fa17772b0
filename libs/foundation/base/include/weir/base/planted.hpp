#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Bugs planted on purpose, to check that the simulation finds them (tests/sim). They exist only in a build
// with WEIR_PLANTED_BUGS; elsewhere planted() is a constant and the compiler removes them.
namespace weir {

enum class Planted : std::uint8_t {
  none,
  drop_acknowledgement,  // a writer does not tell the supervisor of some stored slices
  acknowledge_unsynced,  // a writer acknowledges appended records before they are synced
  lose_lease,            // some slices of a departed DCM stay with it
  forget_clear,          // some settled slices are not cleared in the readouts
  clear_early,           // slices are cleared when confirmed, not when stored
  double_credit,         // a decision returns two credits
  accept_late,           // a fragment that was given up is accepted when it arrives
  confirm_two_attempts,  // the decision of a revoked attempt is confirmed as well
  forget_epoch,          // a confirmation to another writer keeps the store epoch
  never_release,         // the memory of some slices is never released
  release_early,         // a slice's memory is released while it is being sent to the writer
  forget_missing,        // a missing fragment is not marked as missing
  forget_request,        // after a reconnect, requests to a readout are not repeated
  forget_shipment,       // after a reconnect, unacknowledged records are not sent again to the writer
  store_twice,           // a writer stores a record twice
  believe_torn_records,  // a restarted writer counts damaged records as stored
  forget_journal,        // some outcomes are not in the supervisor's journal
  never_release_grants,  // a writer's grants are not returned
  lose_lent,             // slices that a dead filter worker had not begun are not filtered
  blame_unbegun,         // a filter worker's death is blamed on the slice behind the one in work
  keep_dead_state,       // a slice whose filter state died with its worker continues with its next step
  overwrite_frozen,      // the burst ring overwrites slices that an alert has frozen
  forget_burst,          // after a reconnect, records of alerts are not sent again to the writer
  lose_forward,          // some forwarded slices do not wait for a DCM of their group
  clear_forwarded,       // readouts drop the fragments of some slices when they are forwarded
  forget_forward,        // some forwards are not in the supervisor's journal
  forward_stale,         // the forward of an attempt that was taken back is accepted, too
  forget_forward_bytes,  // attempts after the first of a group are assigned without the forwarded bytes
  count_dead_fills,      // histogram entries count when a step ends, whatever becomes of the slice
  build_cut_off,         // a remote group whose line is down builds slices without what it does not reach
  free_unconfirmed,      // a DCM frees the memory of a kept slice when it is sent, not when it is settled
  believe_copy,          // fragments from another DCM are accepted whatever their checksum
  count_fetched_twice,   // a slice whose DCM fails is built whole from readouts, fetched fragments included
  clear_fetched,         // readouts drop the fragments of a slice when it is fetched
  hold_kept,             // some settled slices stay charged to the DCM that keeps them
  forget_answers,        // some answers to numbered triggers are not in the supervisor's journal
  forget_gone,           // a DCM does not answer requests for slices that it no longer keeps
  mark_named,            // fragments out of step are not marked before their source is named
  close_gaps,            // a gap in the front-ends' numbers is closed at once
  place_anyhow,          // a counter that cannot be placed stands for the nearest number
  tell_once,             // a restarted supervisor does not get the numbers of its predecessor again
  join_whole,            // a readout that joins a run takes its first windows for whole
  hide_gap,              // a window in a gap of its source counts as whole
  lose_border,           // pieces near a border are freed with the first of their windows
  move_again,            // a DCM changes its plane before its hold time is over
  forget_moved,          // after a change of plane, requests to a readout are not repeated
  rush_carrier,          // a lost carrier moves a DCM before its hold time is over
};
constexpr std::size_t kPlanted = 48;

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
                                                 "overwrite-frozen",
                                                 "forget-burst",
                                                 "lose-forward",
                                                 "clear-forwarded",
                                                 "forget-forward",
                                                 "forward-stale",
                                                 "forget-forward-bytes",
                                                 "count-dead-fills",
                                                 "build-cut-off",
                                                 "free-unconfirmed",
                                                 "believe-copy",
                                                 "count-fetched-twice",
                                                 "clear-fetched",
                                                 "hold-kept",
                                                 "forget-answers",
                                                 "forget-gone",
                                                 "mark-named",
                                                 "close-gaps",
                                                 "place-anyhow",
                                                 "tell-once",
                                                 "join-whole",
                                                 "hide-gap",
                                                 "lose-border",
                                                 "move-again",
                                                 "forget-moved",
                                                 "rush-carrier"};
  return kNames[static_cast<std::size_t>(bug)];
}

#ifdef WEIR_PLANTED_BUGS
inline Planted planted_bug = Planted::none;  // set once, before any other code runs
[[nodiscard]] inline bool planted(Planted bug) { return planted_bug == bug; }
#else
[[nodiscard]] constexpr bool planted(Planted) { return false; }
#endif

}  // namespace weir
