#pragma once

#include "journal.hpp"
#include "roster.hpp"
#include "run_alerts.hpp"
#include <weir/assignment/actions.hpp>
#include <weir/assignment/ledger.hpp>
#include <weir/burst/alert_book.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::supervisor {

struct BurstAlertSettings {
  std::size_t dcms;
  std::uint64_t buffer_bytes;  // of a DCM; 0: no burst saver
  std::uint64_t save_bytes_per_s;
  std::int64_t before_ms;  // window of an alert that gives none
  std::int64_t after_ms;
  DurationNs filter_alert_ns;  // trigger time between two alerts of filters
};

// The alerts of the run: their windows, the DCMs' reports about them, and the messages to every process.
// burst::AlertBook decides.
class BurstAlerts {
 public:
  // At the end of the run, without a saved slice, beyond the time that the largest one takes.
  static constexpr DurationNs kPatience = 30 * kSecond;

  // `journal` has each alert and account before any node hears of it.
  BurstAlerts(const BurstAlertSettings& settings, Roster& roster, Journal& journal);

  // Continues the alerts of an earlier process. Throws std::runtime_error if the farm has other DCMs.
  void resume(RunAlerts alerts, TimeNs now);
  // For the journal's state; null without a burst saver.
  [[nodiscard]] const RunAlerts* state() const { return run_ ? &*run_ : nullptr; }
  // Counts the slices that a pass announces and settles: those rows of `actions` that it has not seen yet. No
  // cost without a burst saver.
  void note(const assignment::Actions& actions);
  // The rows were carried out and cleared.
  void noted_all() { announced_noted_ = cleared_noted_ = 0; }
  // Sends the begins and ends of alerts that waited. Requires: the journal does not wait for room.
  void send();
  // An alert, sent by send(). It waits while nodes of a restarted supervisor's run are on their way
  // back. Zero for both: as configured.
  void ask(std::int64_t before_ms, std::int64_t after_ms, const std::string& reason,
           std::optional<UtcNs> now);
  // A DCM's account, or an alert of its filter; one of these per burst.filter_alert_s of trigger
  // time is taken.
  void told(const RosterMember& dcm, const v1::BurstAccount& account);
  // A new process of this DCM is there: the ring and the accounts of its earlier one are lost. It takes part
  // with dcm_joined().
  void dcm_replaced(NodeIndex dcm);
  // Sends it the alerts, and the ends that it may have missed.
  void dcm_joined(const RosterMember& dcm);
  // Repeats the ends of alerts, which this writer may have missed.
  void writer_joined(const RosterMember& writer) const;
  void dcm_left(const RosterMember& dcm, TimeNs now);

  // Ends saved alerts. Returns true if no slice is left to save, or saving was given up. `at_end`: all slices
  // are settled. `no_longer`: the end of the run waits no longer.
  bool look(UtcNs utc, TimeNs now, bool at_end, bool no_longer);
  // Ends all alerts that are still open: the slices that no DCM has accounted for are lost.
  void give_up(UtcNs utc, TimeNs now);

  void add_to(v1::Report& report) const;
  void add_to(v1::RunSummary& summary) const;
  // Returns the ledger's equations for the alerts' slices and their fates. `undisturbed`: no process was
  // lost, and no slice was rebuilt or stored again; otherwise two DCMs may have the same slice, and the
  // equations are bounds. `reopened`: failed attempts followed by another.
  [[nodiscard]] std::vector<assignment::Equation> equations(bool undisturbed, std::uint64_t reopened) const;
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  void ask_for_filter(const RosterMember& dcm, const v1::BurstAccount& wish);
  // Opens the alert, or counts it as refused. `by`: its origin, for the log and the account.
  void open(UtcNs from, UtcNs until, const std::string& by, std::optional<UtcNs> filter_from = {});
  void refuse(std::string_view why, const std::string& by);
  [[nodiscard]] static v1::Control message_of(const burst::AlertAccount& account);
  void end_alerts(UtcNs utc, TimeNs now, bool at_end, bool no_longer);
  [[nodiscard]] SliceSum saved() const;
  [[nodiscard]] DurationNs patience() const;
  // Returns the accounts of all alerts. The closed files in the writers' reports also count slices that a
  // DCM saved after its last account, before it died.
  [[nodiscard]] std::vector<burst::AlertAccount> accounts() const;
  // Names the writers without a final report: their files may have slices that no account counts as saved.
  // Empty: all have reported.
  [[nodiscard]] std::string unheard_writers() const;

  BurstAlertSettings settings_;
  Roster& roster_;
  Journal& journal_;
  std::optional<RunAlerts> run_;        // nothing without a burst saver
  std::vector<std::uint32_t> to_send_;  // alerts that have begun or ended
  std::size_t announced_noted_ = 0;     // rows of the actions that wait
  std::size_t cleared_noted_ = 0;
  std::uint64_t refused_written_ = 0;
  TimeNs next_look_ns_ = 0;
  std::uint64_t saved_ = 0;  // at the last call of look()
  TimeNs progress_ns_ = 0;   // when that grew
};

}  // namespace weir::supervisor
