#pragma once

#include <weir/config/planned_farm.hpp>
#include <weir/farm_view/live_view.hpp>
#include <weir/launch/farm_nodes.hpp>
#include <weir/launch/run_control_child.hpp>
#include <weir/node/standstill_report.hpp>
#include <weir/run/end_verdict.hpp>
#include <weir/run/ending.hpp>
#include <weir/run/run_leader.hpp>
#include <weir/run/run_news.hpp>
#include <weir/run_record/steady_part.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run {

struct FarmRunSettings {
  std::string program_folder;    // of weir-supervisor and the other programs
  std::string farm_file;         // read by every process
  std::string log_folder;        // exists; one log file per node
  std::string log_level;         // empty: the farm file's
  std::string page = {};         // host:port of the farm's page; empty: no page
  std::string listen = {};       // host:port of run control; empty: a free port of 127.0.0.1
  bool listen_may_move = false;  // to a free port of 127.0.0.1, if run control cannot listen there
  std::map<std::string, launch::NodePlace> places = {};  // by node; others run like this process
  // Address at which this process and the nodes reach run control, if not through loopback: in this process'
  // network, which is not run control's.
  std::string control_host = {};
  int control_network = -1;                       // ChildSettings::network of run control
  run_record::RunFields fields = {};              // of the run
  DurationNs settling_ns = run_record::kStartUp;  // not part of FarmRunResult::steady
};

struct FarmRunResult {
  std::optional<v1::RunSummary> account;  // the supervisor's
  v1::FarmStatus last_status;             // for a run without an account
  std::string failure;              // why the run failed or could not be finished; empty: it was finished
  std::vector<std::string> faults;  // of processes, survived or at the end
  std::vector<run_record::ProcessRecord> processes;  // one per process start
  run_record::SteadyPart steady;                     // from the statuses
};

// Callbacks for displaying the run.
struct FarmRunView {
  std::function<void(const farm_view::LiveFrame&)> show;
  std::function<void(const std::string&)> say;
  std::function<void(TimeNs now_ns)> pass = {};       // often, 20 ms apart at most; may be empty
  std::function<void(DurationNs ago_ns)> begun = {};  // once, when the run has begun; may be empty
  std::function<void(const v1::RunIdentity&)> made_of =
      {};                           // once, at the same time: the run's parts; may be empty
  std::function<void()> ends = {};  // when it drains or is given up, whichever is first; may be empty
  std::function<void(const std::string& node, pid_t pid)> started =
      {};  // for each process start, restarts included; may be empty
};

// All processes of a farm on this machine, from the first start to the last end. Run control is started
// first; it receives commands like an operator's to lead the others into the run, reports the run's progress,
// and has the account at the end. This class judges the end of each process, ends a run that cannot continue,
// and passes on Ctrl-C (a second one kills). When run() returns or throws, no process is left.
class FarmRun {
 public:
  // Requires: `planned` outlives it.
  FarmRun(const config::PlannedFarm& planned, FarmRunSettings settings, FarmRunView view);
  FarmRun(const config::PlannedFarm&& planned, FarmRunSettings settings, FarmRunView view) = delete;

  [[nodiscard]] FarmRunResult run();

 private:
  enum class Stage : std::uint8_t {
    control,  // run control is started; its port is not known yet
    leading,  // all are started; the run has not begun
    running,
    over,     // the supervisor collects final reports: nodes end one after another
    settled,  // the account has arrived: the processes end by themselves
    ending    // the processes are terminated
  };
  [[nodiscard]] bool is_on() const { return stage_ == Stage::running || stage_ == Stage::over; }

  void enter(Stage stage);
  void pass(TimeNs now_ns);
  // run control
  void find_control();
  void talk_to_control();
  void follow_news(bool fresh);
  void watch_control();
  void control_ended(const launch::ProcessEnd& end);
  void end_control();
  // processes
  void ended(launch::FarmNodes::Node& node);
  void judge_end(launch::FarmNodes::Node& node);
  [[nodiscard]] EndFacts facts_of(const launch::FarmNodes::Node& node) const;
  void start_due();
  void tell_triggers();
  // the run's end
  void watch_roles();
  void watch_silence();
  void hurry();
  void on_signal(int signal);
  void ask_to_stop(const std::string& reason);
  void give_up(const std::string& reason);
  void say_it_ends() const;
  void show();

  std::string out_;             // run.out
  std::uint32_t restarts_max_;  // of a process
  bool journal_;                // the supervisor keeps one
  FarmRunView view_;
  transport::Loop loop_;
  launch::FarmNodes nodes_;
  launch::RunControlChild control_;
  node::StandstillReport pauses_;
  RunLeader leader_;
  RunNews news_;
  farm_view::LiveRates rates_;
  Ending ending_;
  FarmRunResult result_;
  Stage stage_ = Stage::control;
  std::string supervisor_output_;  // until its line is whole
  int signals_ = 0;
  TimeNs now_ns_ = 0;
  TimeNs since_ns_ = 0;             // when the stage, or the run's lead, was reached
  TimeNs supervisor_ended_ns_ = 0;  // when it ended well without its account so far; 0: it has not
  TimeNs lead_failed_ns_ = 0;       // when the run failed to begin; 0: it has not
  std::string stop_asked_;          // signal that stopped a run which may have begun,
  TimeNs stop_asked_ns_ = 0;        // and when; 0: none
  DurationNs stop_bound_;           // from the order to stop to the run's end
  DurationNs control_patience_;     // with run control that ends
  TimeNs stop_until_ns_ = 0;        // 0: not ordered to stop
  TimeNs role_empty_ns_ = 0;        // since when a role has no process; 0: all have some
};

}  // namespace weir::run
