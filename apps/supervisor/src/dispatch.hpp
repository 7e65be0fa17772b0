#pragma once

#include "roster.hpp"
#include "run_stages.hpp"
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/ports/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::supervisor {

struct DispatchSettings {
  RunNumber run;
  bool ids_ascend;         // in announcements
  bool true_tracks;        // a readout compares them with stored slices
  DurationNs silence_max;  // longer than a lease without progress, and than ten report intervals
};

// Sends the machine's actions to the nodes, and the changes of the farm that they need. Remembers which of
// them each node has received.
class Dispatch {
 public:
  static constexpr std::size_t kUnsentMax = 256U << 20;  // bytes that wait for one node

  Dispatch(const DispatchSettings& settings, const ports::Clock& clock, Roster& roster,
           assignment::SupervisorMachine& machine, std::size_t unsent_max = kUnsentMax);

  // Drops the nodes for which more than `unsent_max` bytes wait: they do not read. Called now and then,
  // before a pass sends anything. Costs a walk over the members.
  void drop_nodes_that_do_not_read();
  // Also drops nodes that send nothing although a report is due each status interval: such a process is
  // stalled, and its slices would wait for it. Time in which this process was stalled itself does not count.
  void drop_nodes_that_say_nothing(TimeNs now_ns);
  [[nodiscard]] DurationNs silence_max() const { return settings_.silence_max; }
  // Nodes have joined or left, or their participation has changed; ports_changed(): new information about a
  // port.
  void directory_changed() { directory_changed_ = true; }
  void ports_changed() { ports_changed_ = true; }
  // Once a pass: to DCMs, where something has changed.
  void tell_directory();
  void tell_ports();
  // Sends the DCMs that readouts push to, and the readouts' absences, before any slice that they apply to. A
  // node without its welcome receives them with it.
  void tell_destinations();
  void tell_absences();

  // Welcomes new members, carries the actions out, and clears them. Notes announced slices and the time of
  // the last settled one in `course`. Requires: the journal has the actions. `pass`: number of the last pass.
  void carry_out(assignment::Actions& actions, RunStages& course, std::uint64_t pass, TimeNs now_ns);

  // It has come in a run: carry_out() welcomes it.
  void came(RosterMember& member, Welcome welcome) {
    member.welcome = welcome;
    newcomers_ = true;
  }
  // Sends a connected member the complete state. Requires: no action for it is pending.
  void welcome(RosterMember& member, UtcNs begun_utc_ns) const;
  // `on`: the run is on, so that a process which has not begun it joins late.
  void send_begin(const RosterMember& member, UtcNs begun_utc_ns, bool on) const;
  static void send_end(sessions::Peer& peer);
  void directory_to_all();

  // Number of slices that were announced.
  [[nodiscard]] SliceOrder announced() const { return announced_; }
  // Above the ids of all of them.
  [[nodiscard]] std::uint64_t next_slice() const { return next_slice_; }
  // The run begins, or an earlier process has announced as many.
  void begin(std::uint64_t next_slice, SliceOrder announced) {
    next_slice_ = next_slice;
    announced_ = announced;
  }

 private:
  void send_to(Role role, const v1::Control& message);
  void send_announcements(const assignment::Actions& actions);
  void greet(const RosterMember& member, UtcNs begun_utc_ns) const;
  void bring_up_to_date(RosterMember& member) const;
  void send_open_slices(const RosterMember& member) const;
  void send_verdicts(const assignment::Actions& actions);
  void send_cleared(const assignment::Actions& actions);
  void send_clear(const assignment::Actions& actions);
  void let_go(slice_rows::NodeRef node);
  void send_destinations(sessions::Peer& peer) const;
  void send_absences(sessions::Peer& peer) const;
  void log_new_faults();
  // Every readout has a part in the slices that these rows are about.
  template <class Row>
  [[nodiscard]] bool for_all(std::span<const Row> rows) const;
  // The rows that are about slices which this readout has a part in.
  template <class Row>
  [[nodiscard]] std::vector<Row> own_part(const RosterMember& readout, std::span<const Row> rows) const;
  [[nodiscard]] std::optional<UtcNs> push_utc_ns() const;

  DispatchSettings settings_;
  const ports::Clock& clock_;
  Roster& roster_;
  assignment::SupervisorMachine& machine_;
  std::size_t unsent_max_;
  TimeNs looked_for_silent_ns_ = INT64_MIN / 2;
  TimeNs listens_since_ns_ = INT64_MIN / 2;  // this process, without standing still
  std::uint64_t next_slice_ = 0;
  SliceOrder announced_;
  bool newcomers_ = false;  // since the last carry_out()
  bool directory_changed_ = false;
  bool ports_changed_ = false;
  std::uint32_t destinations_told_ = 0;  // number of their epoch
  std::uint32_t absences_told_ = 0;      // number of the table
  std::size_t faults_logged_ = 0;        // of the machine's faults
  // Messages that are assembled repeatedly, in the same memory.
  v1::Control announcement_;
  v1::Control assignment_;
  v1::Control confirmation_;
  v1::Control clear_;
  v1::Control settled_;
};

}  // namespace weir::supervisor
