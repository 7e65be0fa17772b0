#pragma once

#include "burst_alerts.hpp"
#include "roster.hpp"
#include "run_stages.hpp"
#include "text_responder.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/throttle_times.hpp>
#include <weir/config/injected_faults.hpp>
#include <weir/node/report.hpp>
#include <weir/numbering/number_order.hpp>
#include <weir/reports/loss_watch.hpp>
#include <weir/supervisor/node.hpp>

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::supervisor {

struct AccountSettings {
  sessions::PeerInfo identity;
  v1::RunIdentity ran;            // the parts that the supervisor runs
  std::size_t id_intervals_max;   // of given ids
  double loss_share_max;          // of a source's fragments
  double error_share_max;         // of a filter's slices
  config::InjectedSources lossy;  // by injected faults
  config::InjectedSources damaged;
  std::unordered_map<std::uint32_t, std::string> readout_of;  // by source, without masked ones
};

// The numbers of a run, during it and at its end: status, the supervisor's own report, the summary with the
// ledger.
class RunAccount {
 public:
  RunAccount(AccountSettings settings, const SupervisorEnvironment& environment,
             const sessions::PeerCounters& counters, assignment::SupervisorMachine& machine,
             const Roster& roster, assignment::ThrottleTimes& throttle_times, const BurstAlerts& bursts,
             const TextCounters* text, const numbering::OrderCounts* numbers);

  // Once a pass while slices are on their way: notes which node holds triggers up, and logs the first id that
  // the memory of ids has no room for.
  void look(bool triggering, TimeNs now_ns);
  // `journal_waits`: triggers wait for room for it.
  [[nodiscard]] v1::FarmStatus status(const RunStages& course, bool journal_waits, TimeNs now_ns);
  // `faults`: all that happened to nodes, and to the run.
  [[nodiscard]] v1::RunSummary summary(const RunStages& course, std::span<const std::string> faults,
                                       bool journal_waits, TimeNs now_ns);

 private:
  [[nodiscard]] v1::Report own_report(bool final, bool journal_waits, TimeNs now_ns);
  [[nodiscard]] std::string state_of(const RosterMember& member) const;
  [[nodiscard]] std::string absences_text() const;
  [[nodiscard]] std::string throttle_state(bool journal_waits) const;
  [[nodiscard]] std::vector<std::string> filter_faults() const;
  [[nodiscard]] std::vector<std::string> disturbances() const;
  void look_at_id_memory();
  void add_sources(v1::SourceCounts& out);
  void judge(const v1::SourceCounts& sources);

  AccountSettings settings_;
  const SupervisorEnvironment& environment_;
  const sessions::PeerCounters& counters_;
  assignment::SupervisorMachine& machine_;
  const Roster& roster_;
  assignment::ThrottleTimes& throttle_times_;
  const BurstAlerts& bursts_;
  const TextCounters* text_;
  const numbering::OrderCounts*
      numbers_;                  // null: slices are triggered     // null without trigger.listen_text
  reports::LossWatch losses_;    // of all DCMs
  bool id_memory_full_ = false;  // logged
  node::LoopTime loop_time_;
};

}  // namespace weir::supervisor
