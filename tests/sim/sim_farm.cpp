#include "sim_farm.hpp"

#include "run_check.hpp"
#include "sim_front_ends.hpp"
#include "text_trigger_client.hpp"
#include "trigger_client.hpp"
#include "watcher.hpp"
#include <weir/config/farm_file.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace weir::sim {
namespace {

constexpr DurationNs kLookEvery = 25 * kMillisecond;
// After the last fault: reconnects, leases, reports and drain of a healthy farm are all well below.
constexpr DurationNs kPatience = 600 * kSecond;
constexpr DurationNs kAfterRun = 5 * kSecond;  // time for the processes to end

// A small window is filled once per round trip: with large slices a run without faults may take 700 s.
DurationNs patience_with(const Scenario& scenario) {
  constexpr std::int64_t kChunks = 4;  // of a request and its answer
  const simnet::WorldSettings& world = scenario.world;
  const DurationNs chunk_ns = world.delay_max + world.tail_max / 2 * world.tail_permille / 1000;
  const DurationNs requests_ns = static_cast<std::int64_t>(scenario.windows) * kChunks * chunk_ns;
  return kPatience + 2 * requests_ns;  // after deaths much is requested again
}

// True if every one of several readouts died, and the supervisor was away, too. Their narrow counters may
// have wrapped any number of times, and no other readout has a number for them: the run may stand still
// (docs/building.md).
bool no_counter_can_be_placed(const Scenario& scenario) {
  constexpr std::uint32_t kNarrow = 8;
  const FrontEndPlan& plan = scenario.front_ends;
  if (plan.kind != FrontEnds::number || plan.counter_bits > kNarrow || scenario.readouts < 2) return false;
  if (std::ranges::none_of(scenario.faults, [](const Fault& fault) { return fault.who == "supervisor"; }))
    return false;
  for (std::uint32_t i = 0; i < scenario.readouts; ++i) {
    const std::string readout = "readout-" + std::to_string(i);
    const bool died = std::ranges::any_of(scenario.faults, [&](const Fault& fault) {
      const bool ends = fault.kind == FaultKind::kill || fault.kind == FaultKind::lose_machine ||
                        fault.kind == FaultKind::drain;
      return ends && fault.who == readout;
    });
    if (!died) return false;
  }
  return true;
}

FarmFile read_farm(const Scenario& scenario) {
  auto file = config::read_farm(scenario.farm, "scenario");
  if (!file) throw std::runtime_error(config::to_text(file.error()));
  auto plan = config::expand(file->farm, file->locations);
  if (!plan) throw std::runtime_error(config::to_text(plan.error()));
  FarmFile farm{file->farm, *plan};
  farm.farm.mutable_dcm()->set_processing_units(0);  // filters run on the caller's thread
  return farm;
}

}  // namespace

SimFarm::SimFarm(const Scenario& scenario)
    : scenario_(scenario),
      folder_(test::TemporaryFolder::in_memory()),
      farm_(read_farm(scenario)),
      world_(scenario.seed, scenario.world) {
  if (scenario.front_ends.kind != FrontEnds::none)
    front_ends_ = std::make_unique<SimFrontEnds>(world_, scenario.front_ends);
  for (const config::NodePlan& node : farm_.plan.nodes) {
    processes_.push_back(std::make_unique<SimProcess>(world_, farm_, scenario_, node.name, folder_.path()));
  }
  watcher_ = std::make_unique<Watcher>(world_, farm_.farm.farm(), ports::Endpoint{"127.0.0.1", 7000});
  if (scenario_.ids != IdOrder::of_the_farm)
    triggers_ = std::make_unique<TriggerClient>(world_, scenario_, farm_.farm.farm(),
                                                ports::Endpoint{"127.0.0.1", 7001},
                                                [this](const std::string& problem) { fail(problem); });
  if (scenario_.text_triggers)
    text_triggers_ =
        std::make_unique<TextTriggerClient>(world_, scenario_, ports::Endpoint{"127.0.0.1", 7002},
                                            [this](const std::string& problem) { fail(problem); });
}

SimFarm::~SimFarm() {
  text_triggers_.reset();
  triggers_.reset();
  watcher_.reset();
  processes_.clear();
}

SimProcess& SimFarm::process(const std::string& name) {
  for (const auto& process : processes_) {
    if (process->name() == name) return *process;
  }
  throw std::runtime_error("no process '" + name + "'");
}

void SimFarm::fail(const std::string& problem) {
  if (problem_.empty()) problem_ = problem;
}

void SimFarm::note_log(std::string_view line) {
  if (front_ends_ && world_.running() == processes_.front()->name()) front_ends_->note_log(line);
}

void SimFarm::schedule_faults() {
  for (const Fault& fault : scenario_.faults) {
    world_.timeline().at(fault.at_ns, [this, fault] { inflict(fault); });
  }
}

void SimFarm::inflict(const Fault& fault) {
  SimProcess& who = process(fault.who);
  const TimeNs until_ns = world_.now_ns() + fault.lasts_ns;
  world_.note(fault.who.c_str(), name(fault.kind), static_cast<std::uint64_t>(fault.lasts_ns),
              static_cast<std::uint64_t>(fault.amount));
  switch (fault.kind) {
    case FaultKind::break_connections:
      return world_.break_connections(who.host(), process(fault.other).host());
    case FaultKind::silence:
      return world_.silence(who.host(), process(fault.other).host(), until_ns);
    case FaultKind::partition:
      return world_.partition(who.host(), process(fault.other).host(), until_ns);
    case FaultKind::flip:
      return world_.flip_bits(who.host(), process(fault.other).host(), until_ns,
                              static_cast<std::uint32_t>(fault.amount));
    case FaultKind::cut:
      if (fault.other == kCarrier) who.lose_carrier(static_cast<std::size_t>(fault.amount));
      return world_.cut(who.host(), "127." + std::to_string(fault.amount + 1) + ".0.1", until_ns);
    case FaultKind::stall:
      return who.host().stall(until_ns);
    case FaultKind::kill:
      return who.kill(simnet::Death::process, fault.lasts_ns, fault.amount == 1);
    case FaultKind::lose_machine:
      return who.kill(simnet::Death::machine, fault.lasts_ns, fault.amount == 1);
    case FaultKind::refuse:
      return world_.refuse(who.host(), until_ns);
    case FaultKind::slow_disk:
      if (who.disk() != nullptr) who.disk()->slow(fault.amount, until_ns);
      return;
    case FaultKind::full_disk:
      who.image().capacity = who.image().bytes() + static_cast<std::uint64_t>(fault.amount);
      world_.timeline().at(until_ns, [&who] { who.image().capacity = UINT64_MAX; });
      return;
    case FaultKind::disk_error:
      if (who.disk() != nullptr) who.disk()->fail_next(ports::DiskError::io);
      return;
    case FaultKind::jump_utc:
      return who.host().jump_utc(fault.amount);
    case FaultKind::drain:
      watcher_->command(v1::Command::DRAIN, fault.who);
      who.boot_again(nullptr);
      world_.timeline().at(until_ns, [this, &who] {
        watcher_->command(v1::Command::ADD, who.name());
        const bool returns = who.name().starts_with("dcm");
        who.boot_again(
            [this, returns] { return !is_ending() || (returns && watcher_->state() == "draining"); });
      });
      return;
    case FaultKind::burst:
      return watcher_->alert(fault.amount, fault.lasts_ns / kMillisecond);
    case FaultKind::pause:
      watcher_->command(v1::Command::PAUSE);
      world_.timeline().at(until_ns, [this] { watcher_->command(v1::Command::CONTINUE); });
      return;
  }
}

// A process started now would have no run to join.
bool SimFarm::is_ending() const {
  return watcher_->account() || watcher_->state() == "reporting" || watcher_->state() == "done" ||
         watcher_->state() == "draining";
}

void SimFarm::look() {
  for (const auto& process : processes_) {
    const std::string broken = process->broken_invariant();
    if (!broken.empty()) fail(process->name() + ": " + broken);
  }
  world_.timeline().after(kLookEvery, [this] { look(); });
}

// Run control restarts no supervisor once it has the account of the run.
bool SimFarm::over() {
  if (!problem_.empty()) return true;
  const SimProcess& supervisor = *processes_.front();
  const bool told = watcher_->account().has_value();
  if (!told && !supervisor.running() && !supervisor.failure().empty()) {
    fail("the supervisor ends: " + supervisor.failure());
    return true;
  }
  if (!told && !supervisor.ended_well()) return false;
  if (ended_ns_ == 0) ended_ns_ = world_.now_ns();
  bool all = told;
  for (const auto& process : processes_) all = all && process->ended_well();
  return all || world_.now_ns() - ended_ns_ > kAfterRun;
}

Outcome SimFarm::run() {
  Outcome outcome;
  for (const auto& process : processes_) process->boot();
  schedule_faults();
  world_.timeline().after(kLookEvery, [this] { look(); });
  const DurationNs patience = patience_with(scenario_);
  const TimeNs limit = scenario_.faults_end_ns + patience;
  while (!over() && world_.timeline().step(limit)) {
  }
  if (problem_.empty() && ended_ns_ == 0 && no_counter_can_be_placed(scenario_)) return outcome;
  if (problem_.empty() && ended_ns_ == 0) {
    fail("the run does not end: " + std::to_string(patience / kSecond) +
         " s after the last fault the supervisor is " + watcher_->state() + watcher_->nodes());
  }
  check_end(outcome);
  outcome.problem = problem_;
  outcome.trace_hash = world_.trace().hash();
  outcome.trace_events = world_.trace().events();
  outcome.steps = world_.timeline().steps();
  outcome.ended_ns = world_.now_ns();
  for (const auto& process : processes_) outcome.deaths += process->deaths();
  return outcome;
}

void SimFarm::check_end(Outcome& outcome) {
  // A short run may be over before a slow line has let the watcher in.
  if (!watcher_->met() && processes_.front()->ended_well()) return;
  if (!watcher_->account()) return fail("the supervisor sent no account of the run");
  const v1::RunSummary& account = *watcher_->account();
  outcome.ledger = account.ledger_text();
  // Only files that exist at the end count, as stored on their machines.
  std::error_code ignored;
  std::filesystem::remove_all(folder_.path(), ignored);
  std::filesystem::create_directories(folder_.path());
  for (const auto& process : processes_) {
    if (process->is_writer()) process->write_files(folder_.path());
  }
  std::vector<std::uint32_t> dcm_deaths;
  for (const auto& process : processes_) {
    if (process->name().starts_with("dcm-")) dcm_deaths.push_back(process->deaths());
  }
  RunCheck check(scenario_, front_ends_.get(), account, folder_.path(), std::move(dcm_deaths));
  check.run();
  outcome.triggered = check.triggered();
  outcome.stored = check.stored();
  outcome.stored_ids = check.stored_ids();
  outcome.missing = check.missing();
  outcome.corrupt = check.corrupt();
  outcome.alerts = static_cast<std::uint64_t>(account.bursts_size());
  outcome.filter_alerts = check.filter_alerts();
  outcome.refused_alerts = check.refused_alerts();
  outcome.worker_restarts = check.worker_restarts();
  if (const FrontEndCheck* front_ends = check.front_ends()) {
    outcome.slips = front_ends->has_slip();
    outcome.slip_shows = front_ends->has_to_name();
    outcome.slip_named = front_ends->has_named();
    outcome.slip_delay = front_ends->slip_delay();
  }
  if (!check.problem().empty()) fail(check.problem());
}

}  // namespace weir::sim
