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
  std::size_t writers = 0;             // 0: the farm stores nothing
  std::uint32_t in_flight_max = 4096;  // unsettled slices
  std::uint32_t pending_max = 256;     // slices that wait for a first DCM, beyond this triggers are vetoed
  std::uint32_t remembered_slices = 65536;  // settled ones that are recognised when something comes late
  std::uint32_t credits_max = 65536;        // of one DCM; it may declare more, and gets this
  // A DCM that decides on nothing for lease_ns + data_ns loses its slices, and one that has been in the
  // filter for lease_ns is lost to it whatever else it decides.
  DurationNs lease_ns = 30 * kSecond;
  DurationNs data_ns = 0;  // that a slice may wait for its data
  // From confirmation to acknowledgement, then another writer; 0: no limit. Twice as long for each further
  // confirmation of a slice: where every writer is slower than this, one of them is waited for in the end.
  DurationNs writer_ack_ns = 0;
  DurationNs drain_ns = 30 * kSecond;                  // without a slice settled, after request_stop()
  DurationNs drain_look_ns = 50 * kMillisecond;        // between looks at what nodes that drain still have
  std::uint8_t filtered_attempts_max = 2;              // that killed or stalled their filter; then unfiltered
  std::uint8_t attempts_max = 16;                      // whose DCM died or stalled; then discarded
  std::uint64_t slices_max = 0;                        // triggered; 0: no limit
  DurationNs duration_ns = 0;                          // of triggering; 0: no limit
  std::uint32_t payload_max = 64 * 1024;               // bytes of one trigger's payload
  std::size_t payload_bytes_max = 64UL * 1024 * 1024;  // of all unsettled slices' payloads
  SliceId first_slice;                                 // for triggers without an id
  std::size_t id_intervals_max = 1'000'000;            // of ids given; one that needs another is vetoed
  GateMarks gate;                                      // off
  // Push running: a slice's first attempt goes to its destination, and a slice whose destination has no
  // credit free is vetoed, for its data would come all the same.
  bool push = false;
  bool ids_ascend = false;  // an id below one that was given is vetoed (`not_ascending`), as with `push`
  ReachSettings reach;
  // Groups of DCMs, in the order of their DCMs' indexes; empty: one of all. Not with push.
  std::vector<GroupSettings> groups;
  // Bytes that one slice may be forwarded with. In a farm with groups each slice in flight reserves as many
  // of payload_bytes_max.
  std::uint32_t forward_bytes_max = 4096;
};

struct OfferResult {
  bool taken = false;
  SliceId slice;                         // when taken
  VetoReason reason = VetoReason::none;  // when not
};

// The supervisor's decisions: triggers, leases, confirmations, clears, and its side of the ledger. Pure: time
// comes in, actions go out, one thread. Node indexes come from the farm file and are below the settings'
// places (an assert); all else may be anything that a peer sends, and is answered or counted, never trusted.
//
// It is a facade: what it knows is in its parts, each of which keeps its own rules and is tested by itself.
// The machine says what an input means for which of them, and in which order.
//
// A pass of the node: every input that arrived, then tick(), then the actions. Only tick() makes triggers and
// assigns; the other inputs settle, answer and reopen.
class SupervisorMachine {
 public:
  SupervisorMachine(const SupervisorSettings& settings, std::unique_ptr<TriggerSource> source,
                    std::unique_ptr<AssignmentPolicy> policy);
  // With a policy for each of the settings' groups.
  SupervisorMachine(const SupervisorSettings& settings, std::unique_ptr<TriggerSource> source,
                    DcmGroups::Policies policies);
  SupervisorMachine(SupervisorMachine&&) = default;

  // The run begins. Nodes may join before and after.
  void start(const Now& now);
  // Instead of start(): the run goes on that another process began `already` ago, and left in this state.
  // What was unsettled waits for its next attempt, and is announced again, also where that is more than
  // settings.in_flight_max: no slice is triggered until there is room.
  void resume(const RunState& state, DurationNs already, const Now& now, Actions& out);
  // After resume(): the state was not the last one, and what became of the unsettled slices is not known.
  // Stops the run and discards them, supervisor_restart. The actions are not to be carried out: a slice that
  // is open in the state may be on a disk.
  void abandon(TimeNs now, Actions& out);
  // These two cost a pass over the book.
  [[nodiscard]] RunState state(TimeNs now);
  [[nodiscard]] std::vector<Announcement> open_slices();  // unsettled, in the order of announcement
  // Settled slices that a DCM may still build, because another copy was stored first.
  [[nodiscard]] std::vector<SliceId> settled_and_built();
  // Ends triggers. Slices in flight go on while one of them is settled every settings.drain_ns, and until
  // `limit` is over at the latest; then the rest is discarded. A second call can only bring the limit
  // forward. Requires: start() before.
  void request_stop(TimeNs now, DurationNs limit = RunClock::kNoLimit) { clock_.stop(now, limit); }
  // Expires leases, makes triggers that are due, assigns.
  void tick(const Now& now, Actions& out);
  // When tick() has something to do, if nothing comes in before; none: never.
  [[nodiscard]] std::optional<TimeNs> next_wakeup(const Now& now) const;

  // A node that is there already and joins again has left before. When a DCM leaves, what it did not decide,
  // and what it accepted and no writer has on disk, is reopened as the next attempt. If it had said what was
  // alone in its filter, that is to blame, and nothing else; if not, each slice that it had not decided is a
  // suspect, without a count: it goes through its filter alone (Assignment::suspect). When a writer leaves,
  // what it did not acknowledge is confirmed again under a higher epoch.
  void dcm_joined(NodeIndex dcm, Incarnation incarnation, std::uint32_t credits, TimeNs now, Actions& out);
  // `reported`: with its final report. One that was let go and has not given it is a loss like any other:
  // what it was told last, by writers too, may be lost with its connection, and the DCMs' counts are lower
  // bounds.
  void dcm_left(NodeIndex dcm, TimeNs now, Actions& out, bool reported = false);
  void readout_joined(NodeIndex readout, Incarnation incarnation, TimeNs now);
  void readout_left(NodeIndex readout, TimeNs now);
  void writer_joined(NodeIndex writer, Incarnation incarnation, TimeNs now, Actions& out);
  void writer_left(NodeIndex writer, TimeNs now, Actions& out);
  // Triggers are held up while any node asks for it that takes part (`on`), and lowered in rate by how full
  // the fullest is (settings.gate): of readouts and DCMs the fullest, of writers the emptiest, and the slices
  // that wait for a DCM, but for a source that waits for room. A writer that asks for it is given nothing
  // while another has room, and holds no triggers up. `level`: 0 to 1.
  void throttle(Role role, NodeIndex node, bool on, std::string_view reason, double level = 0);

  // What a DCM does not reach, all of it, as it says (ReachBoard). One that is cut off is given no slices,
  // and has no part in push running; what it cannot build it gives back (`unreachable`), which is no
  // kill. Accepts of one that does not reach their writer are confirmed to another, where there is one.
  void reach(NodeIndex dcm, std::span<const NodeIndex> readouts, std::span<const NodeIndex> writers,
             TimeNs now);
  // What the DCMs in Actions::judged are to be told.
  [[nodiscard]] const ReachBoard& reach() const { return reach_; }

  // Run control. While the run is paused no slice is triggered, and what is in flight goes on. A trigger that
  // falls due (rate, poisson, clock, a paced file) or comes from outside is offered all the same, and vetoed:
  // `paused`. A source that waits for room (max, an unpaced file) is not asked. So offered = triggered +
  // vetoed stays true, and a paused run of the first kind shows what it missed. A pause does not count for
  // settings.duration_ns. A stop ends it.
  void pause(TimeNs now) { clock_.pause(now); }
  void proceed(TimeNs now) { clock_.proceed(now); }
  [[nodiscard]] bool paused() const { return clock_.paused(); }
  [[nodiscard]] DurationNs paused_ns(TimeNs now) const { return clock_.paused_ns(now); }

  // Before start(): this node need not be there when the run begins. Slices are without it until it joins.
  void expect_later(NodeRef node);
  // The node drains: nothing new from here on, and when it has nothing left it is in Actions::leaving, once.
  // A DCM gets no slices; a writer no confirmations; a readout has no part in the slices that are triggered
  // from now on (absences()). That it leaves then is no fault, of a DCM: with its final report. A node that
  // is not there is out at once; so is one that dies while it drains.
  void remove(NodeRef node, TimeNs now);
  // It takes part again: at once when it still drains or idles; else its next process does, from when it
  // joins.
  void add(NodeRef node, TimeNs now, Actions& out);
  // The process that is about to join was told to end before, by this process of the supervisor or an earlier
  // one: it is in Actions::leaving again. If the node was added meanwhile, its next process takes part.
  void was_told_to_end(NodeRef node, Actions& out);
  [[nodiscard]] Part part(NodeRef node) const { return parts_.of(node); }
  // A DCM that is assigned a slice has to know the table as it is then.
  [[nodiscard]] const AbsenceTable& absences() const { return parts_.absences(); }
  [[nodiscard]] FarmShape shape(TimeNs now) const;
  // The place of the next slice: the number of slices announced so far.
  [[nodiscard]] SliceOrder next_order() const { return SliceOrder(ledger_.triggered.count); }
  // Changes with all that shape() tells, but for the time.
  [[nodiscard]] std::uint32_t shape_number() const { return clock_.number() + parts_.number(); }

  // A trigger from outside; info.time 0 stands for now.
  OfferResult offer(const TriggerOffer& trigger, const Now& now, Actions& out);
  void decisions(NodeIndex dcm, std::span<const Decision> batch, TimeNs now, Actions& out);
  void stored(NodeIndex writer, std::span<const StoredAck> batch, Actions& out);
  void filtering(NodeIndex dcm, const FilterNote& note, TimeNs now);
  // Adds to the slices' kills. The DCM goes on with them; later attempts know the count. Kills of attempts
  // that are not this DCM's are ignored.
  void filter_killed(NodeIndex dcm, std::span<const FilterKill> kills, Actions& out);

  // No trigger will come any more: number of slices or duration reached, file at its end, or stopped.
  [[nodiscard]] bool triggers_done() const { return clock_.triggers_done(); }
  // A trigger without an id is given this one, above all that were given.
  [[nodiscard]] SliceId next_slice() const { return ids_.next(); }
  // No slice can follow: triggers are done with that.
  [[nodiscard]] bool ids_used_up() const { return ids_.used_up(); }
  // Stopped, and every slice is settled.
  [[nodiscard]] bool drained() const { return clock_.stopping() && book_.live() == 0; }
  [[nodiscard]] std::size_t in_flight() const { return book_.live(); }
  [[nodiscard]] std::size_t pending() const { return groups_.pending(); }  // in all groups
  [[nodiscard]] std::size_t pending(GroupIndex group) const { return groups_[group].waiting.pending(); }
  [[nodiscard]] GroupIndex group_of(NodeIndex dcm) const { return groups_.of(dcm); }
  [[nodiscard]] std::span<const DcmView> dcms() const { return dcms_.views(); }
  // Empty unless settings.push. A node that is told of a slice has to know the table as it is then.
  [[nodiscard]] const DestinationTable& destinations() const {
    return groups_.first().placement.destinations();
  }
  // What holds triggers up now: a pause, nodes that ask for it, or else the fullest buffer.
  [[nodiscard]] std::vector<HoldUp> throttled_by() const;
  // `open` is brought up to date by the call.
  [[nodiscard]] const SupervisorLedger& ledger();
  [[nodiscard]] std::span<const Fault> faults() const { return faults_.all(); }
  // Copies that this writer may have and that do not count: their confirmation was taken back.
  [[nodiscard]] const GivenUpCopies::Count& copies_given_up(NodeIndex writer) const {
    return confirmations_.given_up().of(writer);
  }

  // Recounts everything from the slices; the name of the first invariant that does not hold, empty when all
  // do. For tests: costs a pass over the book.
  [[nodiscard]] std::string_view broken_invariant();

  // For searches through all that can happen (tests/protocol). A machine in the same state; both ask the same
  // source and policy, which therefore keep no state of their own.
  [[nodiscard]] SupervisorMachine twin() const { return *this; }
  // Appends what decides what the machine does from now on, until request_stop(): equal rows, equal futures.
  // Moments are told as how long ago they were. What it only counts is left out, and so is what DCMs said of
  // the nodes that they reach: no search has such a report.
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  SupervisorMachine(const SupervisorMachine&) = default;

  void resume_slice(const OpenSlice& open, Actions& out);
  void make_triggers(const Now& now, Actions& out);
  OfferResult admit(const TriggerOffer& trigger, TimeNs now, Actions& out);
  [[nodiscard]] VetoReason veto(const TriggerOffer& trigger, TimeNs now, Actions& out);
  [[nodiscard]] bool has_room(SliceId slice, TimeNs now, Actions& out);
  void renew_destinations() {
    if (clock_.started()) groups_.first().placement.renew(ids_.next(), dcms_);
  }
  void assign_pending(TimeNs now, Actions& out);
  void assign_pending(DcmGroup& group, TimeNs now, Actions& out);
  [[nodiscard]] SliceEntry& waiting(SliceId slice);
  void assign(SliceEntry& entry, NodeIndex dcm, TimeNs now, Actions& out);

  void decide(NodeIndex dcm, const Decision& decision, TimeNs now, Actions& out);
  void decide_again(SliceEntry& entry, const Decision& decision, Actions& out);
  void fail(SliceEntry& entry, const Decision& decision, Actions& out);
  void forward(SliceEntry& entry, const Decision& decision, Actions& out);
  void note_assigned(SliceEntry& entry);
  void note_settled(const SliceEntry& entry, Outcome outcome);
  // True if the bytes reserved for forwards leave room for one slice more.
  [[nodiscard]] bool has_forward_room(std::size_t payload) const {
    return !groups_.split() || bytes_reserved() + payload <= settings_.payload_bytes_max;
  }
  // Of trigger payloads, with those that the unsettled slices and one more may be forwarded with.
  [[nodiscard]] std::size_t bytes_reserved() const {
    return (book_.live() + 1) * settings_.forward_bytes_max + book_.payload_bytes();
  }
  void confirm_accept(SliceEntry& entry, TimeNs now, Actions& out, NodeIndex silent = kNoNode);
  void settle(SliceEntry& entry, Outcome outcome, DiscardReason reason, Actions& out);
  void take_copy(SliceEntry& entry, NodeIndex writer, const StoredAck& ack, Actions& out);

  // Is given slices, as far as it has credits.
  [[nodiscard]] bool takes_slices(NodeIndex dcm) const {
    return parts_.takes_part(Role::dcm, dcm) && !reach_.is_cut_off(dcm);
  }
  void judge_reach(TimeNs now, Actions& out);
  void follow_verdict(NodeIndex dcm, TimeNs now, Actions& out);
  void leave_writers(NodeIndex dcm, TimeNs now, Actions& out);
  [[nodiscard]] NodeTable& writers() { return confirmations_.writers(); }
  [[nodiscard]] const NodeTable& writers() const { return confirmations_.writers(); }
  [[nodiscard]] bool is_live(NodeRef node) const;
  [[nodiscard]] bool goes_on() const { return clock_.started() && !drained(); }  // the run
  [[nodiscard]] bool throttled() const { return pressure_.stops(parts_, writers()) || is_group_full(); }
  [[nodiscard]] bool is_group_full() const { return groups_.split() && group_level() >= 1; }
  // How full the list of the fullest group is that slices are forwarded to, 1: full.
  [[nodiscard]] double group_level() const;
  // How full the fullest list of slices is that wait for a DCM, as far as that is to hold up triggers.
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
  std::shared_ptr<TriggerSource> source_;  // shared with twins alone
  bool waits_for_room_;                    // as the source does
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
