#pragma once

#include "journal.hpp"
#include "roster.hpp"
#include "run_course.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/throttle_times.hpp>
#include <weir/node/setup.hpp>
#include <weir/supervisor/node.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::supervisor {

// A run's journal over the run: what an earlier process left, the state when the journal is long or was lost,
// and what was found wrong on the way, which outlives the process with it.
class RunJournal {
 public:
  RunJournal(const node::Setup& setup, const Environment& environment, assignment::SupervisorMachine& machine,
             const Roster& roster, const assignment::ThrottleTimes& throttle_times);

  // What an earlier process of this run left. Throws std::runtime_error, a sentence, when it is another
  // run's, or has nodes that the farm file has not.
  [[nodiscard]] std::optional<JournalledRun> read() const;
  // The machine goes on from there.
  void resumed(const JournalledRun& run);

  // The single entries.
  [[nodiscard]] Journal& entries() { return journal_; }
  void note_fault(const std::string& fault);
  // Which process this member's is, or that it was told to end.
  void write_join(const Member& member) { journal_.write_join(member.role, member.index, joined(member)); }
  // What the machine has found wrong since: once a pass, before anybody is told of what it did.
  void note_machine_faults();
  // All of them in their order, an earlier process' before.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  // The farm's shape, where it has changed.
  void write_shape(TimeNs now_ns);
  // Where more livetime was lost; what has been lost within the last kLostTimesEvery may not be written yet.
  void write_lost_times(TimeNs now_ns);
  void write_state(const RunCourse& course, TimeNs now_ns);
  // Once a pass. True: it waited for room, and does no more: what no node was told is in the state that was
  // written, or the run ends.
  [[nodiscard]] bool keep(const RunCourse& course, TimeNs now_ns);
  [[nodiscard]] bool waits() const { return journal_.waits(); }

 private:
  [[nodiscard]] static Joined joined(const Member& member) {
    return {member.incarnation.value, member.first_slice, member.told_to_end, member.first_order};
  }

  static constexpr DurationNs kLostTimesEvery = 100 * kMillisecond;

  void require_nodes(const JournalledRun& run) const;
  [[nodiscard]] bool is_without() const { return journal_.lost() || journal_.waits(); }

  const node::Setup& setup_;
  const Environment& environment_;
  assignment::SupervisorMachine& machine_;
  const Roster& roster_;
  const assignment::ThrottleTimes& throttle_times_;
  Journal journal_;
  std::vector<std::string> faults_;
  std::size_t machine_faults_noted_ = 0;
  TimeNs retry_ns_ = 0;
  std::uint32_t shape_written_ = 0;
  DurationNs lost_written_ = 0;
  TimeNs lost_times_due_ns_ = 0;
};

}  // namespace weir::supervisor
