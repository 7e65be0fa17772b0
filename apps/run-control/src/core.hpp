#pragma once

#include "history.hpp"
#include "web.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/control/health.hpp>
#include <weir/control/rules.hpp>
#include <weir/run_control/run_control.hpp>
#include <weir/security/keys.hpp>
#include <weir/tap/leases.hpp>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

constexpr std::size_t kEventsKept = 500;
constexpr std::size_t kRunsKept = 200;
constexpr std::uint64_t kRefusalsTold = 100;     // further ones are counted
constexpr std::uint64_t kTellIds = 1ULL << 62U;  // of orders that are none of the machine's

// What run control knows of a process besides where it is.
struct Process {
  std::string client;  // of the bus; empty: never there
  std::string address;
  std::string host;
  std::uint32_t pid = 0;
  std::string pid_space;  // node::pid_space(), of which the pid is
  std::string metrics;
  std::string software;
  std::string digest;
  v1::Report report;
};

struct RunControl::Core final : bus::HubHandler {
  explicit Core(RunControlSettings wanted);

  void turn(DurationNs wait);
  v1::Reply request(const v1::Request& request, security::BusRole role);
  v1::FarmView view();
  void add_node(std::size_t index, v1::FarmView::Node& out_node) const;

  // messages
  void on_message(const bus::Sender& from, const v1::BusMessage& message) override;
  void on_published(std::string_view tag, ConstBytes payload) override;
  void on_join(const bus::Sender& from, const v1::Join& join);
  void on_heartbeat(const bus::Sender& from, const v1::Heartbeat& heartbeat);
  void on_answer(const bus::Sender& from, const v1::Answer& answer);
  void on_run_over(const bus::Sender& from, const v1::RunOver& over);
  void on_leave(const bus::Sender& from);
  void send_home(std::size_t index);
  [[nodiscard]] std::optional<std::size_t> member_of(const bus::Sender& from) const;
  void refuse(const bus::Sender& from, const std::string& why);

  // requests
  [[nodiscard]] std::string carry_out(const v1::Request& request);
  [[nodiscard]] std::string transition(control::Command command, const v1::Request& request);
  [[nodiscard]] std::string check_run_sets(const std::vector<std::string>& wanted) const;
  [[nodiscard]] std::string set(const v1::Request& request);
  [[nodiscard]] std::string change_farm(const v1::Request& request, bool out);
  [[nodiscard]] std::string log_level(const v1::Request& request);
  [[nodiscard]] std::string send_signals(const v1::Request& request);
  void tell_ports();
  [[nodiscard]] std::string load(const std::vector<std::string>& sets);
  [[nodiscard]] std::string begin_record(RunNumber run);

  // Samples of the run, for who may look at least. The error is a sentence.
  [[nodiscard]] std::string tap(const v1::TapWish& wish, v1::TapPlace& place);
  [[nodiscard]] std::string check_tap(const v1::TapWish& wish) const;

  // rules
  void read_rules();
  [[nodiscard]] control::RulesView rules_view() const;
  void look_at_rules();
  void fire(const control::Firing& firing);
  [[nodiscard]] std::string act(const control::Rule& rule, const control::Firing& firing);
  [[nodiscard]] std::string tell_restart(std::size_t index, const std::string& why);
  void start_next();

  // health
  void look_at_progress();
  [[nodiscard]] control::HealthView::Process health_of_process(std::size_t index) const;
  [[nodiscard]] std::vector<control::Finding> health() const;

  // what the machine wants
  void carry_out_actions();
  void send_order(const control::Order& order);
  // An order that is none of the machine's: nobody waits for its end.
  void tell(std::size_t index, v1::Order order);
  void tell_supervisor(const v1::Command& command);
  void tell_who_is_out();
  void note(control::Level level, const std::string& text);
  void keep_memory();

  RunControlSettings settings;
  v1::Farm file;  // as it lies there, with the command line's sets
  config::FarmPlan plan;
  std::string digest;
  std::vector<std::string> sets;  // of `configure`
  v1::Farm farm;                  // with those
  std::string out;
  std::optional<bus::Hub> hub;
  std::optional<control::FarmMachine> machine;
  control::Actions actions;
  std::vector<Process> processes;  // as the machine's members
  std::map<std::string, std::size_t> by_client;
  std::vector<std::string> run_sets;  // of `start`, for its run
  std::string supervisor;             // where the run's supervisor listens
  std::optional<tap::Leases> taps;
  std::optional<control::Rules> rules;
  std::string next_by;  // the rule that ended the run, and starts the next one
  TimeNs next_look_ns = 0;
  control::RunProgress progress;
  TimeNs next_progress_ns = 0;
  std::int64_t progress_report_ns = 0;  // the supervisor's clock in the report that was looked at
  TimeNs begin_ns = 0;                  // of this process
  bool recalled = false;                // it goes on from an earlier one
  std::optional<History> history;
  std::optional<v1::RunSummary> last_summary;
  std::deque<v1::FarmView::Line> events;  // newest last
  std::optional<v1::ControlMemory> kept;  // on disk
  std::string memory_failure;
  std::uint64_t tells = 0;
  std::uint64_t refused_joins = 0;
  std::uint32_t logged_run = 0;
  std::uint32_t last_over = 0;  // the last run whose end was told
  UtcNs run_begin_utc = 0;      // 0: none is on
  std::optional<Web> web;
  TimeNs next_show_ns = 0;
  TimeNs now_ns = 0;
};

[[nodiscard]] TimeNs monotonic_now();
[[nodiscard]] UtcNs utc_now();

}  // namespace weir::run_control
