// Triggers, queues and processors in simulated time; the real supervisor's machine chooses the DCM of each
// slice.
#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/hash.hpp>
#include <weir/bench/assignment.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <unordered_map>

namespace weir::bench {
namespace {

constexpr std::size_t kTenths = 10;

// Exponentially distributed, by inverse transform; a function of seed and number.
DurationNs exponential(double mean_ns, std::uint64_t seed, std::uint64_t number) {
  constexpr double kTwoToMinus53 = 1.0 / 9007199254740992.0;
  const double uniform = (static_cast<double>(mix64(mix64(seed) + number) >> 11) + 0.5) * kTwoToMinus53;
  return static_cast<DurationNs>(-mean_ns * std::log(uniform));
}

class Simulation {
 public:
  Simulation(const AssignmentCase& one, std::unique_ptr<assignment::AssignmentPolicy> policy)
      : case_(one),
        machine_(machine_settings(one), triggers(), std::move(policy)),
        destinations_(one.destinations.size()) {
    result_.settings = one;
    result_.shares.resize(one.destinations.size());
  }

  AssignmentResult run() {
    const double mean_ns = kSecond / (case_.load * capacity_hz(case_));
    const TimeNs end = case_.warm_up_ns + case_.seconds_ns;
    machine_.start({now_, now_});
    for (std::size_t i = 0; i < destinations_.size(); ++i)
      machine_.dcm_joined(index_of(i), Incarnation(1), case_.credits, now_, actions_);
    TimeNs next_trigger = exponential(mean_ns, case_.seed, 0);
    for (std::uint64_t number = 1; now_ < end;) {
      const bool trigger = ready_.empty() || next_trigger <= ready_.top().at;
      now_ = trigger ? next_trigger : ready_.top().at;
      if (trigger) {
        take_trigger();
        next_trigger += exponential(mean_ns, case_.seed, number++);
      } else {
        decide();
      }
      machine_.tick({now_, now_}, actions_);
      carry_out();
    }
    return finished();
  }

 private:
  struct Busy {
    TimeNs at;
    std::size_t destination;
    SliceId slice;
    bool operator>(const Busy& other) const { return at > other.at; }
  };
  struct State {
    std::uint32_t working = 0;  // processors
    std::deque<SliceId> queue;
  };

  static NodeIndex index_of(std::size_t place) { return NodeIndex(static_cast<std::uint16_t>(place)); }
  static assignment::SupervisorSettings machine_settings(const AssignmentCase& one) {
    assignment::SupervisorSettings settings;
    settings.dcms = one.destinations.size();
    settings.pending_max = 256;
    settings.lease_ns = 3600 * kSecond;  // no DCM dies here
    settings.drain_ns = 30 * kSecond;
    return settings;
  }
  static std::unique_ptr<assignment::TriggerSource> triggers() {
    assignment::TriggerSettings settings;
    settings.mode = "network";
    return std::move(*assignment::make_trigger_source(std::move(settings)));
  }

  void take_trigger() {
    const assignment::OfferResult offered = machine_.offer({std::nullopt, {}, {}}, {now_, now_}, actions_);
    if (offered.taken) triggered_at_.emplace(offered.slice.value, now_);
    if (!offered.taken && now_ >= case_.warm_up_ns) ++result_.vetoed;
  }

  void carry_out() {
    for (const NodeIndex dcm : actions_.touched) {
      State& state = destinations_[dcm.value];
      for (const assignment::Assignment& one : actions_.of(dcm).assign) state.queue.push_back(one.slice);
      work(dcm.value);
    }
    actions_.clear();
  }

  void work(std::size_t place) {
    State& state = destinations_[place];
    while (state.working < case_.destinations[place].processors && !state.queue.empty()) {
      ++state.working;
      ready_.push({now_ + slice_ns(place, state.queue.front()), place, state.queue.front()});
      state.queue.pop_front();
    }
  }

  // A slice takes the same time on every processor: all policies have the same slices.
  DurationNs slice_ns(std::size_t place, SliceId slice) const {
    double factor = 1;
    for (const Slowdown& slowdown : case_.slowdowns) {
      const bool now = slowdown.from <= now_ && now_ < slowdown.until;
      if (now && slowdown.destination == place) factor *= slowdown.factor;
    }
    const DurationNs random = exponential(static_cast<double>(case_.random_ns), ~case_.seed, slice.value);
    return static_cast<DurationNs>(factor * static_cast<double>(case_.fixed_ns + random));
  }

  void decide() {
    const Busy done = ready_.top();
    ready_.pop();
    --destinations_[done.destination].working;
    const assignment::AttemptDecision decision{done.slice, Attempt(0), slice_rows::Verdict::reject,
                                               slice_rows::DiscardReason::none, false};
    machine_.decisions(index_of(done.destination), {&decision, 1}, now_, actions_);
    work(done.destination);
    const auto triggered = triggered_at_.extract(done.slice.value);
    if (now_ >= case_.warm_up_ns) measure(done.destination, now_ - triggered.mapped());
  }

  void measure(std::size_t place, DurationNs latency) {
    const auto tenth = static_cast<std::size_t>((now_ - case_.warm_up_ns) / (case_.seconds_ns / kTenths + 1));
    result_.latency_us.record(static_cast<std::uint64_t>(latency / kMicrosecond));
    ++result_.decided;
    ++result_.shares[place];
    sum_ns_ += static_cast<double>(latency);
    tenth_ns_[std::min(tenth, kTenths - 1)] += static_cast<double>(latency);
    ++tenth_count_[std::min(tenth, kTenths - 1)];
  }

  AssignmentResult finished() {
    const auto decided = static_cast<double>(std::max<std::uint64_t>(result_.decided, 1));
    result_.mean_ms = sum_ns_ / decided / kMillisecond;
    for (double& share : result_.shares) share /= decided;
    for (std::size_t i = 0; i < kTenths; ++i)
      result_.tenths_ms.push_back(tenth_count_[i] > 0 ? tenth_ns_[i] / tenth_count_[i] / kMillisecond : 0);
    return std::move(result_);
  }

  const AssignmentCase& case_;
  assignment::SupervisorMachine machine_;
  assignment::Actions actions_;
  std::vector<State> destinations_;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> ready_;
  std::unordered_map<std::uint64_t, TimeNs> triggered_at_;
  TimeNs now_ = 0;
  double sum_ns_ = 0;
  double tenth_ns_[kTenths] = {};
  double tenth_count_[kTenths] = {};
  AssignmentResult result_;
};

}  // namespace

AssignmentCase rcnp_case() {
  constexpr int kWorkstations = 5;
  constexpr int kServers = 6;
  AssignmentCase one;
  for (int i = 0; i < kWorkstations; ++i)
    one.destinations.push_back({"workstation-" + std::to_string(i), 1, 1});
  for (int i = 0; i < kServers; ++i) one.destinations.push_back({"server-" + std::to_string(i), 3, 2});
  return one;
}

double capacity_hz(const AssignmentCase& one) {
  double processors = 0;
  for (const Destination& destination : one.destinations) processors += destination.processors;
  return processors * kSecond / static_cast<double>(one.fixed_ns + one.random_ns);
}

Expected<AssignmentResult, std::string> simulate(const AssignmentCase& one) {
  assignment::PolicySettings settings;
  settings.name = one.policy;
  for (const Destination& destination : one.destinations) settings.weights.push_back(destination.weight);
  auto policy = assignment::make_policy(settings);
  if (!policy) return Unexpected<std::string>(policy.error().message);
  return Simulation(one, std::move(*policy)).run();
}

}  // namespace weir::bench
