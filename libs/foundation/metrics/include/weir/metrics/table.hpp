#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The table of all numbers that nodes report: the key in the report, the node, the unit, and the exported
// name. Reports are written and read by keys of this table (key.hpp), `/metrics` uses its names, and
// docs/metrics.md is rendered from it.
namespace weir::metrics {

struct Entry {
  enum class From : std::uint8_t { counter, gauge, sum, histogram };  // the part of the report
  enum class Kind : std::uint8_t { counter, gauge, histogram };       // the exported type

  From from = From::counter;
  std::string_view key;  // in the report; a key that ends in '.' stands for all with this prefix: a family
  Kind kind = Kind::counter;
  std::string_view name;   // exported name: base units, counters end in _total
  std::string_view label;  // of a family: the meaning of the rest of its keys, "reason"
  double scale = 1;        // exported value = reported value * scale
  std::string_view of;  // nodes: "all", or some of "supervisor", "readout", "DCM", "writer", then a condition
  bool rare = false;    // absent in some runs of such a node
  std::string_view help;

  [[nodiscard]] constexpr bool is_family() const { return key.back() == '.'; }
};

namespace table {

using From = Entry::From;
using Kind = Entry::Kind;

constexpr Entry count(std::string_view key, std::string_view name, std::string_view of, std::string_view help,
                      double scale = 1) {
  return {From::counter, key, Kind::counter, name, {}, scale, of, false, help};
}
constexpr Entry counts(std::string_view key, std::string_view name, std::string_view label,
                       std::string_view of, std::string_view help, double scale = 1) {
  return {From::counter, key, Kind::counter, name, label, scale, of, true, help};
}
// Makes an entry that some runs do not have.
constexpr Entry rare(std::string_view key, std::string_view name, std::string_view of, std::string_view help,
                     double scale = 1) {
  return {From::counter, key, Kind::counter, name, {}, scale, of, true, help};
}
constexpr Entry level(std::string_view key, std::string_view name, std::string_view of, std::string_view help,
                      double scale = 1) {
  return {From::gauge, key, Kind::gauge, name, {}, scale, of, false, help};
}
// A sum of measured times: a gauge in the report, because the length of a report must not depend on it.
constexpr Entry seconds(std::string_view key, std::string_view name, std::string_view of,
                        std::string_view help) {
  return {From::gauge, key, Kind::counter, name, {}, 1, of, false, help};
}
constexpr Entry slices(std::string_view key, std::string_view name, std::string_view of,
                       std::string_view help) {
  return {From::sum, key, Kind::counter, name, {}, 1, of, false, help};
}
constexpr Entry rare_slices(std::string_view key, std::string_view name, std::string_view of,
                            std::string_view help) {
  return {From::sum, key, Kind::counter, name, {}, 1, of, true, help};
}
constexpr Entry rare_level(std::string_view key, std::string_view name, std::string_view of,
                           std::string_view help) {
  return {From::gauge, key, Kind::gauge, name, {}, 1, of, true, help};
}
inline constexpr double kMicro = 1e-6;
inline constexpr double kMilli = 1e-3;
constexpr Entry latency(std::string_view key, std::string_view name, std::string_view help) {
  return {From::histogram, key, Kind::histogram, name, {}, kMicro, "DCM", false, help};
}

inline constexpr std::string_view kAll = "all";
inline constexpr std::string_view kSupervisor = "supervisor";
inline constexpr std::string_view kSplit = "supervisor, with groups of DCMs";
inline constexpr std::string_view kTextSupervisor = "supervisor, with trigger.listen_text";
inline constexpr std::string_view kReadout = "readout";
inline constexpr std::string_view kPushReadout = "readout, in push running";
inline constexpr std::string_view kFrontEnd = "readout, with front-ends";
inline constexpr std::string_view kNumbersReadout = "readout, in a farm by number";
inline constexpr std::string_view kNumbersSupervisor = "supervisor, in a farm by number";
inline constexpr std::string_view kWindows = "readout, by time";
inline constexpr std::string_view kStepReadout =
    "readout, with build.by: number, build.counter_bits or build.time_tolerance_us";
inline constexpr std::string_view kFaulty = "readout, with faults on purpose";
inline constexpr std::string_view kTracksReadout = "readout, the first of kind `hits`";
inline constexpr std::string_view kDcm = "DCM";
inline constexpr std::string_view kFetchDcm = "DCM, in farms with `fetch: builder`";
inline constexpr std::string_view kStepsDcm = "DCM, with filters of several steps";
inline constexpr std::string_view kBurstSupervisor = "supervisor, with burst.buffer_bytes";
inline constexpr std::string_view kBurstDcm = "DCM, with burst.buffer_bytes";
inline constexpr std::string_view kBurstDisk = "DCM, with burst.disk_bytes";
inline constexpr std::string_view kBurstWriter = "writer, with burst.buffer_bytes";
inline constexpr std::string_view kTapDcm = "DCM, once it was tapped";
inline constexpr std::string_view kPushDcm = "DCM, in push running";
inline constexpr std::string_view kWriter = "writer";
inline constexpr std::string_view kDiskUser =
    "writer; supervisor, with supervisor.journal; DCM, with burst.disk_bytes";

inline constexpr Entry kTable[] = {
    // The bus
    counts("bus.dropped.", "weir_bus_dropped_total", "what", kAll,
           "Messages to and from run control that were dropped: sent, published (also before run "
           "control was found), received."),
    // The run
    count("offered", "weir_triggers_offered_total", kSupervisor,
          "Triggers that were offered, accepted or not."),
    counts("vetoed.", "weir_triggers_vetoed_total", "reason", kSupervisor,
           "Triggers that did not become slices, by reason."),
    rare("trigger_text.repeated", "weir_trigger_text_repeated_total", kTextSupervisor,
         "Repeats of numbered triggers, which got the same answer again."),
    counts("trigger_text.refused.", "weir_trigger_text_refused_total", "reason", kTextSupervisor,
           "Lines of trigger clients that were answered with an error: line, number, mac, old, clients."),
    rare("trigger_text.made_room", "weir_trigger_text_made_room_total", kTextSupervisor,
         "Connections of trigger clients that were closed for another one, at the limit."),
    rare("numbers.gaps", "weir_numbers_gaps_total", kNumbersSupervisor,
         "Gaps in the front-ends' numbers that were closed."),
    rare("numbers.nobodys", "weir_numbers_nobodys_total", kNumbersSupervisor,
         "Numbers in them: no front-end sent one within build.skew_ms."),
    rare("numbers.late", "weir_numbers_late_total", kNumbersSupervisor,
         "Numbers that a readout reported when their gap had been closed."),
    rare("numbers.unconfirmed", "weir_numbers_unconfirmed_total", kNumbersSupervisor,
         "Numbers that few readouts reached, far ahead of the farm: given up."),
    count("triggered", "weir_slices_triggered_total", kSupervisor, "Slices that were triggered."),
    count("stored", "weir_slices_stored_total", kSupervisor, "Slices settled as stored: on disk."),
    count("stored_incomplete", "weir_slices_stored_incomplete_total", kSupervisor,
          "Stored slices with missing fragments."),
    count("rejected", "weir_slices_rejected_total", kSupervisor, "Slices settled as rejected by the filter."),
    counts("discarded.", "weir_slices_discarded_total", "reason", kSupervisor,
           "Slices discarded, by reason."),
    counts("groups.arrived.", "weir_group_slices_arrived_total", "group", kSplit,
           "Slices forwarded to the group of DCMs; of the first group, slices triggered."),
    counts("groups.stored.", "weir_group_slices_stored_total", "group", kSplit,
           "Slices of the group, stored."),
    counts("groups.rejected.", "weir_group_slices_rejected_total", "group", kSplit,
           "Slices rejected by the group."),
    counts("groups.discarded.", "weir_group_slices_discarded_total", "group", kSplit,
           "Slices of the group, discarded."),
    counts("groups.forwarded.", "weir_group_slices_forwarded_total", "group", kSplit,
           "Slices forwarded to another group."),
    counts("groups.fetched.", "weir_group_slices_fetched_total", "group", kSplit,
           "Slices of the group that arrived whole from the DCM that forwarded them."),
    counts("groups.reassigned.", "weir_group_slices_reassigned_total", "group", kSplit,
           "Assignments of attempts that followed a failed one in the same group."),
    counts("throttled_ms.", "weir_throttled_seconds_total", "reason", kSupervisor,
           "Livetime that was lost, by cause; the share of the time where some triggers were accepted.",
           kMilli),
    rare("lost_livetime_ms", "weir_lost_livetime_seconds_total", "supervisor, once any was lost",
         "Livetime that was lost, for any cause.", kMilli),
    rare("paused_ms", "weir_paused_seconds_total", "supervisor, once paused",
         "Time in which the run was paused.", kMilli),
    count("farm.fragments.requested", "weir_farm_fragments_requested_total", kSupervisor,
          "Fragments requested by all DCMs of the run; for lost DCMs, as last reported."),
    count("farm.fragments.received", "weir_farm_fragments_received_total", kSupervisor,
          "Requested fragments that arrived."),
    counts("farm.fragments.missing.", "weir_farm_fragments_missing_total", "reason", kSupervisor,
           "Fragments that the run's DCMs marked missing, by reason, likewise."),
    counts("farm.fragments.overtaken.", "weir_farm_fragments_overtaken_total", "reason", kSupervisor,
           "Of the missing: their attempt was given up or overtaken, and no stored slice lacks them."),
    counts("farm.fragments.dropped.", "weir_farm_fragments_dropped_total", "reason", kSupervisor,
           "Fragments that the run's readouts dropped, by reason, likewise."),
    count("farm.dcms_lost", "weir_farm_dcms_lost_total", kSupervisor,
          "DCMs that were lost before their final report. Their later counts are in no "
          "total: with "
          "any, the farm's totals are lower bounds."),
    count("supervisor.assignments", "weir_supervisor_assignments_total", kSupervisor,
          "Slices handed to DCMs, each attempt."),
    count("supervisor.unfiltered", "weir_supervisor_unfiltered_total", kSupervisor,
          "Attempts of slices held for poison, to be accepted unfiltered."),
    count("supervisor.reopened", "weir_supervisor_reopened_total", kSupervisor,
          "Attempts that were followed by another."),
    count("supervisor.suspected", "weir_supervisor_suspected_total", kSupervisor,
          "Attempts of slices that went through a filter alone, after a DCM that had them died."),
    count("supervisor.leases_expired", "weir_supervisor_leases_expired_total", kSupervisor,
          "Slices that a DCM held too long."),
    count("supervisor.reconfirmed", "weir_supervisor_reconfirmed_total", kSupervisor,
          "Accepted slices that were confirmed once more, to another writer."),
    count("supervisor.handed_back", "weir_supervisor_handed_back_total", kSupervisor,
          "Attempts that a DCM returned because it cannot reach a readout that others reach."),
    count("supervisor.decisions_refused", "weir_supervisor_decisions_refused_total", kSupervisor,
          "Decisions on attempts that were no longer open."),
    count("supervisor.decisions_repeated", "weir_supervisor_decisions_repeated_total", kSupervisor,
          "Decisions that were confirmed already."),
    count("supervisor.records_refused", "weir_supervisor_records_refused_total", kSupervisor,
          "Records that writers refused; their slices were built again or discarded."),
    count("supervisor.copies_taken", "weir_supervisor_copies_taken_total", kSupervisor,
          "Copies of given-up attempts that were on disk after all, and are valid."),
    count("supervisor.acks_dead", "weir_supervisor_acks_dead_total", kSupervisor,
          "Acknowledgements of dead copies."),
    count("supervisor.acks_unknown", "weir_supervisor_acks_unknown_total", kSupervisor,
          "Acknowledgements of forgotten slices."),
    level("slices_pending", "weir_slices_pending", kSupervisor, "Slices that wait for a DCM."),
    // Slices and memory of all roles
    level("slices_in_flight", "weir_slices_in_flight", kAll,
          "Slices that this process has: unsettled (supervisor, writer), held (readout), being built, "
          "filtered or shipped (DCM)."),
    level("buffer_bytes_used", "weir_buffer_used_bytes", "readout, DCM, writer",
          "Memory of fragments, slices, or data not yet on disk."),
    level("dcm.workers", "weir_dcm_workers", kDcm, "Filter workers that can take slices, spares included."),
    rare_level("dcm.plane", "weir_dcm_plane", kDcm,
               "Plane through which it receives: its place in `network.planes`, from 1. Only with planes."),
    level("dcm.flows", "weir_dcm_flows", kDcm,
          "Readouts with sources, from each of which it gets a flow of data."),
    level("dcm.flow_fairness", "weir_dcm_flow_fairness", kDcm,
          "Jain's fairness index of the bytes of these flows: 1 if all are equal; unequal by design where "
          "readouts have sources of different number or size."),
    level("buffer_bytes_peak", "weir_buffer_used_bytes_max", kReadout,
          "Largest use of its buffer, since its process started."),
    level("slices_held_peak", "weir_slices_held_max", kReadout, "Largest number of slices held, likewise."),
    level("buffer_level", "weir_buffer_level", kReadout, "Fill level of its fullest buffer, 0 to 1."),
    {From::gauge,
     "ring_bytes_used",
     Kind::gauge,
     "weir_ring_used_bytes",
     {},
     1,
     kWindows,
     true,
     "Pieces in the rings of its sources, build.ring_bytes each."},
    rare_level("sources_out_of_step", "weir_sources_out_of_step", kStepReadout,
               "Its sources that are out of step with the slices now."),
    // Readouts
    count("fragments.produced", "weir_fragments_produced_total", kReadout,
          "Fragments that the sources produced."),
    count("fragments.cleared", "weir_fragments_cleared_total", kReadout,
          "Fragments dropped at their slice's clear."),
    {From::counter,
     "fragments.held",
     Kind::gauge,
     "weir_fragments_held",
     {},
     1,
     kReadout,
     false,
     "Fragments that are held now."},
    count("fragments.served", "weir_fragments_served_total", kReadout, "Requests answered with a fragment."),
    count("fragments.bytes_produced", "weir_fragments_produced_bytes_total", kReadout,
          "Their bytes, as the sources made them."),
    counts("fragments.dropped.", "weir_fragments_dropped_total", "reason", kReadout,
           "Fragments dropped before their clear, by reason."),
    counts("readout.missing.", "weir_readout_missing_total", "reason", kReadout,
           "Requests answered without a fragment, by reason."),
    count("readout.announced", "weir_readout_announced_total", kReadout, "Slices that were announced."),
    count("readout.made", "weir_readout_made_total", kReadout, "Slices with all fragments made."),
    count("readout.never_made", "weir_readout_never_made_total", kReadout,
          "Slices cleared before their fragments were made."),
    count("readout.parked", "weir_readout_parked_total", kReadout, "Requests that waited for a slice."),
    count("readout.clears_unknown", "weir_readout_clears_unknown_total", kReadout,
          "Clears of unknown slices."),
    count("readout.held_back", "weir_readout_held_back_total", kReadout,
          "Times that a connection was not read, because too many bytes to it were unsent."),
    count("readout.not_arrived", "weir_readout_not_arrived_total", kFrontEnd,
          "Fragments given up after source.wait_ms."),
    count("readout.passed_absent", "weir_readout_passed_absent_total", kFrontEnd,
          "Fragments that their source reported as absent."),
    rare("numbers.left_out", "weir_numbers_left_out_total", kNumbersReadout,
         "Numbers that a source left out between two fragments."),
    rare("numbers.repeated", "weir_numbers_repeated_total", kNumbersReadout,
         "Fragments with their source's previous number."),
    rare("numbers.back", "weir_numbers_back_total", kNumbersReadout,
         "Fragments with a lower number than their source's previous one."),
    rare("numbers.unanchored", "weir_numbers_unanchored_total", kNumbersReadout,
         "Fragments that were dropped because their counter could not be placed."),
    rare("numbers.forgotten", "weir_numbers_forgotten_total", kNumbersReadout,
         "Numbers beyond the limits, far ahead of other sources or without a supervisor: forgotten."),
    rare("readout.out_of_step", "weir_readout_out_of_step_total", kStepReadout,
         "Fragments with a counter or a time that does not fit their slice."),
    rare("readout.realigned", "weir_readout_realigned_total", kStepReadout,
         "Fragments that went to another slice than they came with (`build.on_out_of_step: realign`)."),
    rare("readout.not_compared", "weir_readout_not_compared_total", kStepReadout,
         "Fragments with a time that arrived too early, or too late, to be compared."),
    counts("source.", "weir_source_total", "counter", kFrontEnd,
           "The source plugin's own counters, by name."),
    rare("pieces.received", "weir_pieces_received_total", kWindows, "Pieces that reached the readout."),
    rare("pieces.placed", "weir_pieces_placed_total", kWindows,
         "Of them, freed after they were in a window or more."),
    rare("pieces.unplaced", "weir_pieces_unplaced_total", kWindows,
         "Of them, freed without: no window had their time."),
    counts("pieces.dropped.", "weir_pieces_dropped_total", "reason", kWindows,
           "Of them, dropped, by reason."),
    {From::counter,
     "pieces.held",
     Kind::gauge,
     "weir_pieces_held",
     {},
     1,
     kWindows,
     true,
     "Of them, held now."},
    rare("pieces.copies", "weir_pieces_copies_total", kWindows,
         "Pieces in windows; one in two windows counts twice."),
    rare("readout.windows", "weir_readout_windows_total", kWindows, "Windows of sources that were made."),
    rare("readout.windows_forced", "weir_readout_windows_forced_total", kWindows,
         "Of them, made before their time had passed, because build.ring_bytes was full."),
    rare("readout.windows_cut", "weir_readout_windows_cut_total", kWindows,
         "Of them, without data that had left the ring: truncated, or missing (too_old)."),
    counts("injected.", "weir_injected_total", "fault", kFaulty,
           "Fragments with a fault on purpose (`source.faults`), by fault."),
    count("push.fragments", "weir_push_fragments_total", kPushReadout, "Fragments pushed."),
    count("push.bytes", "weir_push_bytes_total", kPushReadout, "Their bytes."),
    count("push.truncated", "weir_push_truncated_total", kPushReadout,
          "Fragments cut at readout.overrun_bytes."),
    count("push.dropped", "weir_push_dropped_total", kPushReadout,
          "Fragments dropped for being longer than readout.overrun_bytes."),
    count("push.suppressed", "weir_push_suppressed_total", kPushReadout,
          "Fragments suppressed by the burst cut-off."),
    count("push.slices_behind", "weir_push_slices_behind_total", kPushReadout,
          "Slices begun a slot late or later."),
    count("push.slices_requeued", "weir_push_slices_requeued_total", kPushReadout,
          "Times that the rest of a slice was put back."),
    count("push.slices_stalled", "weir_push_slices_stalled_total", kPushReadout,
          "Slices put back because their connection stalled."),
    count("push.slices_no_destination", "weir_push_slices_no_destination_total", kPushReadout,
          "Slices without a destination DCM."),
    count("push.clocks_off", "weir_push_clocks_off_total", kPushReadout,
          "Times that the clock offset was too large."),
    counts("truth.tracks.", "weir_truth_tracks_total", "modules", kTracksReadout,
           "True tracks in settled slices, by the modules with light: the least of each bin."),
    counts("truth.stored.", "weir_truth_stored_tracks_total", "modules", kTracksReadout,
           "Of these, tracks in stored slices."),
    counts("push.not_pushed.", "weir_push_not_pushed_total", "reason", kPushReadout,
           "Fragments that were not pushed, by reason; DCMs request them."),
    level("push.waiting_bytes", "weir_push_waiting_bytes", kPushReadout, "Bytes that wait to be pushed."),
    level("push.clock_ahead_us", "weir_push_clock_ahead_seconds", kPushReadout,
          "Offset of this clock from the supervisor's.", kMicro),
    // DCMs
    count("dcm.assigned", "weir_dcm_assigned_total", kDcm, "Slices accepted from the supervisor."),
    count("dcm.accepted", "weir_dcm_accepted_total", kDcm, "Slices that the filter accepted."),
    rare("dcm.plane_moves", "weir_dcm_plane_moves_total", kDcm, "Moves to another plane, and back."),
    slices("rejected", "weir_dcm_slices_rejected_total", kDcm, "Rejected slices, confirmed."),
    slices("stored", "weir_dcm_slices_stored_total", kDcm, "Slices that a writer acknowledged."),
    slices("discarded", "weir_dcm_slices_discarded_total", kDcm, "Slices given up, confirmed."),
    slices("forwarded", "weir_dcm_slices_forwarded_total", kDcm,
           "Slices forwarded to another group, confirmed."),
    count("dcm.filtered", "weir_dcm_filtered_total", kDcm,
          "Slices that the filter decided or failed for, poison included."),
    count("dcm.filter_errors", "weir_dcm_filter_errors_total", kDcm, "Slices for which the filter failed."),
    count("dcm.filter_stalled", "weir_dcm_filter_stalled_total", kDcm,
          "Filter steps that took longer than filter.step_deadline_ms."),
    count("dcm.worker_restarts", "weir_dcm_worker_restarts_total", kDcm,
          "Filter workers started to replace one that had ended."),
    counts("dcm.worker_ends.", "weir_dcm_worker_ends_total", "reason", kDcm,
           "Filter workers that ended, by reason."),
    count("dcm.worker_unkillable", "weir_dcm_worker_unkillable_total", kDcm,
          "Filter workers that were alive 5 s after their kill; their slices' memory stays in use."),
    count("dcm.poisoned", "weir_dcm_poisoned_total", kDcm,
          "Slices that ended their filter as often as a slice may, and were accepted unfiltered."),
    count("dcm.retried", "weir_dcm_retried_total", kDcm,
          "Slices that were given to another filter worker because theirs had ended."),
    rare("dcm.fills_dropped", "weir_dcm_histogram_fills_dropped_total", kDcm,
         "Steps of slices with histogram entries that were dropped: too many slices waited to be settled."),
    count("dcm.steps", "weir_dcm_steps_total", kDcm, "Filter steps."),
    count("dcm.output_events", "weir_dcm_output_events_total", kDcm, "Events that the filter put out."),
    count("dcm.handed_back", "weir_dcm_handed_back_total", kDcm,
          "Slices returned because this DCM cannot reach a readout that others reach."),
    count("fragments.cancelled", "weir_fragments_cancelled_total", kDcm,
          "Requested fragments of returned slices, and prefetched ones, no longer awaited."),
    rare("prefetch.fragments", "weir_prefetch_fragments_total", kStepsDcm,
         "Fragments requested ahead of the step that may need them."),
    rare("prefetch.used", "weir_prefetch_used_total", kStepsDcm, "Of these, fragments that a step needed."),
    rare("prefetch.unused", "weir_prefetch_unused_total", kStepsDcm,
         "Of these, fragments that no step needed: cancelled, or received in vain."),
    rare("prefetch.bytes", "weir_prefetch_bytes_total", kStepsDcm,
         "Payload that arrived before a step needed it."),
    rare("prefetch.wasted_bytes", "weir_prefetch_wasted_bytes_total", kStepsDcm,
         "Payload that was requested ahead and arrived in vain."),
    rare("fetch.kept", "weir_fetch_kept_slices_total", kFetchDcm,
         "Forwarded slices kept for a DCM of a later group."),
    rare("fetch.kept_dropped", "weir_fetch_kept_dropped_total", kFetchDcm,
         "Of these, slices dropped because accepts needed their memory."),
    rare("fetch.kept_at_end", "weir_fetch_kept_at_end_total", kFetchDcm,
         "Of these, slices still kept when the DCM was removed from the run; at the run's end none."),
    rare("fetch.slices_sent", "weir_fetch_sent_slices_total", kFetchDcm, "Slices sent to other DCMs."),
    rare("fetch.fragments_sent", "weir_fetch_sent_fragments_total", kFetchDcm,
         "Fragments sent to other DCMs."),
    rare("fetch.bytes_sent", "weir_fetch_sent_bytes_total", kFetchDcm, "Payload sent to other DCMs."),
    rare("fetch.not_kept", "weir_fetch_not_kept_total", kFetchDcm,
         "Requests of other DCMs for slices that are not kept."),
    rare("fetch.slices", "weir_fetch_slices_total", kFetchDcm,
         "Slices received from the DCM that built them."),
    rare("fetch.fragments", "weir_fetch_fragments_total", kFetchDcm, "Fragments received from other DCMs."),
    rare("fetch.unused", "weir_fetch_unused_fragments_total", kFetchDcm,
         "Of these, duplicates and fragments no longer wanted."),
    rare("fetch.bytes", "weir_fetch_bytes_total", kFetchDcm, "Payload received from other DCMs."),
    rare("fetch.from_readouts", "weir_fetch_from_readouts_total", kFetchDcm,
         "Slices kept by another DCM that were built from the readouts instead."),
    rare("fetch.broken", "weir_fetch_broken_connections_total", kFetchDcm,
         "Connections to DCMs that ended during the run."),
    counts("steps.slices.", "weir_step_slices_total", "step", kStepsDcm,
           "Slices that reached a step of the filter."),
    counts("steps.rejected.", "weir_step_rejected_total", "step", kStepsDcm, "Slices that a step rejected."),
    counts("steps.bytes.", "weir_step_bytes_total", "step", kStepsDcm,
           "Payload that slices gained for a step, prefetched fragments included."),
    counts("steps.wait_us.", "weir_step_wait_seconds_total", "step", kStepsDcm,
           "Time from a step's request, or the slice's assignment, until its fragments were here.", kMicro),
    counts("steps.process_us.", "weir_step_process_seconds_total", "step", kStepsDcm,
           "Time that a step took in the filter.", kMicro),
    counts("steps.cpu_us.", "weir_step_cpu_seconds_total", "step", kStepsDcm,
           "CPU time of a step in the filter.", kMicro),
    seconds("cpu.filter_s", "weir_dcm_filter_cpu_seconds_total", kDcm,
            "CPU time of the filter's threads or workers."),
    seconds("cpu.transport_s", "weir_dcm_transport_cpu_seconds_total", kDcm,
            "CPU time of the thread that requests, receives, assembles and ships slices."),
    count("dcm.refused", "weir_dcm_refused_total", kDcm, "Decisions that arrived too late."),
    counts("dcm.records_refused.", "weir_dcm_records_refused_total", "reason", kDcm,
           "Records that a writer did not take, by reason; those offered again included."),
    rare("dcm.unheard", "weir_dcm_unheard_total", "DCM, at a run's end",
         "Slices sent to a writer that never confirmed them."),
    count("fragments.requested", "weir_fragments_requested_total", kDcm,
          "Fragments requested, or expected in push running."),
    count("fragments.received", "weir_fragments_received_total", kDcm,
          "Fragments received, damaged and shortened ones too."),
    count("fragments.bytes", "weir_fragments_received_bytes_total", kDcm,
          "Payload of the fragments received."),
    count("fragments.bytes_arrived", "weir_fragments_arrived_bytes_total", kDcm,
          "Payload as it arrives, of incomplete and of discarded fragments too."),
    count("fragments.truncated", "weir_fragments_truncated_total", kDcm,
          "Of the received: shortened by the source."),
    count("fragments.suppressed", "weir_fragments_suppressed_total", kDcm,
          "Of the received: left out by the source's cut-off."),
    count("fragments.out_of_step", "weir_fragments_out_of_step_total", kDcm,
          "Of the received: the front-end's counter or time does not fit the slice."),
    count("fragments.corrupt", "weir_fragments_corrupt_total", kDcm,
          "Of the received: the checksum did not match, twice."),
    count("fragments.asked_again", "weir_fragments_asked_again_total", kDcm,
          "Fragments requested again after a wrong checksum."),
    counts("fragments.missing.", "weir_fragments_missing_total", "reason", kDcm,
           "Fragments marked missing, by reason."),
    counts("fragments.overtaken.", "weir_fragments_overtaken_total", "reason", kDcm,
           "Of the missing: their attempt was given up or overtaken, and no stored slice lacks them."),
    count("fragments.late", "weir_fragments_late_total", kDcm,
          "Arrived after their attempt was closed, or had given them up."),
    count("fragments.duplicate", "weir_fragments_duplicate_total", kDcm, "Arrived a second time."),
    count("fragments.unknown", "weir_fragments_unknown_total", kDcm,
          "Never requested, or from the wrong readout."),
    count("push.opened_early", "weir_push_opened_early_total", kPushDcm,
          "Slices opened by a fragment, before their assignment."),
    count("push.never_assigned", "weir_push_never_assigned_total", kPushDcm,
          "Slices opened by a fragment that were never assigned."),
    count("push.pushed_out", "weir_push_pushed_out_total", kPushDcm, "Slices evicted by newer ones."),
    count("push.asked_for", "weir_push_asked_for_total", kPushDcm,
          "Slices with fragments that had to be requested."),
    count("push.given_up", "weir_push_given_up_total", kPushDcm,
          "Of the evicted slices, those with fragments that were given up (dcm.incomplete: order)."),
    count("push.no_memory", "weir_push_no_memory_total", kPushDcm,
          "Pushed fragments dropped for lack of memory, to be requested."),
    rare("burst.alerts", "weir_burst_alerts_total", kBurstSupervisor, "Alerts taken."),
    rare("burst.alerts_refused", "weir_burst_alerts_refused_total", kBurstSupervisor,
         "Alerts refused: too many at a time or in the run, an empty window, or a filter's within "
         "burst.filter_alert_s "
         "of another."),
    rare("burst.asked", "weir_burst_slices_asked_total", kBurstSupervisor,
         "Slices of the alerts' windows, once for each alert."),
    rare("burst.saved", "weir_burst_slices_acknowledged_total", kBurstSupervisor,
         "Of them, those that DCMs report as on disk."),
    counts("burst.not_saved.", "weir_burst_slices_not_saved_total", "reason", kBurstSupervisor,
           "Of them, those that are not saved: too_old, no_room, disk_slow, disk_failed, refused, "
           "lost."),
    rare("burst.kept", "weir_burst_kept_total", kBurstDcm, "Settled slices copied into the burst ring."),
    rare("burst.overwritten", "weir_burst_overwritten_total", kBurstDcm,
         "Slices of the burst ring that newer ones have overwritten."),
    rare("burst.unplaced", "weir_burst_unplaced_total", kBurstDcm,
         "Settled slices for which the burst ring had no room beside its frozen ones."),
    rare("burst.bytes_saved", "weir_burst_saved_bytes_total", kBurstDcm,
         "Bytes of records that alerts have on disk."),
    rare("burst.sent_again", "weir_burst_sent_again_total", kBurstDcm,
         "Records of alerts sent again after a lost connection."),
    rare("burst.disk_bytes_written", "weir_burst_disk_written_bytes_total", kBurstDisk,
         "Bytes of records written to the burst ring's disk."),
    rare("burst.disk_errors", "weir_burst_disk_errors_total", kBurstDisk,
         "Records that the burst ring's disk did not take, each time, or did not return."),
    counts("burst.disk_missed.", "weir_burst_disk_missed_total", "reason", kBurstDisk,
           "Slices overwritten in memory before the disk had taken them, by reason: slow, failed."),
    rare_slices("burst_saved", "weir_burst_slices_saved_total", kBurstDcm,
                "Slices that alerts have on disk, once for each alert."),
    rare_slices("burst_live", "weir_burst_slices_live_total", kBurstWriter,
                "Slices of alerts on this writer's disk, once for each alert."),
    rare_level("burst_bytes_used", "weir_burst_bytes_used", kBurstDcm,
               "Bytes of slices in the burst ring's memory."),
    rare_level("burst_disk_bytes_used", "weir_burst_disk_bytes_used", kBurstDisk,
               "Bytes of slices on the burst ring's disk."),
    rare_level("burst_bytes_frozen", "weir_burst_bytes_frozen", kBurstDcm,
               "Bytes exempt from overwriting for alerts, in memory and on disk."),
    rare_level("burst_slice_bytes_max", "weir_burst_slice_bytes_max", kBurstDcm,
               "Bytes of the largest slice that the burst ring has kept."),
    rare_level("burst_slices_waiting", "weir_burst_slices_waiting", kBurstDcm,
               "Slices that alerts ask for and that are not on disk yet."),
    rare("tap.samples", "weir_tap_samples_total", kTapDcm, "Samples of slices published."),
    rare("tap.bytes", "weir_tap_bytes_total", kTapDcm, "Their bytes."),
    counts("tap.dropped.", "weir_tap_dropped_total", "reason", kTapDcm,
           "Samples not published, by reason: rate, too_large, bus."),
    rare("tap.refused", "weir_tap_refused_total", kTapDcm, "Requests beyond tap.taps_max."),
    counts("filter.", "weir_filter_total", "counter", kDcm, "The filter's own counters, by name."),
    rare("shaper.overdrawn", "weir_shaper_overdrawn_total", kDcm,
         "Requests beyond a full window, because none of its bytes had arrived for 0.5 s."),
    rare("slices.expired_empty", "weir_slices_expired_empty_total", kDcm,
         "Slices that passed dcm.deadline_ms without a byte while all readouts were connected."),
    level("shaper.window", "weir_shaper_window", kDcm,
          "The window: bytes, or fragments with the shaper fragment-credits."),
    level("shaper.outstanding", "weir_shaper_outstanding", kDcm,
          "Outstanding bytes, or fragments with the shaper fragment-credits."),
    level("shaper.base_us", "weir_shaper_base_seconds", kDcm,
          "The shortest response time that the shaper adaptive has seen; 0 with others.", kMicro),
    rare_level("kept_slices", "weir_kept_slices", kFetchDcm, "Forwarded slices that are kept at present."),
    level("shipments_waiting", "weir_shipments_waiting", kDcm,
          "Accepted slices that wait for a writer's grant."),
    {From::gauge,
     "filter.oldest_s",
     Kind::gauge,
     "weir_filter_oldest_seconds",
     {},
     1,
     "DCM, while its filter works",
     true,
     "Time that the filter has held its oldest slice."},
    latency("latency_us", "weir_slice_collect_seconds",
            "From a slice's first request, or first pushed byte, to its last fragment."),
    latency("build_latency_us", "weir_slice_build_seconds",
            "From a slice's assignment, or its last slot in push running, to its last fragment."),
    latency("decision_latency_us", "weir_slice_decision_seconds",
            "From a slice's assignment to the decision."),
    // Writers
    count("writer.records", "weir_writer_records_total", kWriter, "Slices taken in."),
    count("writer.bytes_in", "weir_writer_in_bytes_total", kWriter, "Their bytes."),
    count("writer.bytes_stored", "weir_writer_stored_bytes_total", kWriter,
          "Bytes on disk, with frames and indexes."),
    {From::sum,
     "live",
     Kind::gauge,
     "weir_writer_slices_live",
     {},
     1,
     kWriter,
     false,
     "Live slices of this run on disk."},
    count("writer.appends", "weir_writer_appends_total", kWriter, "Writes to files."),
    count("writer.syncs", "weir_writer_syncs_total", kWriter, "Syncs to disk."),
    count("writer.retries", "weir_writer_retries_total", kWriter,
          "Failed writes and syncs that were tried again."),
    count("writer.blocked", "weir_writer_blocked_total", kWriter, "Times that the disk accepted no data."),
    {From::gauge,
     "disk.free_bytes",
     Kind::gauge,
     "weir_disk_free_bytes",
     {},
     1,
     kDiskUser,
     true,
     "Free bytes of the file system with the process' folder; absent while it does not answer."},
    {From::gauge,
     "disk.total_bytes",
     Kind::gauge,
     "weir_disk_bytes",
     {},
     1,
     kDiskUser,
     true,
     "Size of this file system."},
    count("writer.files_closed", "weir_writer_files_closed_total", kWriter, "Run files closed."),
    count("writer.on_close_started", "weir_writer_on_close_started_total", kWriter,
          "Commands of writer.on_close that were started."),
    count("writer.on_close_failed", "weir_writer_on_close_failed_total", kWriter,
          "Commands of writer.on_close that failed."),
    count("writer.on_close_ended_by_limit", "weir_writer_on_close_ended_by_limit_total", kWriter,
          "Commands of writer.on_close that took longer than writer.on_close_s, and were ended."),
    count("writer.on_close_dropped", "weir_writer_on_close_dropped_total", kWriter,
          "Closed files without their command: too many were waiting."),
    count("writer.files_compared", "weir_writer_files_compared_total", kWriter,
          "Run files that were compared with the file system at the end."),
    count("writer.dead_copies", "weir_writer_dead_copies_total", kWriter,
          "Dead copies on disk; the manifest lists them."),
    rare("writer.files_left", "weir_writer_files_left_total", "writer, if files were moved away",
         "Run files that a person or a job moved away (allowed), of those that were compared."),
    rare("writer.files_restored", "weir_writer_files_restored_total", "writer, if its files were changed",
         "Run files that were changed from outside, and restored."),
    rare("writer.slices_lost", "weir_writer_slices_lost_total", "writer, where others touched its files",
         "Slices that vanished from disk."),
    counts("writer.result.", "weir_writer_results_total", "result", kWriter, "Records received, by result."),
    count("writer.grants", "weir_writer_grants_total", kWriter, "Grants given to DCMs."),
    count("writer.grant_violations", "weir_writer_grant_violations_total", kWriter,
          "DCMs that sent more than was granted."),
    // Network and process
    count("net.bytes_received", "weir_net_received_bytes_total", kAll, "Bytes received over TCP."),
    count("net.bytes_sent", "weir_net_sent_bytes_total", kAll, "Bytes sent over TCP."),
    count("net.receive_calls", "weir_net_receive_calls_total", kAll, "System calls that receive."),
    count("net.send_calls", "weir_net_send_calls_total", kAll, "System calls that send."),
    count("net.wait_calls", "weir_net_wait_calls_total", kAll, "System calls that wait."),
    count("net.retransmits", "weir_net_retransmits_total", kAll, "Segments that TCP retransmitted."),
    count("peers.accepted", "weir_peers_accepted_total", kAll, "Connections accepted."),
    count("peers.refused_full", "weir_peers_refused_full_total", kAll, "Connections refused: too many."),
    count("peers.refused_hello", "weir_peers_refused_hello_total", kAll,
          "Connections refused by their hello: another farm, run, version or role."),
    count("peers.refused_auth", "weir_peers_refused_auth_total", kAll,
          "Connections refused: no valid proof of identity."),
    count("peers.silent", "weir_peers_silent_total", kAll, "Connections closed: no hello in time."),
    counts("peers.protocol_errors.", "weir_peers_protocol_errors_total", "error", kAll,
           "Connections closed for malformed input, by error."),
    {From::gauge,
     "process.cpu_s",
     Kind::counter,
     "weir_process_cpu_seconds_total",
     {},
     1,
     kAll,
     false,
     "Processor time, of all threads."},
    seconds("loop.cpu_s", "weir_loop_cpu_seconds_total", kAll,
            "CPU time, in this run, of the thread that moves the data."),
    seconds("loop.wait_s", "weir_loop_wait_seconds_total", kAll,
            "Time that this thread was ready to run and no core was free."),
    level("process.rss_max_bytes", "weir_process_resident_max_bytes", kAll,
          "Largest resident memory of the process."),
};

}  // namespace table

using table::kTable;

// Returns the entry with the exact key, else the family that contains it, else null.
[[nodiscard]] constexpr const Entry* find(Entry::From from, std::string_view key) {
  const Entry* family = nullptr;
  for (const Entry& entry : kTable) {
    if (entry.from != from) continue;
    if (entry.key == key) return &entry;
    if (entry.is_family() && key.starts_with(entry.key)) family = &entry;
  }
  return family;
}
// Returns a name for a key without an entry: "a.b-c" -> "weir_a_b_c".
[[nodiscard]] std::string plain_name(std::string_view key, Entry::Kind kind);

// Returns the text of docs/metrics.md.
[[nodiscard]] std::string document();

}  // namespace weir::metrics
