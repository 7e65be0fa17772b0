#pragma once

#include "journal.hpp"
#include "roster.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/throttle_times.hpp>
#include <weir/messages/peer.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/supervisor/node.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::supervisor {

constexpr DurationNs kReportPatience = 30 * kSecond;   // for the final reports
constexpr DurationNs kAbsentPatience = kSecond;        // for nodes that are between two connections then
constexpr DurationNs kWatcherPatience = 10 * kSecond;  // for who watched and cannot connect, with the account

class SupervisorNode final : public node::Node, private messages::PeerHandler {
 public:
  SupervisorNode(const node::Setup& setup, Environment environment);

  void pass(TimeNs now_ns) override;
  [[nodiscard]] TimeNs wake_at_ns() const override;
  [[nodiscard]] bool finished() const override { return state_ == State::done; }
  void on_signal(std::string_view signal_name) override;
  void on_command(const v1::Command& command) override;
  [[nodiscard]] bool begun() const override { return state_ != State::gathering; }
  [[nodiscard]] bool paused() const override { return machine_.paused(); }
  [[nodiscard]] std::string failure() const override { return failure_; }
  [[nodiscard]] std::string broken_invariant() override { return std::string(machine_.broken_invariant()); }

 private:
  enum class State : std::uint8_t { gathering, running, draining, reporting, done };

  std::string check_hello(const messages::PeerInfo& info) override;
  void on_ready(messages::Peer& peer) override;
  void on_gone(messages::Peer& peer, std::string_view why) override;
  wire::Placement on_header(messages::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(messages::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(messages::Peer& peer, const v1::Control& message) override;
  Expected<void, wire::WireError> take_decisions(Member& member, const v1::Decide& decide);
  Expected<void, wire::WireError> take_filtering(Member& member, const v1::Filtering& filtering);
  Expected<void, wire::WireError> take_reach(Member& member, const v1::Reach& reach);
  void send_verdicts();
  void log_new_faults();
  void take_triggers(messages::Peer& peer, const v1::TriggerOffer& offer);

  void join(Member& member);
  void leave(Member& member);
  void begin_run();
  void resume_run();
  void restore(const JournalledRun& run);
  void write_state();
  void write_shape();
  void keep_journal();
  void note_fault(const std::string& fault);
  void send_open_slices(const Member& member);
  void send_begin(const Member& member);
  void stop(const std::string& reason);
  void end_run();
  [[nodiscard]] bool may_leave_orphans(const Member& member) const;
  void finish();
  void send_directory();
  void share_ports();
  void send_status();
  void send_end(messages::Peer& peer);
  void hold_back_slow_clients();
  void carry_out();
  void send_actions();
  void send_announcements();
  template <class Send>
  void each_announcement(std::span<const assignment::Announcement> announcements, bool again, Send send);
  void send_assignments(Member& member, assignment::DcmActions& actions);
  void send_confirmations(Member& member, assignment::DcmActions& actions);
  void send_clear();
  void send_cleared();
  void expect_absent();
  void change_farm(const v1::Command& command);
  void let_go(assignment::NodeRef node);
  [[nodiscard]] assignment::NodeRef ref(const Member& member) const;
  // The rows that are about slices which this readout has a part in.
  template <class Row>
  [[nodiscard]] std::vector<Row> own_part(const Member& readout, std::span<const Row> rows) const;
  void tell_absences();
  void send_absences(messages::Peer& peer);
  [[nodiscard]] std::string state_of(const Member& member) const;
  [[nodiscard]] std::string absences_text() const;
  [[nodiscard]] std::string throttle_state() const;
  [[nodiscard]] const Member* member_of(assignment::NodeRef node) const;
  void tell_destinations();
  void send_destinations(messages::Peer& peer);
  void send_to(Role role, const v1::Control& message);
  static void send_to(Member& member, const v1::Control& message);
  [[nodiscard]] v1::Report make_report(bool final);
  [[nodiscard]] v1::RunSummary make_summary();
  [[nodiscard]] std::vector<std::string> disturbances() const;
  [[nodiscard]] assignment::Now now() const;

  const node::Setup& setup_;
  Environment environment_;
  TimeNs now_ns_ = 0;
  messages::PeerCounters peer_counters_;
  node::RefusalLog refusals_;
  Roster roster_;
  assignment::SupervisorMachine machine_;
  assignment::ThrottleTimes throttle_times_;
  assignment::Actions actions_;
  Journal journal_;
  TimeNs journal_retry_ns_ = 0;
  messages::Door door_;
  messages::Door trigger_door_;
  std::vector<messages::Peer*> watchers_;  // control
  bool watched_ = false;                   // there was one
  std::optional<v1::Control> account_;     // of the run, once it is over
  bool account_awaited_ = false;           // by who watches; nobody has said that it is there
  TimeNs account_until_ns_ = 0;            // for who watches to take it
  std::vector<assignment::Decision> decisions_;
  std::vector<assignment::StoredAck> acknowledged_;
  State state_ = State::gathering;
  std::string reason_;  // why the run ends
  std::string failure_;
  std::vector<std::string> faults_text_;  // besides the machine's
  std::uint64_t next_slice_ = 0;          // above all that were announced
  bool directory_changed_ = false;
  bool ports_changed_ = false;           // who is there, or what is known of a port
  std::uint32_t destinations_told_ = 0;  // number of their epoch
  std::uint32_t absences_told_ = 0;      // number of the table
  std::uint32_t shape_written_ = 0;
  std::size_t faults_logged_ = 0;  // of the machine's
  TimeNs begun_ns_ = 0;
  UtcNs begun_utc_ = 0;
  TimeNs gather_until_ns_ = 0;
  TimeNs reporting_until_ns_ = 0;
  TimeNs absent_until_ns_ = 0;
  TimeNs next_status_ns_ = 0;
  State told_state_ = State::gathering;
  TimeNs first_trigger_ns_ = 0;
  TimeNs last_settled_ns_ = 0;
};

}  // namespace weir::supervisor
