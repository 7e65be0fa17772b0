#pragma once

#include "front_end_check.hpp"
#include "scenario.hpp"
#include "sim_process.hpp"
#include "temporary_folder.hpp"
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::sim {

class SimFrontEnds;
class TextTriggerClient;
class TriggerClient;
class Watcher;

// How one run went.
struct Outcome {
  std::string problem;  // the first broken rule; empty: none
  std::uint64_t trace_hash = 0;
  std::uint64_t trace_events = 0;
  std::uint64_t steps = 0;
  TimeNs ended_ns = 0;  // simulated
  std::uint64_t triggered = 0;
  std::uint64_t stored = 0;
  std::uint64_t stored_ids = 0;  // sum of their hashes
  std::uint64_t missing = 0;     // fragments marked so
  std::uint64_t corrupt = 0;     // likewise
  std::uint64_t alerts = 0;
  std::uint64_t filter_alerts = 0;  // of these
  std::uint64_t refused_alerts = 0;
  std::uint64_t deaths = 0;
  std::uint64_t worker_restarts = 0;
  // Where a front-end gets out of step:
  bool slips = false;
  bool slip_shows = false;  // Weir has to name it
  bool slip_named = false;
  std::optional<SlipDelay> slip_delay;
  std::string ledger;
};

// A farm of real nodes on a simulated network, from boot to the end of its run.
class SimFarm {
 public:
  // Throws std::runtime_error when the scenario's farm file is not good.
  explicit SimFarm(const Scenario& scenario);
  ~SimFarm();
  SimFarm(const SimFarm&) = delete;
  SimFarm& operator=(const SimFarm&) = delete;

  [[nodiscard]] simnet::World& world() { return world_; }
  // Writes a readable trace of all events. Requires: called before run().
  void set_trace(simnet::Trace::Sink sink) { world_.trace().set_sink(std::move(sink)); }
  [[nodiscard]] bool reads_logs() const { return front_ends_ != nullptr; }
  // The running process logs this line.
  void note_log(std::string_view line);
  [[nodiscard]] Outcome run();

 private:
  SimProcess& process(const std::string& name);
  void schedule_faults();
  void inflict(const Fault& fault);
  void look();
  [[nodiscard]] bool over();
  [[nodiscard]] bool is_ending() const;
  void check_end(Outcome& outcome);
  void fail(const std::string& problem);

  const Scenario scenario_;
  test::TemporaryFolder folder_;  // real, for the writers' files
  FarmFile farm_;
  simnet::World world_;
  std::unique_ptr<SimFrontEnds> front_ends_;            // null: none
  std::vector<std::unique_ptr<SimProcess>> processes_;  // the supervisor first
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<TextTriggerClient> text_triggers_;
  std::unique_ptr<TriggerClient> triggers_;  // external triggers; null: the farm makes them itself
  std::string problem_;
  TimeNs ended_ns_ = 0;  // the run is over
};

}  // namespace weir::sim
