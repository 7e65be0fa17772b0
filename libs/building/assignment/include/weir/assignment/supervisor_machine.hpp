#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/assignment/back_pressure.hpp>
#include <weir/assignment/blame.hpp>
#include <weir/assignment/confirmations.hpp>
#include <weir/assignment/dcm_groups.hpp>
#include <weir/assignment/fault_list.hpp>
#include <weir/assignment/lease_clock.hpp>
#include <weir/assignment/ledger.hpp>
#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/part_table.hpp>
#include <weir/assignment/reach_board.hpp>
#include <weir/assignment/reach_news.hpp>
#include <weir/assignment/recorded_triggers.hpp>
#include <weir/assignment/run_clock.hpp>
#include <weir/assignment/run_state.hpp>
#include <weir/assignment/slice_book.hpp>
#include <weir/assignment/slice_ids.hpp>
#include <weir/assignment/trigger_source.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weir::assignment {

struct SupervisorSettings {
  std::size_t readouts = 0;  // places in the farm, by role; every NodeIndex is below
  std::size_t dcms = 0;
  std::size_t writers = 0;                  // 0: the farm stores nothing
  std::uint32_t in_flight_max = 4096;       // unsettled slices
  std::uint32_t pending_max;                // slices that wait for a first DCM; triggers beyond are vetoed
  std::uint32_t remembered_slices = 65536;  // settled slices that are remembered to recognise late messages
  std::uint32_t credits_max = 65536;        // per DCM; a DCM that declares more gets this many
  // A DCM that decides no slice for lease_ns + data_ns loses its slices. A slice that has been in the filter
  // for lease_ns is taken from its DCM regardless of other decisions.
  DurationNs lease_ns;
  DurationNs data_ns = 0;  // longest time that a slice may wait for its data
  // Time from confirmation to acknowledgement before another writer is chosen; 0: no limit. It doubles with
  // each further confirmation of a slice, so that in a farm of slow writers one of them eventually has enough
  // time.
  DurationNs writer_ack_ns = 0;
  DurationNs drain_ns;                           // longest time without a settled slice after request_stop()
  DurationNs drain_look_ns = 50 * kMillisecond;  // between checks of draining nodes
  std::uint8_t filtered_attempts_max = 2;  // attempts that killed or stalled their filter; then unfiltered
  std::uint8_t attempts_max = 16;          // attempts during which the DCM died or stalled; then discarded
  std::uint64_t slices_max = 0;            // triggered slices; 0: no limit
  DurationNs duration_ns = 0;              // time of triggering; 0: no limit
  std::uint32_t payload_max = 64 * 1024;   // bytes of one trigger's payload
  std::size_t payload_bytes_max = 64UL * 1024 * 1024;  // bytes of all unsettled slices' payloads
  SliceId first_slice;                                 // for triggers without an id
  std::shared_ptr<const RecordedTriggers> recorded;    // triggers without an id are these; null: as offered
  std::size_t id_intervals_max =
      1'000'000;   // intervals of given ids; an id that needs a further one is vetoed
  GateMarks gate;  // off
  // Push run: a slice's first attempt goes to its destination. A slice is vetoed if its destination has no
  // free credit, because its data would be pushed anyway.
  bool push = false;
  bool ids_ascend = false;  // an id below an earlier one is vetoed (`not_ascending`), as with `push`
  ReachSettings reach;
  // Groups of DCMs, in the order of their DCMs' indexes; empty: one group of all. Not with push.
  std::vector<GroupSettings> groups;
  // Longest forwarded data of one slice. In a farm with groups each slice in flight reserves this much of
  // payload_bytes_max.
  std::uint32_t forward_bytes_max = 4096;
};

// The supervisor's decisions: triggers, leases, confirmations, clears, and its side of the ledger. Pure: time
// is an input, actions are the output, one thread. Node indexes come from the farm file and are within the
// settings' sizes (asserted); all other input may be arbitrary data from a peer, and is answered or counted,
// never trusted.
//
// The machine is a facade over parts with separate rules and tests. It decides which parts an input concerns,
// and in which order.
//
// A pass of the node: every input that arrived, then tick(), then the actions. Only tick() makes triggers and
// assigns; the other inputs settle, answer and reopen.
class SupervisorMachine {
 public:
  SupervisorMachine(const SupervisorSettings& settings, std::unique_ptr<TriggerSource> source,
                    std::unique_ptr<AssignmentPolicy> policy);
  // Requires: a policy for each of the settings' groups.
  SupervisorMachine(const SupervisorSettings& settings, std::unique_ptr<TriggerSource> source,
                    DcmGroups::Policies policies);
  SupervisorMachine(SupervisorMachine&&) = default;

  // Begins the run. Nodes may join before and after.
  void start(const Now& now);
  // Instead of start(): resumes a run that another process began `already` ago and left in this state.
  // Unsettled slices wait for their next attempt and are announced again, even if they exceed
  // settings.in_flight_max: no slice is triggered until there is room.
  void resume(const RunState& state, DurationNs already, const Now& now, Actions& out);
  // After resume(): the state was outdated, and the fate of the unsettled slices is unknown. Stops the run
  // and discards them (supervisor_restart). The caller must drop earlier actions: an open slice of the state
  // may be on a disk.
  void abandon(TimeNs now, Actions& out);
  // Both cost a pass over the book.
  [[nodiscard]] RunState state(TimeNs now);
  [[nodiscard]] std::vector<Announcement> open_slices();  // unsettled, in the order of announcement
  // Returns settled slices that a DCM may still build, because another copy was stored first.
  [[nodiscard]] std::vector<SliceId> settled_and_built();
  // Ends triggers. Slices in flight continue while at least one is settled per settings.drain_ns, and for
  // `limit` at most; the rest is then discarded. A further call can only shorten the limit. Requires: start()
  // was called.
  void request_stop(TimeNs now, DurationNs limit = RunClock::kNoLimit) { clock_.stop(now, limit); }
  // Expires leases, makes due triggers, assigns slices.
  void tick(const Now& now, Actions& out);
  // Returns when tick() is due next if no input arrives; nullopt: never.
  [[nodiscard]] std::optional<TimeNs> next_wakeup(const Now& now) const;

  // A node that joins while it is present has left before. When a DCM leaves, its undecided slices, and
  // accepted ones that are not on disk, are reopened as the next attempt. If it had reported a suspect in its
  // filter, only that slice and those beside it can be to blame (BlameRule); otherwise each undecided slice
  // is a suspect, without a count: it runs alone in the filter (Assignment::suspect). When a writer leaves,
  // its unacknowledged slices are confirmed again under a higher epoch.
  void dcm_joined(NodeIndex dcm, Incarnation incarnation, std::uint32_t credits, TimeNs now, Actions& out);
  // `reported`: the DCM sent its final report. A DCM that was released and has not sent it is a loss like any
  // other: the last messages to it, from writers too, may be lost with its connection, and the DCMs' counts
  // are lower bounds.
  void dcm_left(NodeIndex dcm, TimeNs now, Actions& out, bool reported = false);
  void readout_joined(NodeIndex readout, Incarnation incarnation, TimeNs now);
  void readout_left(NodeIndex readout, TimeNs now);
  void writer_joined(NodeIndex writer, Incarnation incarnation, TimeNs now, Actions& out);
  void writer_left(NodeIndex writer, TimeNs now, Actions& out);
  // Triggers are held up while any participating node requests it (`on`), and lowered in rate by the highest
  // fill level (settings.gate): the fullest readout or DCM, the emptiest writer, and the list of slices that
  // wait for a DCM, except for a source that waits for room. A writer with `on` gets no slices while another
  // has room, and then holds no triggers up. `level`: 0 to 1.
  void throttle(Role role, NodeIndex node, bool on, std::string_view reason, double level = 0);

  // Records all nodes that a DCM reports as unreachable (ReachBoard). A DCM that is cut off gets no slices,
  // and is left out of push runs; it returns slices that it cannot build (`unreachable`), which is not a
  // kill. Accepts of a DCM that cannot reach their writer are confirmed to another, if one is available.
  void reach(NodeIndex dcm, std::span<const NodeIndex> readouts, std::span<const NodeIndex> writers,
             TimeNs now);
  // Source of the messages for the DCMs in Actions::judged.
  [[nodiscard]] const ReachBoard& reach() const { return reach_; }

  // Run control. While the run is paused no slice is triggered; slices in flight continue. A trigger that
  // falls due (rate, poisson, clock, a paced file) or comes from outside is offered and vetoed: `paused`. A
  // source that waits for room (max, an unpaced file) is not asked. So offered = triggered + vetoed stays
  // true, and the first kind shows the triggers missed in a pause. Pauses do not count for
  // settings.duration_ns. A stop ends a pause.
  void pause(TimeNs now) { clock_.pause(now); }
  void continue_run(TimeNs now) { clock_.continue_run(now); }
  [[nodiscard]] bool paused() const { return clock_.paused(); }
  [[nodiscard]] DurationNs paused_ns(TimeNs now) const { return clock_.paused_ns(now); }

  // Before start(): the run may begin without this node; slices are built without it until it joins.
  void expect_later(NodeRef node);
  // Drains the node: it gets no new work, and once it has none left it appears in Actions::leaving, once. A
  // DCM gets no slices, a writer no confirmations, and a readout is absent from slices triggered later
  // (absences()). Its leaving is then not a fault; a DCM must have sent its final report. An absent node is
  // out immediately, and so is one that dies while it drains.
  void remove(NodeRef node, TimeNs now);
  // Returns the node to the run: immediately if it still drains or idles, otherwise its next process takes
  // part when it joins.
  void add(NodeRef node, TimeNs now, Actions& out);
  // The process that is about to join was ordered to end before, by this or an earlier supervisor process: it
  // appears in Actions::leaving again. If the node was added meanwhile, its next process takes part.
  void was_told_to_end(NodeRef node, Actions& out);
  [[nodiscard]] Part part(NodeRef node) const { return parts_.of(node); }
  // A DCM must have the current table before it receives an assignment.
  [[nodiscard]] const AbsenceTable& absences() const { return parts_.absences(); }
  [[nodiscard]] FarmShape shape(TimeNs now) const;
  // The order of the next slice: the number of slices announced so far.
  [[nodiscard]] SliceOrder next_order() const { return SliceOrder(ledger_.triggered.count); }
  // Version of shape(), except for the time.
  [[nodiscard]] std::uint32_t shape_number() const { return clock_.number() + parts_.number(); }

  // An external trigger; info.time 0 means now.
  OfferResult offer(const TriggerOffer& trigger, const Now& now, Actions& out);
  void decisions(NodeIndex dcm, std::span<const AttemptDecision> batch, TimeNs now, Actions& out);
  void stored(NodeIndex writer, std::span<const CopyId> batch, Actions& out);
  // The slices are whole in their new DCM: the DCMs that keep them may drop them.
  void fetched(NodeIndex dcm, std::span<const Lease> slices, Actions& out);
  void filtering(NodeIndex dcm, const FilterNote& note, TimeNs now);
  // Adds to the slices' kills. The DCM keeps the slices; later attempts carry the count. Kills of other DCMs'
  // attempts are ignored.
  void filter_killed(NodeIndex dcm, std::span<const FilterKill> kills, Actions& out);

  // True if no trigger will follow: number of slices or duration reached, file finished, or stopped.
  [[nodiscard]] bool triggers_done() const { return clock_.triggers_done(); }
  // True if settings.duration_ns is over, pauses not counted.
  [[nodiscard]] bool is_past_duration(TimeNs now) const { return clock_.triggered_long_enough(now); }
  // Id of the next trigger without one, above all given ids.
  [[nodiscard]] SliceId next_slice() const { return ids_.next(); }
  // Returns whether this id is or was a slice's.
  [[nodiscard]] bool has_given(SliceId slice) const { return ids_.given().contains(slice); }
  // True if no id is left; triggers have then ended.
  [[nodiscard]] bool ids_used_up() const { return ids_.used_up(); }
  // True if every slice of a recording that is replayed once has been triggered.
  [[nodiscard]] bool recording_is_over() const { return !next_id(); }
  // Returns the time of triggers made now: `utc`, or that of a replay's newest slice, because recorded slices
  // keep their times; nullopt: the replay has no slice yet.
  [[nodiscard]] std::optional<UtcNs> trigger_time(UtcNs utc) const;
  // True if the run is stopped and every slice is settled.
  [[nodiscard]] bool drained() const { return clock_.stopping() && book_.live() == 0; }
  [[nodiscard]] std::size_t in_flight() const { return book_.live(); }
  [[nodiscard]] std::size_t pending() const { return groups_.pending(); }  // in all groups
  [[nodiscard]] std::size_t pending(GroupIndex group) const { return groups_[group].waiting.pending(); }
  [[nodiscard]] GroupIndex group_of(NodeIndex dcm) const { return groups_.of(dcm); }
  [[nodiscard]] std::span<const DcmView> dcms() const { return dcms_.views(); }
  // Empty unless settings.push. A node must have the current table before it receives a slice.
  [[nodiscard]] const DestinationTable& destinations() const {
    return groups_.first().placement.destinations();
  }
  // Current causes of held-up triggers: a pause, nodes that request it, or else the fullest buffer.
  [[nodiscard]] std::vector<HoldUp> throttled_by() const;
  // Updates `open` before it returns.
  [[nodiscard]] const SupervisorLedger& ledger();
  [[nodiscard]] std::span<const Fault> faults() const { return faults_.all(); }
  // Copies that this writer may have and that do not count, because their confirmation was taken back.
  [[nodiscard]] const GivenUpCopies::Count& copies_given_up(NodeIndex writer) const {
    return confirmations_.given_up().of(writer);
  }

  // For tests: recounts everything from the slices, and returns the name of the first broken invariant, or an
  // empty string. Costs a pass over the book.
  [[nodiscard]] std::string_view broken_invariant();

  // For exhaustive searches (tests/protocol): returns a machine in the same state. Requires: the source and
  // the policy, which both share, keep no state.
  [[nodiscard]] SupervisorMachine twin() const { return *this; }
  // Appends the state that determines the machine's behaviour until request_stop(): equal rows, equal
  // futures. Moments are given relative to now. Mere counters are left out, and so are the DCMs' reach
  // reports, which searches do not use.
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  SupervisorMachine(const SupervisorMachine&) = default;

  void resume_slice(const OpenSlice& open, Actions& out);
  void make_triggers(const Now& now, Actions& out);
  // The id of the next trigger without one; nullopt: the recording that is replayed has no further slice.
  [[nodiscard]] std::optional<SliceId> next_id() const;
  [[nodiscard]] TriggerOffer as_recorded(const TriggerOffer& offer) const;
  OfferResult admit(const TriggerOffer& offered, TimeNs now, Actions& out);
  [[nodiscard]] VetoReason veto(const TriggerOffer& trigger, TimeNs now, Actions& out);
  [[nodiscard]] bool has_room(SliceId slice, TimeNs now, Actions& out);
  void renew_destinations() {
    if (clock_.started()) groups_.first().placement.renew(ids_.next(), dcms_);
  }
  void assign_pending(TimeNs now, Actions& out);
  void assign_pending(DcmGroup& group, TimeNs now, Actions& out);
  [[nodiscard]] SliceEntry& waiting(SliceId slice);
  void assign(SliceEntry& entry, NodeIndex dcm, TimeNs now, Actions& out);

  void decide(NodeIndex dcm, const AttemptDecision& decision, TimeNs now, Actions& out);
  void decide_again(SliceEntry& entry, const AttemptDecision& decision, Actions& out);
  void fail(SliceEntry& entry, const AttemptDecision& decision, Actions& out);
  void forward(SliceEntry& entry, const AttemptDecision& decision, Actions& out);
  static void end_keeping(SliceEntry& entry, Actions& out);
  void note_assigned(SliceEntry& entry);
  void note_settled(const SliceEntry& entry, Outcome outcome);
  // True if the bytes reserved for forwards leave room for one slice more.
  [[nodiscard]] bool has_forward_room(std::size_t payload) const {
    return !groups_.split() || bytes_reserved() + payload <= settings_.payload_bytes_max;
  }
  // Trigger payloads, plus the reserve for forwarded data of the unsettled slices and one more.
  [[nodiscard]] std::size_t bytes_reserved() const {
    return (book_.live() + 1) * settings_.forward_bytes_max + book_.payload_bytes();
  }
  void confirm_accept(SliceEntry& entry, TimeNs now, Actions& out, NodeIndex silent = kNoNode);
  void settle(SliceEntry& entry, Outcome outcome, DiscardReason reason, Actions& out);
  void take_copy(SliceEntry& entry, NodeIndex writer, const CopyId& ack, Actions& out);

  // True if the DCM may get slices, credits permitting.
  [[nodiscard]] bool takes_slices(NodeIndex dcm) const {
    return parts_.takes_part(Role::dcm, dcm) && !reach_.is_cut_off(dcm);
  }
  void note_returned(NodeIndex dcm);
  void judge_reach(TimeNs now, Actions& out);
  void follow_verdict(NodeIndex dcm, TimeNs now, Actions& out);
  void leave_writers(NodeIndex dcm, TimeNs now, Actions& out);
  [[nodiscard]] NodeTable& writers() { return confirmations_.writers(); }
  [[nodiscard]] const NodeTable& writers() const { return confirmations_.writers(); }
  [[nodiscard]] bool is_live(NodeRef node) const;
  [[nodiscard]] bool in_progress() const { return clock_.started() && !drained(); }  // the run is in progress
  [[nodiscard]] bool throttled() const { return pressure_.stops(parts_, writers()) || is_group_full(); }
  [[nodiscard]] bool is_group_full() const { return groups_.split() && group_level() >= 1; }
  // Fill level of the fullest group that slices are forwarded to, 1: full.
  [[nodiscard]] double group_level() const;
  // Fill level of the fullest list of slices that wait for a DCM, if it is to hold up triggers.
  [[nodiscard]] double pending_level() const {
    return waits_for_room_ && !groups_.split() ? 0 : level_of_pending();
  }
  [[nodiscard]] double level_of_pending() const;
  void look_at_drains(TimeNs now, Actions& out);
  [[nodiscard]] bool may_have_copies(NodeIndex writer);
  [[nodiscard]] std::string_view broken_parts();

  void reopen(SliceEntry& entry, Blame blame, Actions& out);
  void expire(TimeNs now, Actions& out);
  void expire_leases(TimeNs now, Actions& out);
  void confirm_elsewhere(SliceEntry& entry, TimeNs now, Actions& out);
  void discard_rest(DiscardReason reason, Actions& out);
  void confirm_waiting(TimeNs now, Actions& out);

  SupervisorSettings settings_;
  std::shared_ptr<TriggerSource> source_;  // shared only with twins
  bool waits_for_room_;                    // as configured by the source
  SliceBook book_;
  DcmTable dcms_;
  DcmGroups groups_;
  NodeTable readouts_;
  Confirmations confirmations_;
  ReachBoard reach_;
  ReachNews reach_news_;
  BackPressure pressure_;
  PartTable parts_;
  RunClock clock_;
  BlameRule blame_;
  LeaseClock leases_;
  SupervisorLedger ledger_;
  FaultList faults_;
  std::vector<SliceId> scratch_;
  std::size_t resumed_with_ = 0;  // unsettled slices
  SliceIds ids_;
};

}  // namespace weir::assignment
