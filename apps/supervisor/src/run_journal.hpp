#pragma once

#include "burst_alerts.hpp"
#include "histogram_board.hpp"
#include "journal.hpp"
#include "roster.hpp"
#include "run_stages.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/throttle_times.hpp>
#include <weir/supervisor/node.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::supervisor {

struct JournalSettings {
  RunNumber run;
  std::string farm;  // its name
};

// The journal of a run: an earlier process's state, new states if the journal is long or was lost, and faults
// found meanwhile, which the journal preserves.
class RunJournal {
 public:
  RunJournal(JournalSettings settings, const SupervisorEnvironment& environment,
             assignment::SupervisorMachine& machine, const Roster& roster, const HistogramBoard& histograms,
             const BurstAlerts& bursts, const assignment::ThrottleTimes& throttle_times,
             const assignment::AnsweredTriggers& answered,
             const std::optional<numbering::NumberOrder>* numbers = nullptr);

  // Returns the state left by an earlier process of this run. Errors: std::runtime_error with a message if it
  // belongs to another run, or has nodes that the farm file does not have.
  [[nodiscard]] std::optional<JournalledRun> read() const;
  // The machine has resumed from this state.
  void resumed(const JournalledRun& run);

  // The single entries.
  [[nodiscard]] Journal& entries() { return journal_; }
  void note_fault(const std::string& fault);
  // Records a member's process, or that it was ordered to end.
  void write_join(const RosterMember& member) {
    journal_.write_join(member.role, member.index, joined(member));
  }
  // Records a pass, before its messages leave.
  void write_pass(const assignment::Actions& actions) {
    journal_.write_pass(actions, machine_.ledger(), numbers());
  }
  // Records the machine's new faults. Call once per pass, before its messages leave.
  void note_machine_faults(TimeNs now_ns);
  // All of them in their order, an earlier process' before.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_.all(); }
  // The farm's shape, where it has changed.
  void write_shape(TimeNs now_ns);
  // Records lost livetime if it has grown; the last kLostTimesEvery may be unwritten.
  void write_lost_times(TimeNs now_ns);
  void write_state(const RunStages& course, TimeNs now_ns);
  // For tests, after a pass: journal_lacks(). Empty while the journal is lost or waits for room.
  [[nodiscard]] std::string lacks(const RunStages& course, TimeNs now_ns) const;
  // Call once per pass. Returns true if a wait for room has ended: the messages held back are in the written
  // state, or the run ends.
  [[nodiscard]] bool keep(const RunStages& course, TimeNs now_ns);
  [[nodiscard]] bool waits() const { return journal_.waits(); }

 private:
  [[nodiscard]] static Joined joined(const RosterMember& member) {
    return {member.incarnation.value, member.first_slice, member.told_to_end, member.first_order};
  }

  static constexpr DurationNs kLostTimesEvery = 100 * kMillisecond;

  [[nodiscard]] UtcNs utc_of(const assignment::Fault& fault, TimeNs now_ns);
  [[nodiscard]] JournalledRun state(const RunStages& course, TimeNs now_ns) const;
  void require_nodes(const JournalledRun& run) const;
  [[nodiscard]] std::optional<numbering::OrderState> numbers() const {
    return numbers_ != nullptr && *numbers_ ? std::optional((*numbers_)->state()) : std::nullopt;
  }
  [[nodiscard]] bool is_without() const { return journal_.lost() || journal_.waits(); }

  JournalSettings settings_;
  const SupervisorEnvironment& environment_;
  assignment::SupervisorMachine& machine_;
  const Roster& roster_;
  const HistogramBoard& histograms_;
  const BurstAlerts& bursts_;
  const assignment::ThrottleTimes& throttle_times_;
  const assignment::AnsweredTriggers& answered_;
  const std::optional<numbering::NumberOrder>* numbers_;  // null or none: front-ends do not number slices
  Journal journal_;
  FaultTexts faults_;
  std::map<NodeIndex, UtcNs> outages_utc_;  // start of each readout's outage that lasts
  std::size_t machine_faults_noted_ = 0;
  TimeNs retry_ns_ = 0;
  std::uint32_t shape_written_ = 0;
  DurationNs lost_written_ = 0;
  TimeNs lost_times_due_ns_ = 0;
};

}  // namespace weir::supervisor
