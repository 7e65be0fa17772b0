#pragma once

#include <weir/config/plan.hpp>
#include <weir/farm_view/live_view.hpp>
#include <weir/launch/child.hpp>
#include <weir/launch/restarts.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::launch {

// The place of a node's process, if it is not simply this machine.
struct NodePlace {
  int network = -1;                      // ChildSettings::network
  std::string address;                   // address on which it listens, at any port; empty: the plan's
  std::vector<std::string> planes = {};  // a readout's addresses in the planes after the first
  std::vector<std::string> arguments;    // in addition to its own
};

struct FarmNodesSettings {
  std::string program_folder;                    // of weir-supervisor and the other programs
  std::string farm_file;                         // read by every process
  std::string log_folder;                        // exists; one log file per node
  std::string log_level;                         // empty: the farm file's
  std::map<std::string, NodePlace> places = {};  // by node; others run like this process
  std::uint32_t log_files_kept = node::kLogFilesKept;
  RestartSettings restarts = {};
};

// The processes of a farm on this machine: starts, restarts and ends. The owner judges why a process has
// ended, and what to do.
class FarmNodes {
 public:
  enum class Life : std::uint8_t {
    absent,  // not started yet
    there,
    ended,    // not judged yet
    waits,    // for its restart
    removed,  // by an operator, who may add it again
    away      // permanently
  };
  struct Node {
    explicit Node(const Restarts& allowed) : restarts(allowed) {}

    const config::NodePlan* plan = nullptr;
    Life life = Life::absent;
    ProcessEnd end;    // of the last process
    TimeNs at_ns = 0;  // ended: since when; waits: until when
    Restarts restarts;
    std::string state = "starting";  // for people, until its first report
    Child child;
    std::uint32_t starts = 0;
    std::uint64_t log_from = 0;  // where the current process' lines begin
  };
  using Started = std::function<void(const std::string& node, pid_t pid)>;

  // Throws std::runtime_error if the plan has no supervisor. Requires: the plan outlives it.
  FarmNodes(const config::FarmPlan& plan, FarmNodesSettings settings, Started started);

  // Starts all processes in order, led by run control at this host:port. Returns an error, or an empty
  // string.
  [[nodiscard]] std::string start(const std::string& control_at);
  // Passes processes that have ended since the last call to `ended`, in Life::ended.
  void reap(TimeNs now, const std::function<void(Node&)>& ended);
  // Schedules a restart. Returns false if its restarts are used up: it stays away.
  bool start_again(Node& node, TimeNs now);
  // A process that an operator has removed, and adds again: it is due at once and uses up no restart.
  static void add_again(Node& node, TimeNs now);
  // Starts the processes that are due. Returns an error, or an empty string.
  [[nodiscard]] std::string start_due(TimeNs now);
  // No further restarts, except of the supervisor if it is `spared`.
  void stay_away(bool spared = false);
  void signal_all(int signal) const;
  // Returns the supervisor's standard output since the last call.
  [[nodiscard]] std::string take_supervisor_output() { return supervisor().child.take_output(); }

  [[nodiscard]] std::vector<Node>& all() { return nodes_; }  // the supervisor first; masked ones left out
  [[nodiscard]] Node& supervisor() { return nodes_.front(); }
  [[nodiscard]] bool is_any_there() const;
  // Returns DCM or writer if the plan has processes of this role, but none is running or may return.
  [[nodiscard]] std::optional<Role> role_without_any() const;
  // "dcm-1 ended with status 1: filter.plugin: ..."
  [[nodiscard]] std::string story(const Node& node) const;
  // Completes the rows, in the order of starting. A process that is not running has the reason.
  void complete(farm_view::LiveFrame& frame) const;

 private:
  [[nodiscard]] std::string start(Node& node);
  [[nodiscard]] std::string log_file(const Node& node) const;

  FarmNodesSettings settings_;
  Started started_;
  std::string control_at_;
  std::vector<Node> nodes_;
};

}  // namespace weir::launch
