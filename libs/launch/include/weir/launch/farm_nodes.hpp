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

// Where a node's process runs, if not just on this machine.
struct NodePlace {
  int network = -1;                    // ChildSettings::network
  std::string address;                 // it listens there, at any port; empty: as the plan says
  std::vector<std::string> arguments;  // besides its own
};

struct FarmNodesSettings {
  std::string program_folder;                    // of weir-supervisor and the others
  std::string farm_file;                         // which every process reads
  std::string log_folder;                        // exists; one file per node
  std::string log_level;                         // empty: the farm file's
  std::map<std::string, NodePlace> places = {};  // by node; others run like this process
  std::uint32_t log_files_kept = node::kLogFilesKept;
  RestartSettings restarts = {};
};

// The processes of a farm on this machine: started, started again after a while, and gone. Why a process has
// ended and what follows of it is for the owner to judge.
class FarmNodes {
 public:
  enum class Life : std::uint8_t {
    absent,  // not started yet
    there,
    ended,  // not judged yet
    waits,  // for the time when it is started again
    away    // for good
  };
  struct Node {
    explicit Node(const Restarts& allowed) : restarts(allowed) {}

    const config::NodePlan* plan = nullptr;
    Life life = Life::absent;
    ProcessEnd end;    // the last one
    TimeNs at_ns = 0;  // ended: since when; waits: until when
    Restarts restarts;
    std::string state = "starting";  // for people, as long as it says nothing itself
    Child child;
    std::uint32_t starts = 0;
    std::uint64_t log_from = 0;  // where the present process' lines begin
  };
  using Started = std::function<void(const std::string& node, pid_t pid)>;

  // The plan outlives it. Throws std::runtime_error: there is no supervisor.
  FarmNodes(const config::FarmPlan& plan, FarmNodesSettings settings, Started started);

  // All, in the order of starting, led by run control at this host:port. The error is a sentence.
  [[nodiscard]] std::string start(const std::string& control_at);
  // Those that have ended since the last call are handed out, in Life::ended.
  void reap(TimeNs now, const std::function<void(Node&)>& ended);
  // Will start it again; false: it has used its restarts up, and stays away.
  bool start_again(Node& node, TimeNs now);
  // Starts those whose time has come. The error is a sentence.
  [[nodiscard]] std::string start_due(TimeNs now);
  // No process is started again any more; but the supervisor, if it is `spared`.
  void stay_away(bool spared = false);
  void signal_all(int signal) const;
  // What the supervisor has written to standard output.
  [[nodiscard]] std::string take_supervisor_output() { return supervisor().child.take_output(); }

  [[nodiscard]] std::vector<Node>& all() { return nodes_; }  // the supervisor first; masked ones left out
  [[nodiscard]] Node& supervisor() { return nodes_.front(); }
  [[nodiscard]] bool is_any_there() const;
  // DCM or writer, of which the plan has some and none is there, or may come again.
  [[nodiscard]] std::optional<Role> role_without_any() const;
  // "dcm-1 ended with status 1: filter.plugin: ..."
  [[nodiscard]] std::string story(const Node& node) const;
  // The rows in the order of starting; of a process that is not there, why.
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
