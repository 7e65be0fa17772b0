#pragma once

#include "burst_alerts.hpp"
#include "dispatch.hpp"
#include "run_account.hpp"
#include "run_journal.hpp"
#include "slip_board.hpp"
#include "text_responder.hpp"
#include <weir/assignment/dcm_groups.hpp>
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/assignment/trigger_source.hpp>
#include <weir/node/setup.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::supervisor {

// The settings of SupervisorNode; its parts have their own.
struct SupervisorNodeSettings {
  sessions::PeerInfo identity;
  sessions::PeerLimits limits;
  ports::Endpoint listen;
  std::optional<ports::Endpoint> trigger_listen;  // in a farm whose triggers come over the network
  std::optional<ports::Endpoint> text_listen;     // likewise, as lines of text
  std::optional<DurationNs> numbers_skew_ns;      // where front-ends number the slices
  DurationNs numbers_tolerance_ns;                // of their times; 0: these are not compared
  TriggerType type;                               // of such slices
  std::vector<std::string> absent;                // nodes for which the run does not wait
  std::size_t readouts;                           // places in the farm
  std::size_t writers;
  bool pushes_by_clock;      // triggers are made at their time, because data are pushed by it
  DurationNs gather_ns;      // how long a run waits for its processes to connect; grows with the farm
  DurationNs speaks_within;  // traffic this recent on a node's old connection refuses a new one
  DurationNs status_interval_ns;
  DurationNs nodes_return_ns;  // after a restart, for the nodes to connect again
  std::uint64_t first_slice;
  std::uint64_t slices;  // of the run; 0: no limit
  double duration_s;     // of the run; 0: no limit
  node::ReportSink* reports;
  node::RunWatcher* watcher;
  bool one_run;
};
[[nodiscard]] SupervisorNodeSettings node_settings(const node::Setup& setup);
[[nodiscard]] DispatchSettings dispatch_settings(const node::Setup& setup);
[[nodiscard]] JournalSettings journal_settings(const node::Setup& setup);
[[nodiscard]] BurstAlertSettings burst_alert_settings(const node::Setup& setup);
// `claim`: of the run. Throws std::runtime_error if trigger clients would need a key and have none.
[[nodiscard]] TextSettings text_settings(const node::Setup& setup, std::uint64_t claim);
[[nodiscard]] AccountSettings account_settings(const node::Setup& setup);
[[nodiscard]] StepSettings step_settings(const node::Setup& setup);
// Returns the silence after which a DCM of a group with a lease of its own is disconnected; 0 for other
// nodes.
[[nodiscard]] DurationNs silence_of_group(const node::Setup& setup, const config::NodePlan& node);

// Converts the farm file's words to the machine's types. These throw std::runtime_error with a sentence.
[[nodiscard]] assignment::SupervisorSettings machine_settings(const node::Setup& setup);
[[nodiscard]] std::unique_ptr<assignment::TriggerSource> make_triggers(const node::Setup& setup);
// One for each group of DCMs.
[[nodiscard]] assignment::DcmGroups::Policies make_policies(const node::Setup& setup);

}  // namespace weir::supervisor
