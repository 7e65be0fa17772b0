#pragma once

#include <weir/bus/client.hpp>
#include <weir/config/plan.hpp>
#include <weir/messages/peer.hpp>
#include <weir/ports/network.hpp>
#include <weir/run/child.hpp>
#include <weir/run/end_verdict.hpp>
#include <weir/run/live_view.hpp>
#include <weir/run/restarts.hpp>
#include <weir/run/run_leader.hpp>
#include <weir/run/steady_part.hpp>
#include <weir/run/summary.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::run {

// Where a node's process runs, if not just on this machine.
struct NodePlace {
  int network = -1;                    // ChildSettings::network
  std::string address;                 // it listens there, at any port; empty: as the plan says
  std::vector<std::string> arguments;  // besides its own
};

struct FarmRunSettings {
  std::string program_folder;                    // of weir-supervisor and the others
  std::string farm_file;                         // which every process reads
  std::string log_folder;                        // exists; one file per node
  std::string log_level;                         // empty: the farm file's
  std::string page = {};                         // host:port of the farm's page; empty: none
  std::map<std::string, NodePlace> places = {};  // by node; others run like this process
  // Where run control listens, at any port. Set: in a network that is reached from nowhere else.
  std::string isolated_host = {};
};

struct FarmRunResult {
  std::optional<v1::RunSummary> account;  // the supervisor's
  v1::FarmStatus last_status;             // what is known without an account
  std::string failure;                    // why the run could not be done, or not to its end; empty: it was
  std::vector<std::string> faults;        // of processes, survived or at the end
  std::vector<ProcessRecord> processes;   // one per process start
  SteadyPart steady;                      // what the statuses told
};

// What a person watching is told.
struct FarmRunView {
  std::function<void(const LiveFrame&)> show;
  std::function<void(const std::string&)> say;
  std::function<void(TimeNs now_ns)> pass = {};       // often, 20 ms apart at most; may be empty
  std::function<void(DurationNs ago_ns)> begun = {};  // once, when the run has begun; may be empty
  std::function<void()> ends = {};  // when it drains or is given up, if not sooner; likewise
  std::function<void(const std::string& node, pid_t pid)> started = {};  // a process, again too; likewise
};

// All processes of a farm on this machine, from the first start to the last end. Run control goes first; it
// is asked, as by an operator, to lead the others into the run. This class looks after the processes:
// restarts them, asks for the run's end when it cannot go on, passes on Ctrl-C (a second one kills), and
// watches the run over a connection to its supervisor. When run() returns, or throws, no process is left.
class FarmRun final : private messages::PeerHandler {
 public:
  FarmRun(const v1::Farm& farm, const config::FarmPlan& plan, FarmRunSettings settings, FarmRunView view);

  [[nodiscard]] FarmRunResult run();

 private:
  static constexpr DurationNs kTurn = 20 * kMillisecond;
  static constexpr DurationNs kKillPatience = 3 * kSecond;  // from SIGTERM to SIGKILL

  enum class Stage : std::uint8_t {
    control,     // run control is started; its port is not known
    supervisor,  // all are started; the supervisor's port is not known
    connecting,  // to it
    gathering,   // the run has not begun
    running,
    settled,  // the supervisor's account is here: the processes end by themselves
    ending    // they are made to end
  };
  struct Node {
    explicit Node(const Restarts& allowed) : restarts(allowed) {}

    const config::NodePlan* plan = nullptr;
    Child child;
    Restarts restarts;
    std::optional<ProcessEnd> end;  // in the middle of the run, as long as it is to be judged
    TimeNs ended_ns = 0;
    std::optional<TimeNs> restart_at_ns;
    std::string state;  // of a process that is not there
    std::uint32_t starts = 0;
    std::uint64_t log_from = 0;  // where the present process' lines begin
  };

  void on_ready(messages::Peer& peer) override;
  void on_gone(messages::Peer& peer, std::string_view why) override;
  Expected<void, wire::WireError> on_control(messages::Peer& peer, const v1::Control& message) override;

  void pass(TimeNs now_ns);
  void start(Node& node);
  void start_nodes();
  void reap(TimeNs now_ns);
  void ended(Node& node, const ProcessEnd& end, TimeNs now_ns);
  [[nodiscard]] bool is_led() const;
  void judge_end(Node& node, TimeNs now_ns);
  void start_again(Node& node, const std::string& what, TimeNs now_ns);
  void restart_due(TimeNs now_ns);
  void start_control();
  void find_control();
  void talk_to_control();
  void control_ended(const ProcessEnd& end);
  void end_control();
  void find_supervisor();
  void watch_roles(TimeNs now_ns);
  void watch_supervisor(TimeNs now_ns);
  void hurry(TimeNs now_ns);
  void on_signal(int signal);
  void say_it_ends() const;
  void ask_to_stop(const std::string& reason);
  void ask_supervisor_to_stop();
  void give_up(const std::string& reason);
  void signal_all(int signal);
  void show(const v1::FarmStatus& status);
  [[nodiscard]] bool has_child() const;
  [[nodiscard]] std::string log_file(const Node& node) const;
  // "dcm-1 ended with status 1: filter.plugin: ..."
  [[nodiscard]] std::string story(const Node& node, const ProcessEnd& end) const;
  [[nodiscard]] Node& supervisor() { return nodes_.front(); }

  const v1::Farm& farm_;
  FarmRunSettings settings_;
  FarmRunView view_;
  transport::Loop loop_;
  TimeNs now_ns_ = 0;
  messages::PeerInfo identity_;
  messages::PeerLimits limits_;
  messages::PeerCounters peer_counters_;
  std::vector<Node> nodes_;  // the supervisor first; masked ones left out
  std::optional<messages::Link> link_;
  Child control_;
  std::string control_output_;
  std::string control_listen_;  // as it is told
  std::string control_at_;      // host:port
  std::unique_ptr<bus::Client> control_client_;
  RunLeader leader_;
  std::string supervisor_output_;
  ports::Endpoint supervisor_at_;
  Stage stage_ = Stage::control;
  bool run_over_ = false;  // the supervisor collects the final reports: nodes end one after another
  LiveRates rates_;
  FarmRunResult result_;
  std::string stop_reason_;  // asked for
  bool stop_sent_ = false;   // ... of the supervisor itself
  std::string last_words_;   // why the last connection ended
  int signals_ = 0;
  TimeNs heard_ns_ = 0;             // from the supervisor
  TimeNs supervisor_ended_ns_ = 0;  // ... well, and without its account so far
  TimeNs lead_failed_ns_ = 0;       // the run did not come about
  TimeNs role_empty_ns_ = 0;        // since when a role has nobody; 0: each has
  TimeNs terminate_at_ns_ = 0;      // in settled and ending
  TimeNs kill_at_ns_ = 0;
};

}  // namespace weir::run
