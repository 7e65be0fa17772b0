#pragma once

#include "account_delivery.hpp"
#include "bus_link.hpp"
#include "configuration.hpp"
#include "node_owner.hpp"
#include <weir/control/states.hpp>
#include <weir/node/folder_watch.hpp>
#include <weir/node/log_file.hpp>
#include <weir/node/metrics_export.hpp>
#include <weir/node/setup.hpp>
#include <weir/node/space_probe.hpp>
#include <weir/node/standstill_report.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::node {

constexpr DurationNs kFlushMax = 2 * kSecond;  // for flushing a node's last messages

// A process that lasts several runs: run control leads it from state to state, and each run has its own node,
// which leaves no state for the next.
class Shell final : public ReportSink, public RunWatcher, public SampleSink {
 public:
  // `setup`: from the farm file at the start. `metrics` outlives the shell. `has_plugins`: this executable
  // accepts --try-plugins. Throws std::runtime_error.
  Shell(const CommandLine& line, Role role, const MakeNode& make, bool has_plugins, const Setup& setup,
        const ports::Endpoint& control, MetricsExport* metrics);
  ~Shell() override;

  // Runs until `off` or a signal. Returns the exit status.
  int run();
  // Returns true if a node could not be destroyed (Node::let_go): the process has to end with _exit().
  [[nodiscard]] bool left_behind() const { return node_.left_behind(); }

 private:
  void take(const v1::Report& report) override;
  [[nodiscard]] v1::Report shell_counters() const;
  bool publish(std::string_view tag, ConstBytes sample) override { return bus_.publish_sample(tag, sample); }
  void on_listening(const std::string& endpoint) override { listens_at_ = endpoint; }
  void on_summary(const v1::RunSummary& summary) override;

  void turn(TimeNs now_ns);
  void take_orders();
  void take_order(v1::Order& order);
  void carry_out(control::Command command, const v1::Order& order);
  // Returns an error, or an empty string.
  [[nodiscard]] std::string transition(control::Command command, const v1::Order& order);
  [[nodiscard]] std::string init();
  [[nodiscard]] std::string configure(const v1::Order& order);
  void look_at_trial(TimeNs now_ns);
  void enter_ready();
  [[nodiscard]] std::string start(const v1::Order& order);
  void look_at_start();
  void enter_run();
  void report_failed(const std::string& command, const std::string& error);
  void tell(v1::Command::Kind kind, const std::string& reason, std::uint64_t limit_ms = 0);
  void node_finished();
  void hand_over_account();
  void end_with_run(const std::string& failure);
  void drop_node();
  void flush();
  void on_signal(int signal);
  void answer(std::uint64_t order, const std::string& error, bool wrong_settings = false);
  void set_state(control::State state);
  void follow_node();  // takes the state from the run's node
  enum class Extent : std::uint8_t {
    brief,
    whole
  };  // without the lists of a recording's files, or with them
  [[nodiscard]] v1::MemberState state(Extent extent) const;
  void watch_folders();  // of the run, or of the configuration

  CommandLine line_;
  Role role_;
  transport::Loop loop_;
  BusLink bus_;
  LogFile log_file_;
  StandstillReport pauses_;
  FolderWatch folders_;
  SpaceProbe spaces_;
  MetricsExport* metrics_;  // may be null
  std::string name_;
  Configuration configuration_;
  NodeOwner node_;  // of the current run
  control::State state_ = control::State::idle;
  RunNumber run_;
  bool ended_ = false;
  bool begun_ = false;
  std::string reason_;
  std::string listens_at_;
  AccountDelivery account_;
  std::optional<std::uint64_t> stop_order_;   // answered when the run is over
  std::optional<std::uint64_t> start_order_;  // answered when the node is prepared
  std::vector<v1::Order> orders_;
  std::vector<v1::Order> held_orders_;  // that wait for the answer to `start_order_`
  std::vector<v1::TapWish> wishes_;
  std::string quits_;  // why the process ends
  int exit_status_ = 0;
  TimeNs quit_until_ns_ = 0;
  bool done_ = false;
};

}  // namespace weir::node
