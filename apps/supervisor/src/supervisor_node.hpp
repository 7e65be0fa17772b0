#pragma once

#include "burst_alerts.hpp"
#include "dispatch.hpp"
#include "histogram_board.hpp"
#include "roster.hpp"
#include "run_account.hpp"
#include "run_journal.hpp"
#include "run_stages.hpp"
#include "settings.hpp"
#include "slip_board.hpp"
#include "text_responder.hpp"
#include "text_triggers.hpp"
#include "trigger_answers.hpp"
#include "watchers.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/throttle_times.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/numbering/number_order.hpp>
#include <weir/ports/utc_at.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/supervisor/node.hpp>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::supervisor {

// The supervisor's node: passes messages to the machine, has its actions recorded and carried out, and leads
// the run through its stages.
class SupervisorNode final : public node::Node, private sessions::PeerHandler {
 public:
  SupervisorNode(const node::Setup& setup, SupervisorEnvironment environment);

  void pass(TimeNs now_ns) override;
  [[nodiscard]] TimeNs wake_at_ns() const override;
  [[nodiscard]] bool finished() const override { return course_.is(RunStage::done); }
  void on_signal(std::string_view signal_name) override;
  void on_command(const v1::Command& command) override;
  [[nodiscard]] bool begun() const override { return course_.has_begun(); }
  [[nodiscard]] bool draining() const override {
    return course_.is(RunStage::draining) || course_.is_ending();
  }
  [[nodiscard]] bool paused() const override { return machine_.paused(); }
  [[nodiscard]] std::string failure() const override { return course_.failure(); }
  [[nodiscard]] std::string journal_lacks() const;
  [[nodiscard]] std::string broken_invariant() override { return std::string(machine_.broken_invariant()); }

 private:
  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;
  Expected<void, wire::WireError> take(RosterMember& member, const v1::Control& message);
  Expected<void, wire::WireError> take_of_dcm(RosterMember& dcm, const v1::Control& message);
  Expected<void, wire::WireError> take_filtering(RosterMember& dcm, const v1::Filtering& filtering);
  Expected<void, wire::WireError> take_reach(RosterMember& dcm, const v1::Reach& reach);
  [[nodiscard]] Expected<void, wire::WireError> take_report(RosterMember& member, const v1::Report& report);
  void take_histograms(RosterMember& dcm);
  Expected<void, wire::WireError> take_steps(const RosterMember& readout, const v1::OutOfStep& message);
  void write_report(const RosterMember& member);
  void recall(const v1::Report& report);
  void take_triggers(sessions::Peer& peer, const v1::TriggerOffer& offers);
  [[nodiscard]] slice_rows::OfferResult offer(const assignment::TriggerOffer& trigger);
  void note_answer(const assignment::NumberedAnswer& answer);
  [[nodiscard]] Expected<void, wire::WireError> take_seen(const RosterMember& readout, const v1::Seen& seen);
  // Offers the numbers of front-ends that are due.
  void offer_numbers();
  // Lets readouts drop the fragments of numbers that were vetoed while no slice was announced.
  void clear_vetoed_numbers();
  // Returns the addresses for the log.
  [[nodiscard]] std::string listen_for_triggers();

  void join(RosterMember& member);
  void look_whether_it_stands();
  void admit_dcm(const RosterMember& dcm);
  void take_begun(RosterMember& member, const v1::Begun& begun);
  void leave(RosterMember& member);
  // Marks the histograms as incomplete: this process, if a DCM, ended without a final report.
  void lose_entries(const RosterMember& member);
  void expect_absent();
  void expect_later(RosterMember& member);
  void change_farm(const v1::Command& command);

  void resume_run();
  void gather();
  void ask_to_begin();
  void begin_run();
  void advance_run();
  // `limit_ns`: longest time until the account; 0: unlimited while slices are settled.
  void stop(const std::string& reason, DurationNs limit_ns = 0);
  void limit_stop(DurationNs limit_ns);
  void end_run();
  [[nodiscard]] std::string why_triggers_ended();
  void wait_for_reports();
  void finish();
  [[nodiscard]] bool may_leave_orphans(const RosterMember& member) const;

  void take_last_pass(const RosterMember& member, std::uint64_t last_pass);
  void end_stale_run(const std::string& why);
  [[nodiscard]] bool waits_for_nodes();
  void carry_out();
  void note_leaving();
  void tell_nodes();
  void send_status();
  void hold_back_slow_clients();
  [[nodiscard]] assignment::Now now() const { return {now_ns_, ports::utc_at(environment_.clock, now_ns_)}; }

  const SupervisorNodeSettings settings_;
  SupervisorEnvironment environment_;
  TimeNs look_for_unread_ns_ = 0;
  TimeNs now_ns_;
  sessions::PeerCounters peer_counters_;
  node::RefusalLog refusals_;
  Roster roster_;
  assignment::SupervisorMachine machine_;
  assignment::Actions actions_;
  RunStages course_;
  assignment::ThrottleTimes throttle_times_;
  assignment::AnsweredTriggers answered_;
  RunJournal journal_;
  Dispatch dispatch_;
  BurstAlerts bursts_;
  HistogramBoard histograms_;
  std::string histogram_fault_;  // the last one; empty: none
  SlipBoard steps_;
  TextResponder text_responder_;
  std::optional<numbering::NumberOrder> numbers_;  // where front-ends number the slices
  std::deque<SliceId> vetoed_numbers_;             // readouts have not been told
  RunAccount account_;
  RunWatchers watchers_;
  TriggerAnswers answers_;
  sessions::SessionListener listener_;
  sessions::SessionListener trigger_listener_;
  TextTriggers text_triggers_;
  ports::Endpoint triggers_at_;       // port 0: none
  ports::Endpoint text_triggers_at_;  // likewise
  std::vector<assignment::AttemptDecision> decisions_;
  TimeNs next_status_ns_ = 0;
  std::uint64_t resumed_pass_ = 0;      // the last pass found in the journal; 0: none
  TimeNs wait_for_nodes_until_ns_ = 0;  // after a restart; 0: no wait
  bool stale_ = false;                  // nodes have received later passes than the journal has
  std::string_view told_stage_;         // sent with the last status
};

}  // namespace weir::supervisor
