#include "scenario.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace weir::sim {
namespace {

using simnet::Random;

constexpr TimeNs kFirstFault = 10 * kMillisecond;

std::string number(std::int64_t value) { return std::to_string(value); }

std::string seconds(TimeNs ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(ns) / kSecond);
  return text;
}

std::string usual_filter_yaml(Scenario& scenario, Random& random) {
  switch (random.below(6)) {
    case 0:
      scenario.prescale = static_cast<std::uint64_t>(random.between(2, 5));
      return "{plugin: prescale, parameters: {n: " + std::to_string(scenario.prescale) + "}}";
    case 1:
      scenario.two_step = true;
      return "{plugin: two-step}";
    case 2:
      return "{plugin: verify}";
    case 3:
      scenario.filter_errors = true;
      return "{plugin: stumbles, parameters: {every: " + number(random.between(2, 20)) + "}}";
    default:
      return "{plugin: accept-all}";
  }
}

// Uses a separate generator: the rest of a scenario is the same with and without it.
std::string filter_yaml(Scenario& scenario, Random& random) {
  const std::string usual = usual_filter_yaml(scenario, random);
  constexpr std::uint64_t kTag = 0x6b696c6c;
  Random own(scenario.seed ^ kTag);
  if (!own.chance(150)) return usual;
  scenario.prescale = 1;
  scenario.two_step = scenario.filter_errors = false;
  scenario.killers = static_cast<std::uint64_t>(own.between(10, 150));
  return "{plugin: stumbles, parameters: {dies_every: " + std::to_string(scenario.killers) + "}}";
}

constexpr std::uint64_t kWorkersTag = 0x776f726b;

// Uses a separate generator, as filter_yaml(): half of the filters of two steps in workers check their
// state at the second step.
std::string remembering(const std::string& filter, Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x72656d65;
  Random own(scenario.seed ^ kTag);
  if (!scenario.two_step || !own.chance(500) || !Random(scenario.seed ^ kWorkersTag).chance(300))
    return filter;
  scenario.remembers = true;
  return "{plugin: stumbles, parameters: {two_steps: true}}";
}

constexpr std::uint64_t kBurstTag = 0x62757273;

const std::string kTextTriggers = "{mode: network, listen_text: '127.0.0.1:7002'}";

// Likewise.
bool takes_text_triggers(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x74657874;
  Random own(scenario.seed ^ kTag);
  scenario.text_triggers = !scenario.push && scenario.ids == IdOrder::of_the_farm && own.chance(120);
  if (scenario.text_triggers) scenario.clock_slice_ns = 0;
  return scenario.text_triggers;
}

// By a generator of its own, as filter_yaml(): one farm of three keeps data for alerts, in rings that hold
// all of a run or a few slices.
bool has_burst_saver(const Scenario& scenario) {
  return scenario.writers > 0 && Random(scenario.seed ^ kBurstTag).chance(333);
}

// Uses a separate generator, as filter_yaml(): in half of the farms that keep data for alerts, a filter that
// can gives alerts itself.
std::string alerting(const std::string& filter, Scenario& scenario) {
  Random own(scenario.seed ^ kBurstTag ^ 3);
  if (!has_burst_saver(scenario) || !own.chance(500)) return filter;
  const std::string key = "alerts_every: " + number(own.between(1, 40));
  std::string alerts = filter;
  if (filter.find("plugin: accept-all") != filter.npos) {
    alerts = "{plugin: stumbles, parameters: {" + key + "}}";
  } else if (const std::size_t at = filter.find("parameters: {"); filter.find("stumbles") != filter.npos) {
    alerts.insert(at + std::string("parameters: {").size(), key + ", ");
  } else {
    return filter;
  }
  scenario.alerts_every = std::stoull(key.substr(key.find(' ') + 1));
  return alerts;
}

// Uses a separate generator, as filter_yaml(): in half of the farms with filters that end their worker, the
// first death makes a slice poison, so that no death may be blamed on another slice. Their workers are slow,
// so that slices queue behind the one that is processed.
void draw_strict_blame(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x626c616d;
  Random own(scenario.seed ^ kTag);
  scenario.strict_blame = scenario.workers && scenario.killers > 0 && own.chance(500);
  if (!scenario.strict_blame) return;
  const std::string key = "lease_ms: ";
  scenario.farm.insert(scenario.farm.find(key), "attempts_max: 1, ");
}

// Uses a separate generator, as filter_yaml(): three farms in ten run filters in workers. Two tries of a
// slice fit into its lease.
std::string isolated(const std::string& filter, Scenario& scenario, std::int64_t lease_ms) {
  constexpr std::int64_t kShare = 6;
  Random own(scenario.seed ^ kWorkersTag);
  scenario.workers = own.chance(300);
  if (!scenario.workers) return filter;
  const std::int64_t part_ms = lease_ms / kShare;
  scenario.worker_start_ns = part_ms * kMillisecond;
  return filter.substr(0, filter.size() - 1) + ", isolation: worker, timeout_ms: " + number(part_ms) +
         ", workers: {count: " + number(own.between(1, 3)) + ", spare: " + number(own.between(0, 2)) +
         ", start_timeout_ms: " + number(part_ms) + "}}";
}

// By a generator of its own, as filter_yaml(): in six farms of ten a filter of two steps has the second
// step's sources prefetched. The group has every source.
bool prefetches(const Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x61686561;
  Random own(scenario.seed ^ kTag);
  return !scenario.push && own.chance(600);
}
const std::string kGroupOfAll = ", groups: [{name: ahead, ranges: ['0-999999']}]";

std::string with_prefetch(const std::string& filter, const Scenario& scenario) {
  if (!scenario.two_step || !prefetches(scenario)) return filter;
  return filter.substr(0, filter.size() - 1) + ", steps: [{prefetch: [ahead]}]}";
}

// Uses a separate generator, as filter_yaml(). In half of these farms only one plane is cut, and nothing else
// happens.
void draw_planes(Scenario& scenario, std::uint32_t permille) {
  constexpr std::uint64_t kTag = 0x706c6e73;
  Random own(scenario.seed ^ kTag);
  if (!own.chance(permille)) return;
  scenario.planes = own.chance(700) ? 2 : 3;
  scenario.only_planes = own.chance(500);
}

// Addresses of a readout: 127.1.0.1 and so on, for no other process listens there.
void draw_busy(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x6275'7379;
  Random own(scenario.seed ^ kTag);
  scenario.busy = true;
  scenario.push = own.chance(500);
  scenario.patient = scenario.patient || scenario.push;
  scenario.world.slow_permille = static_cast<std::uint32_t>(own.skewed(5, 100));
}

std::string planes_yaml(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x706c6b79;
  if (scenario.planes == 0) return {};
  Random own(scenario.seed ^ kTag);
  const std::int64_t heartbeat_ms = own.skewed(20, 100);
  const std::int64_t misses = own.between(3, 5);
  scenario.plane_bound_ms = heartbeat_ms * misses;
  std::string yaml = ", planes: [";
  for (std::uint32_t plane = 1; plane <= scenario.planes; ++plane)
    yaml += std::string(plane == 1 ? "" : ", ") + "{name: plane-" + number(plane) + ", network: 127." +
            number(plane) + ".0.0/16}";
  return yaml + "], heartbeat_ms: " + number(heartbeat_ms) + ", heartbeat_misses: " + number(misses) +
         ", plane_hold_ms: " +
         number(own.between(std::max<std::int64_t>(scenario.plane_bound_ms, 100), 1000));
}

// Sizes of which a DCM's memory holds fewer fragments than their bytes say.
struct ManySources {
  std::string source;
  std::int64_t fragment_max = 0;
  std::int64_t slice_bytes = 0;  // bytes of a slice in a DCM's memory
  std::int64_t dcm_bytes = 0;
};

// Uses a separate generator, as filter_yaml(): one farm in ten injects faults at rates that hit no fragment.
// Such a farm has to do as well as one without.
std::string harmless_faults(const Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x6661756c;
  Random own(scenario.seed ^ kTag);
  if (!own.chance(100)) return {};
  return ", faults: [{drop: 1e-12, delay: 1e-12, reorder: 1e-12, duplicate: 1e-12, truncate: 1e-12, corrupt: "
         "1e-12}]";
}

// Uses a separate generator, as filter_yaml(): one farm in twenty.
ManySources draw_many_sources(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x6d616e79;
  constexpr std::int64_t kPage = 16 * 1024;
  Random own(scenario.seed ^ kTag);
  scenario.many_sources = own.chance(50);
  if (!scenario.many_sources) return {};
  const bool tiny = own.chance(700);
  const std::int64_t sources = tiny ? own.skewed(300, 5000) : own.between(300, 400);
  scenario.sources = static_cast<std::uint32_t>(sources / scenario.readouts);
  scenario.slices = static_cast<std::uint64_t>(tiny ? own.between(20, 60) : own.between(8, 16));
  const std::int64_t least = tiny ? own.between(0, 19) : kPage - own.between(0, 200);
  const std::int64_t most = tiny ? own.between(least, 20) : kPage + own.between(0, 200);
  ManySources many;
  many.fragment_max = most;
  many.slice_bytes = sources * (most + 8);
  many.dcm_bytes = many.slice_bytes * own.between(3, 12) / 2;
  many.source = "{kind: dummy, distribution: uniform, size_bytes_min: " + number(least) +
                ", size_bytes_max: " + number(most) + "}";
  return many;
}

DurationNs event_period(const Scenario& scenario) {
  return std::max<DurationNs>(kMillisecond / 2,
                              scenario.faults_end_ns / static_cast<DurationNs>(scenario.slices));
}

constexpr std::uint64_t kTidyTag = 0x74696479;

// Uses a separate generator, as filter_yaml(): three in ten of the farms by number. In half of these a narrow
// counter joins when it cannot be placed any more.
void draw_tidy(Scenario& scenario) {
  constexpr std::int64_t kHalf = 128;  // of the range of 8 bits
  FrontEndPlan& plan = scenario.front_ends;
  Random own(scenario.seed ^ kTidyTag);
  if (plan.kind != FrontEnds::number || !own.chance(300)) return;
  const auto sources = static_cast<std::int64_t>(scenario.readouts) * scenario.sources;
  plan.tidy = true;
  plan.lost_permille = plan.late_permille = 0;
  plan.slipped = plan.late_source = 0;
  if (sources > 1 && own.chance(500)) {
    plan.counter_bits = 8;
    plan.late_source = static_cast<std::uint32_t>(own.between(1, sources));
    plan.joins_at = static_cast<std::uint64_t>(own.between(kHalf + 92, kHalf + 170));
    scenario.slices = plan.joins_at + static_cast<std::uint64_t>(own.between(60, 120));
    plan.period_ns = event_period(scenario);
  }
  plan.delay_max_ns = std::min(plan.delay_max_ns, plan.period_ns / 2);
  if (plan.tolerance_ns > 0) plan.tolerance_ns = plan.period_ns / 5;
  if (plan.late_source != 0 || !own.chance(500)) return;
  constexpr DurationNs kDelayMax = 100 * kMillisecond;
  plan.counter_bits = std::max(plan.counter_bits, 16U);
  plan.delay_max_ns = std::min(own.between(1, 4) * plan.period_ns, kDelayMax);
  plan.skew_ns = plan.delay_max_ns + own.between(20, 100) * kMillisecond;
}

// Uses a separate generator, as filter_yaml(). Sources are numbered from 1.
void draw_front_ends(Scenario& scenario, const ScenarioLimits& limits) {
  constexpr std::uint64_t kTag = 0x66656e64;
  constexpr std::uint32_t kWidths[] = {8, 16, 48, 64};
  Random own(scenario.seed ^ kTag);
  if (!own.chance(limits.front_ends_permille)) return;
  FrontEndPlan& plan = scenario.front_ends;
  plan.kind = static_cast<FrontEnds>(own.between(1, 4));
  if (limits.front_ends_kind != FrontEnds::none) plan.kind = limits.front_ends_kind;
  plan.seed = own.next();
  const auto sources = static_cast<std::int64_t>(scenario.readouts) * scenario.sources;
  const auto any_source = [&] { return static_cast<std::uint32_t>(own.between(1, sources)); };
  const auto any_event = [&] {
    return static_cast<std::uint64_t>(own.between(8, static_cast<std::int64_t>(scenario.slices) - 5));
  };
  plan.period_ns = event_period(scenario);
  plan.delay_max_ns = own.skewed(10 * kMicrosecond, 5 * kMillisecond);
  plan.counter_bits = kWidths[own.below(std::size(kWidths))];
  plan.lost_permille = own.chance(400) ? static_cast<std::uint32_t>(own.between(1, 50)) : 0;
  plan.late_permille = own.chance(300) ? static_cast<std::uint32_t>(own.between(1, 50)) : 0;
  plan.late_ns = own.skewed(kMillisecond, 2 * kSecond);
  if (own.chance(300)) plan.shifted_source = any_source();
  plan.counter_offset = own.between(-20, 20);
  plan.clock_offset_ns = own.between(-30'000, 30'000) * kMicrosecond;
  plan.long_pieces = own.chance(300);
  if (plan.kind == FrontEnds::time) return;
  plan.skew_ns = own.between(2, 100) * kMillisecond;
  if (plan.kind == FrontEnds::number && own.chance(200)) {
    plan.late_source = any_source();
    plan.joins_at = any_event();
  }
  plan.counters = plan.kind != FrontEnds::number && own.chance(700);
  if (!plan.counters || own.chance(500)) plan.tolerance_ns = plan.period_ns / 5;
  if (!own.chance(700) && plan.kind != FrontEnds::dummies) return;
  using Kind = emulation::SlipKind;
  constexpr Kind kKinds[] = {Kind::miss, Kind::twice, Kind::restart, Kind::jump, Kind::lag};
  plan.slipped = any_source();
  plan.slips_at = any_event();
  plan.slip = kKinds[own.below(plan.kind == FrontEnds::trigger ? 5 : 4)];
  plan.jump = plan.kind == FrontEnds::dummies ? emulation::Slip::kJump
                                              : 1ULL << own.below(std::min(plan.counter_bits, 40U));
  plan.policy = static_cast<SlipPolicy>(own.below(3));
  const bool deliver = plan.kind != FrontEnds::dummies;
  // Realigning by a counter that is wrong moves data that were right.
  const bool may_move = deliver && (plan.slip == Kind::lag || plan.kind == FrontEnds::number);
  const bool by_times = plan.kind != FrontEnds::number || plan.tolerance_ns > 0;
  if (plan.policy == SlipPolicy::realign && (!may_move || !by_times || scenario.push))
    plan.policy = SlipPolicy::mark;
}

std::string front_end_offsets(const FrontEndPlan& plan) {
  if (plan.shifted_source == 0 || plan.kind == FrontEnds::dummies) return "";
  const std::string counter = plan.kind == FrontEnds::time ? "" : ", counter: " + number(plan.counter_offset);
  return ", offsets: [{sources: [" + number(plan.shifted_source) +
         "], time_us: " + number(plan.clock_offset_ns / kMicrosecond) + counter + "}]";
}

// The sections `build`, `trigger` and `source` of a farm with such front-ends.
std::string front_ends_yaml(Scenario& scenario, const std::string& groups) {
  constexpr std::uint64_t kTag = 0x66656e79;
  constexpr const char* kPolicies[] = {"mark", "mask", "realign"};
  constexpr const char* kSlips[] = {"none", "miss", "twice", "restart", "jump", "lag"};
  const FrontEndPlan& plan = scenario.front_ends;
  Random own(scenario.seed ^ kTag);
  const auto us = [](DurationNs ns) { return number(ns / kMicrosecond); };
  scenario.clock_slice_ns = 0;
  const std::string offsets = front_end_offsets(plan);
  const std::string rate = "trigger: {mode: rate, rate_hz: " + number(kSecond / plan.period_ns) + "}\n";
  const std::string policy =
      std::string(", on_out_of_step: ") + kPolicies[static_cast<std::size_t>(plan.policy)];
  const std::string times =
      plan.tolerance_ns > 0 ? ", time_tolerance_us: " + us(plan.tolerance_ns) : std::string();
  const std::string source = "source: {kind: plugin, plugin: front-ends, wait_ms: ";
  const std::string wait = number(own.between(200, 1500)) + groups + "}\n";
  switch (plan.kind) {
    case FrontEnds::dummies:
      return rate + "build: {by: trigger, counter_bits: " + number(plan.counters ? plan.counter_bits : 0) +
             times + policy + "}\n" + "source: {kind: dummy, size_bytes: 300" + groups +
             ", faults: [{sources: [" + number(plan.slipped) +
             "], slip: " + kSlips[static_cast<std::size_t>(plan.slip)] +
             ", slip_at: " + number(static_cast<std::int64_t>(plan.slips_at)) + "}]}\n";
    case FrontEnds::trigger:
      return rate + "build: {by: trigger, counter_bits: " + number(plan.counters ? plan.counter_bits : 0) +
             times + policy + offsets + "}\n" + source + wait;
    case FrontEnds::number:
      return "build: {by: number, counter_bits: " + number(plan.counter_bits) + times + policy + offsets +
             ", skew_ms: " + number(plan.skew_ns / kMillisecond) + "}\n" + source + wait;
    default:
      break;
  }
  const bool events = own.chance(300);
  const std::int64_t width_us = plan.period_ns / kMicrosecond * own.between(1, 8);
  scenario.clock_slice_ns =
      events ? 0 : std::max<DurationNs>(1, 4 * plan.period_ns / kMillisecond) * kMillisecond;
  const std::string ring = ", ring_bytes: " + number(own.skewed(65'536, 4'000'000));
  if (events)
    return rate + "build: {by: time, before_us: " + number(width_us / 2) + ", after_us: " + number(width_us) +
           ring + offsets + "}\n" + source + wait;
  const std::int64_t slice_us = scenario.clock_slice_ns / kMicrosecond;
  return "trigger: {mode: clock, slice_ms: " + number(slice_us / 1000) +
         "}\nbuild: {by: time, overlap_us: " + number(own.chance(300) ? 0 : own.between(1, slice_us)) + ring +
         offsets + "}\n" + source + wait;
}

std::string source_yaml(Random& random) {
  constexpr const char* kDistributions[] = {"fixed", "uniform", "exponential"};
  const std::string mean = number(random.skewed(16, 1500));
  return std::string("{kind: dummy, distribution: ") + kDistributions[random.below(3)] +
         ", size_bytes: " + mean + ", size_bytes_max: 3000}";
}

std::string trigger_yaml(Scenario& scenario, Random& random) {
  const auto lasts_ms = scenario.faults_end_ns / kMillisecond;
  const std::string rate = number(static_cast<std::int64_t>(scenario.slices) * 1000 / lasts_ms + 1);
  if (scenario.push) return "{mode: rate, rate_hz: " + rate + "}";
  switch (random.below(8)) {
    case 0:
      return "{mode: max}";
    case 1:
      return "{mode: poisson, rate_hz: " + rate + ", seed: " + number(random.between(1, 1000)) + "}";
    case 2: {
      const std::int64_t slice_ms = lasts_ms / static_cast<std::int64_t>(scenario.slices) + 1;
      scenario.clock_slice_ns = slice_ms * kMillisecond;
      return "{mode: clock, slice_ms: " + number(slice_ms) + "}";
    }
    default:
      return "{mode: rate, rate_hz: " + rate + "}";
  }
}

const std::string kTriggersFromOutside = "{mode: network, listen: '127.0.0.1:7001'}";

// Uses a separate generator: the rest of a scenario is the same with and without it.
bool ids_from_outside(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x69647366;
  Random own(scenario.seed ^ kTag);
  if (scenario.push || !own.chance(150)) return false;
  scenario.ids = static_cast<IdOrder>(own.between(1, 3));
  scenario.clock_slice_ns = 0;
  return true;
}

// By a generator of its own, as filter_yaml(): one farm of four with several DCMs is split, and its filter
// forwards half of the slices, whatever filter was drawn.
void draw_groups(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x73706c69;
  Random own(scenario.seed ^ kTag);
  if (!own.chance(250) || scenario.push || scenario.dcms < 2) return;
  if (scenario.dcms == 3 && own.chance(400)) {
    scenario.groups = own.chance(500) ? std::vector<std::uint32_t>{1, 2} : std::vector<std::uint32_t>{2, 1};
  } else {
    scenario.groups.assign(scenario.dcms, 1);
  }
  scenario.killers = own.chance(150) ? static_cast<std::uint64_t>(own.between(10, 150)) : 0;
  scenario.killer_group = own.below(scenario.groups.size());
  scenario.remote = own.chance(500) && scenario.planes == 0;
  if (scenario.remote) scenario.remote_lease_ms = own.skewed(100, 8000);
}

// Half of the split farms move built slices; with planes, half of these through the first plane.
void draw_fetch(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x66657463;
  Random own(scenario.seed ^ kTag);
  scenario.fetches = !scenario.groups.empty() && own.chance(500);
  scenario.fetches_in_plane = scenario.fetches && scenario.planes > 0 && own.chance(500);
}

std::string remote_keys(const Scenario& scenario) {
  return scenario.remote ? ", remote: true, lease_ms: " + std::to_string(scenario.remote_lease_ms) : "";
}

// Slices go from each group to the next one: all groups but the last select and forward, the last decides.
std::string groups_yaml(const Scenario& scenario) {
  std::string nodes;
  std::string groups;
  std::uint32_t dcm = 0;
  for (std::size_t group = 0; group < scenario.groups.size(); ++group) {
    const std::string name = "group-" + std::to_string(group);
    for (std::uint32_t i = 0; i < scenario.groups[group]; ++i, ++dcm)
      nodes +=
          std::string(dcm == 0 ? "" : ", ") + "{name: dcm-" + std::to_string(dcm) + ", group: " + name + "}";
    const bool last = group + 1 == scenario.groups.size();
    const std::string next = "group-" + std::to_string(group + 1);
    std::string filter = scenario.killers > 0 && group == scenario.killer_group
                             ? "dies_every: " + std::to_string(scenario.killers)
                             : "";
    if (!last) filter += std::string(filter.empty() ? "" : ", ") + "to: " + next;
    groups += std::string(group == 0 ? "" : ", ") + "{name: " + name +
              ", filter: {plugin: stumbles, parameters: {" + filter + "}}" +
              (last ? remote_keys(scenario) : ", forward: [" + next + "]") +
              (group > 0 && scenario.fetches ? ", fetch: builder" : "") + "}";
  }
  return "nodes: [" + nodes + "], groups: [" + groups + "]";
}

// Half of the farms with short deadlines: requests may fill a strict quota while no readout can answer, which
// ends with the deadline.
std::string strict_yaml(const Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x7374'7269'6374;
  Random own(scenario.seed ^ kTag);
  return !scenario.patient && own.chance(500) ? ", window_strict: true" : "";
}

// In some farms few slices may be active, so that slices are pushed out.
std::string order_yaml(const Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x6f726472;
  Random own(scenario.seed ^ kTag);
  if (!own.chance(400) && !scenario.busy) return {};
  constexpr std::int64_t kAll = 1000;
  const std::int64_t active = own.skewed(1, 20);
  return ", incomplete: order, push_active_slices: " + number(scenario.busy ? kAll : active);
}

std::string dcm_yaml(Scenario& scenario, const ManySources& many, Random& random) {
  constexpr const char* kShapers[] = {"none", "byte-credits", "fragment-credits", "diatcp", "adaptive"};
  constexpr const char* kOrders[] = {"completed", "id"};
  std::string yaml =
      "{" + (scenario.groups.empty() ? "count: " + number(scenario.dcms) : groups_yaml(scenario));
  const std::int64_t credits = random.skewed(2, 40);
  yaml += ", credits: " + number(credits);
  yaml += std::string(", shaper: ") + kShapers[random.below(std::size(kShapers))];
  const std::int64_t window_bytes = random.skewed(2048, 200'000);
  yaml += ", window_bytes: " + number(window_bytes);
  const std::int64_t window_fragments = random.skewed(4, 64);
  yaml += ", window_fragments: " + number(window_fragments) + strict_yaml(scenario);
  const std::int64_t window = std::min(window_bytes, window_fragments * many.fragment_max);
  scenario.windows =
      static_cast<std::uint64_t>(many.slice_bytes / std::max<std::int64_t>(window, 1)) * scenario.slices;
  if (random.chance(400)) yaml += ", range_bytes: " + number(random.skewed(200, 4000));
  const std::size_t order = random.below(2);
  // With `order: id` an id below one that was given is vetoed, which a client with ids of its own does not
  // expect.
  yaml += std::string(", order: ") + kOrders[scenario.ids == IdOrder::of_the_farm ? order : 0];
  yaml += ", fragment_bytes_max: " + number(std::max<std::int64_t>(8000, many.fragment_max));
  const std::int64_t buffer_bytes = 1 << random.between(19, 21);
  yaml += ", buffer_bytes: " + number(std::max(buffer_bytes, many.dcm_bytes));
  // A farm file with less than the credits, or in order less than twice as many, is refused.
  const std::string in_order = scenario.push ? order_yaml(scenario) : "";
  yaml +=
      ", slices_max: " + number(std::max(in_order.empty() ? credits : 2 * credits, random.skewed(8, 200)));
  // A deadline has to leave time for a move to another plane.
  constexpr std::int64_t kLongMs = 20'000;
  const std::int64_t least_ms = scenario.only_planes ? kLongMs : 2 * scenario.plane_bound_ms;
  yaml += ", deadline_ms: " +
          number(scenario.patient ? 600'000 : std::max<std::int64_t>(random.skewed(20, 3000), least_ms));
  constexpr std::int64_t kGraceMs = 4000;
  const std::int64_t usual_ms = scenario.patient ? 600'000 : random.skewed(0, 2000);
  const std::int64_t grace_ms = scenario.only_planes ? kGraceMs : usual_ms;
  scenario.grace_ns = grace_ms * kMillisecond;
  yaml += ", grace_ms: " + number(grace_ms);
  constexpr std::int64_t kLongWaitMs = 10'000;  // half a lease
  const std::int64_t wait_ms = scenario.push ? random.skewed(10, 500) : 0;
  if (scenario.push) yaml += ", push_wait_ms: " + number(scenario.busy ? kLongWaitMs : wait_ms) + in_order;
  if (scenario.fetches_in_plane) yaml += ", host: 127.1.0.1";
  return yaml + "}";
}

void write_farm(Scenario& scenario, const ManySources& many, Random& random) {
  std::string& yaml = scenario.farm;
  yaml = "farm: sim\n";
  // Without a settled slice; one of 6 MB may take 100 s where requests are short and lines slow.
  const std::string drain_timeout_s = scenario.many_sources ? "600" : "60";
  yaml += "run: {out: /sim, slices: " + number(static_cast<std::int64_t>(scenario.slices)) +
          ", drain_timeout_s: " + drain_timeout_s + ", mode: " + (scenario.push ? "push" : "pull") + "}\n";
  yaml += "network: {reconnect_ms: " + number(random.skewed(5, 300)) +
          ", hello_timeout_ms: " + number(random.skewed(200, 3000)) + planes_yaml(scenario) + "}\n";
  const std::string own_triggers = trigger_yaml(scenario, random);
  const bool front_ends = scenario.front_ends.kind != FrontEnds::none;
  const std::string triggers = "trigger: " +
                               (front_ends                      ? ""
                                : ids_from_outside(scenario)    ? kTriggersFromOutside
                                : takes_text_triggers(scenario) ? kTextTriggers
                                                                : own_triggers) +
                               "\n";
  std::string source = source_yaml(random);
  if (scenario.many_sources) source = many.source;
  source.insert(source.size() - 1, harmless_faults(scenario));
  const std::string groups = prefetches(scenario) ? kGroupOfAll : "";
  source.insert(source.size() - 1, groups);
  yaml += front_ends ? front_ends_yaml(scenario, groups) : triggers + "source: " + source + "\n";
  // The farm passes no number over where a narrow counter joins.
  constexpr std::int64_t kRoom = 4 << 20;
  constexpr std::int64_t kManySlices = 5000;
  const bool tidy = scenario.front_ends.tidy && scenario.front_ends.late_source != 0;
  yaml +=
      "readout: {count: " + number(scenario.readouts) + (scenario.planes > 0 ? ", host: 127.1.0.1" : "") +
      ", sources_per_readout: " + number(scenario.sources) + ", buffer_bytes: " +
      number(std::max({std::int64_t{1} << random.between(18, 22), 2 * many.slice_bytes, tidy ? kRoom : 0})) +
      (front_ends && scenario.push ? ", shaper: direct}\n" : "}\n");
  const std::int64_t lease_ms = scenario.patient ? 20'000 : random.skewed(100, 5000);
  yaml += "supervisor: {listen: '127.0.0.1:7000', lease_ms: " + number(lease_ms) +
          ", status_interval_ms: 250, in_flight_max: " +
          number(std::max(random.skewed(4, 500), tidy ? kManySlices : 0)) +
          ", pending_max: " + number(std::max(random.skewed(1, 200), tidy ? kManySlices : 0)) + "}\n";
  draw_groups(scenario);
  draw_fetch(scenario);
  const std::uint64_t killers = scenario.killers;
  yaml += "dcm: " + dcm_yaml(scenario, many, random) + "\n";
  std::string usual = filter_yaml(scenario, random);
  // Data out of step are not what `verify` expects.
  if (front_ends && usual.find("verify") != usual.npos) usual = "{plugin: accept-all}";
  const std::string filter = alerting(remembering(usual, scenario), scenario);
  yaml += "filter: " + isolated(with_prefetch(filter, scenario), scenario, lease_ms) + "\n";
  if (!scenario.groups.empty()) {  // whose filters are others
    scenario.killers = killers;
    scenario.prescale = 2;
    scenario.two_step = scenario.filter_errors = scenario.remembers = false;
    scenario.alerts_every = 0;
  }
  draw_strict_blame(scenario);
  yaml += "writer: {count: " + number(scenario.writers) +
          ", buffer_bytes: " + number(1 << random.between(18, 21)) +
          ", sync_interval_ms: " + number(random.skewed(1, 200)) +
          ", sync_bytes: " + number(random.skewed(1000, 1'000'000)) +
          (random.chance(500) ? ", file_bytes_max: " + number(random.skewed(20'000, 500'000)) : "") + "}\n";
}

// Half of the rings have a disk, which in some farms is slow or fails.
void add_burst_saver(Scenario& scenario) {
  Random own(scenario.seed ^ kBurstTag ^ 1);
  const std::int64_t bytes = own.skewed(20'000, 4'000'000);
  scenario.farm += "burst: {buffer_bytes: " + number(bytes) +
                   ", save_bytes_per_s: " + number(own.skewed(100'000, 10'000'000)) +
                   ", frozen_share: " + (own.chance(300) ? "0.3" : "0.9") + ", filter_alert_s: ";
  scenario.filter_alerts_apart = own.chance(300) ? 0 : 300 * kMillisecond;
  scenario.farm += scenario.filter_alerts_apart > 0 ? "0.3" : "0";
  if (own.chance(500)) {
    scenario.farm += ", folder: /sim, disk_bytes: " + number(bytes + own.skewed(1000, 4'000'000));
    scenario.ring_disk_ns_max = own.skewed(100 * kMicrosecond, 200 * kMillisecond);
    if (own.chance(300)) scenario.ring_disk_fails_permille = own.chance(200) ? 1000 : 100;
  }
  scenario.farm += "}\n";
}

void add_bursts(Scenario& scenario) {
  Random own(scenario.seed ^ kBurstTag ^ 2);
  for (std::int64_t alerts = own.between(1, 6); alerts > 0; --alerts) {
    Fault fault;
    fault.kind = FaultKind::burst;
    fault.who = "supervisor";
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns + kSecond / 2);
    fault.amount = own.skewed(1, 4000);
    fault.lasts_ns = own.skewed(0, 2000) * kMillisecond;
    scenario.faults.push_back(fault);
  }
}

class FaultDraw {
 public:
  FaultDraw(const Scenario& scenario, const ScenarioLimits& limits, Random& random)
      : scenario_(scenario), limits_(limits), random_(random) {}

  Fault draw() {
    Fault fault;
    fault.at_ns = random_.between(kFirstFault, scenario_.faults_end_ns);
    if (limits_.together_permille > 0 && !scenario_.faults.empty() &&
        random_.chance(limits_.together_permille))
      fault.at_ns = scenario_.faults.back().at_ns + random_.skewed(0, 100 * kMillisecond);
    fault.kind = kind();
    const bool disk = fault.kind == FaultKind::slow_disk || fault.kind == FaultKind::full_disk ||
                      fault.kind == FaultKind::disk_error;
    if (disk && scenario_.writers == 0) fault.kind = FaultKind::stall;
    switch (fault.kind) {
      case FaultKind::break_connections:
      case FaultKind::silence:
        choose_pair(fault);
        fault.lasts_ns = random_.skewed(kMillisecond, 4 * kSecond);
        break;
      case FaultKind::kill:
      case FaultKind::lose_machine:
        fault.who = mortal();
        // Its journal is not synced: with its machine the run would be lost.
        if (fault.who == "supervisor") fault.kind = FaultKind::kill;
        fault.lasts_ns = random_.skewed(kMillisecond, 3 * kSecond);
        fault.amount = random_.between(0, 1);
        break;
      case FaultKind::stall:
      case FaultKind::refuse:
        fault.who = anyone();
        fault.lasts_ns = random_.skewed(kMillisecond, 5 * kSecond);
        break;
      case FaultKind::jump_utc:
        fault.who = anyone();
        fault.amount = random_.between(-20 * kSecond, 20 * kSecond);
        break;
      case FaultKind::slow_disk:
        fault.who = writer();
        fault.lasts_ns = random_.skewed(10 * kMillisecond, 4 * kSecond);
        fault.amount = random_.skewed(kMillisecond, 500 * kMillisecond);
        break;
      case FaultKind::full_disk:
        fault.who = writer();
        fault.lasts_ns = random_.skewed(10 * kMillisecond, 4 * kSecond);
        fault.amount = random_.skewed(0, 100'000);
        break;
      case FaultKind::disk_error:
        fault.who = writer();
        break;
      case FaultKind::drain:  // these do not happen to a farm: see add_commands()
      case FaultKind::pause:
      case FaultKind::partition:  // see add_partitions()
      case FaultKind::burst:      // see add_bursts()
      case FaultKind::flip:       // see add_flips()
      case FaultKind::cut:        // see add_cuts()
        break;
    }
    return fault;
  }

  FaultKind kind() {
    const auto& weights = limits_.weights;
    std::uint64_t drawn = random_.below(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    std::size_t kind = 0;
    while (drawn >= weights[kind]) drawn -= weights[kind++];
    return static_cast<FaultKind>(kind);
  }

  // Any but the supervisor's.
  std::string machine() {
    const auto one = mortal();
    return one == "supervisor" ? dcm() : one;
  }

 private:
  std::string readout() { return "readout-" + std::to_string(random_.below(scenario_.readouts)); }
  std::string dcm() { return "dcm-" + std::to_string(random_.below(scenario_.dcms)); }
  std::string writer() { return "writer-" + std::to_string(random_.below(scenario_.writers)); }
  std::string mortal() {
    if (limits_.supervisor_dies && random_.chance(limits_.supervisor_permille)) return "supervisor";
    switch (random_.below(scenario_.writers > 0 ? 3 : 2)) {
      case 0:
        return readout();
      case 1:
        return dcm();
      default:
        return writer();
    }
  }
  std::string anyone() { return random_.chance(200) ? "supervisor" : mortal(); }
  void choose_pair(Fault& fault) {
    fault.who = dcm();
    switch (random_.below(4)) {
      case 0:
        fault.other = "supervisor";
        break;
      case 1:
        fault.other = scenario_.writers > 0 ? writer() : readout();
        break;
      case 2:
        fault.other = readout();
        break;
      default:
        fault.who = mortal();
        fault.other = "supervisor";
        break;
    }
    if (random_.chance(500)) std::swap(fault.who, fault.other);
  }

  const Scenario& scenario_;
  const ScenarioLimits& limits_;
  Random& random_;
};

// Adds run control's commands. Only the first node of each role is removed, so that others remain.
void add_commands(Scenario& scenario, Random& random) {
  const auto count = static_cast<std::size_t>(random.between(1, 3));
  for (std::size_t i = 0; i < count; ++i) {
    Fault command;
    command.kind = FaultKind::drain;
    command.at_ns = random.between(kFirstFault, scenario.faults_end_ns);
    command.lasts_ns = random.skewed(kMillisecond, 3 * kSecond);
    const std::uint64_t role = random.below(4);
    if (role == 0 && scenario.readouts > 1) {
      command.who = "readout-0";
    } else if (role == 1 && scenario.dcms > 1) {
      command.who = "dcm-0";
    } else if (role == 2 && scenario.writers > 1) {
      command.who = "writer-0";
    } else {
      command.kind = FaultKind::pause;
      command.who = "supervisor";
    }
    scenario.faults.push_back(command);
  }
}

void set_weight(std::string_view text, ScenarioLimits& limits) {
  constexpr std::uint32_t kWeightMax = 1000;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view value = text.substr(std::min(text.size(), equals + 1));
  std::uint32_t weight = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), weight);
  const bool is_number =
      parsed.ec == std::errc() && parsed.ptr == value.data() + value.size() && weight <= kWeightMax;
  // Partitions are drawn after all else, and are more or less of the farms.
  if (is_number && text.substr(0, equals) == name(FaultKind::partition)) {
    limits.partition_permille = std::min<std::uint32_t>(1000, ScenarioLimits().partition_permille * weight);
    return;
  }
  std::string kinds = name(FaultKind::partition);
  for (std::size_t i = 0; i < limits.weights.size(); ++i) {
    const std::string_view kind = name(static_cast<FaultKind>(i));
    kinds += ", " + std::string(kind);
    if (kind != text.substr(0, equals) || !is_number) continue;
    limits.weights[i] = weight;
    return;
  }
  throw std::runtime_error("--rates '" + std::string(text) +
                           "': want normal, hard, front-ends, by-trigger, by-number, by-time, planes, busy "
                           "or KIND=WEIGHT (0 to 1000), "
                           "KIND one of " +
                           kinds);
}

// Any two nodes, or a DCM and all readouts; in both directions or one. Nodes that exchange no messages are
// not disturbed.
void add_partitions(Scenario& scenario, Random& random) {
  std::vector<std::string> nodes{"supervisor"};
  const auto add = [&](const char* role, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) nodes.push_back(role + std::to_string(i));
  };
  add("readout-", scenario.readouts);
  add("dcm-", scenario.dcms);
  add("writer-", scenario.writers);
  const std::int64_t count = random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = random.chance(700) ? FaultKind::partition : FaultKind::silence;
    fault.at_ns = random.between(kFirstFault, scenario.faults_end_ns);
    fault.lasts_ns = random.skewed(10 * kMillisecond, 6 * kSecond);
    if (random.chance(400)) {
      fault.who = "dcm-" + std::to_string(random.below(scenario.dcms));
      const bool swap = random.chance(500);
      for (std::uint32_t readout = 0; readout < scenario.readouts; ++readout) {
        Fault& one = scenario.faults.emplace_back(fault);
        one.other = "readout-" + std::to_string(readout);
        if (swap) std::swap(one.who, one.other);
      }
      continue;
    }
    const std::size_t one = random.below(nodes.size());
    const std::size_t other = (one + 1 + random.below(nodes.size() - 1)) % nodes.size();
    fault.who = nodes[one];
    fault.other = nodes[other];
    scenario.faults.push_back(fault);
  }
}

// Connections between DCMs that forward slices and DCMs that fetch them break or fall silent.
void disturb_fetches(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x66627265;
  Random own(scenario.seed ^ kTag);
  if (!scenario.fetches || !own.chance(700)) return;
  for (std::int64_t faults = own.between(1, 4); faults > 0; --faults) {
    Fault fault;
    fault.kind = own.chance(600) ? FaultKind::break_connections : FaultKind::partition;
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns);
    fault.lasts_ns = own.skewed(100 * kMillisecond, 4 * kSecond);
    const std::uint64_t keeper = own.below(scenario.groups.front());
    const std::uint64_t later = scenario.groups.front() + own.below(scenario.dcms - scenario.groups.front());
    fault.who = "dcm-" + std::to_string(keeper);
    fault.other = "dcm-" + std::to_string(later);
    scenario.faults.push_back(fault);
    if (fault.kind == FaultKind::partition && own.chance(500)) {
      std::swap(fault.who, fault.other);
      scenario.faults.push_back(fault);
    }
  }
}

// Bits are flipped between DCMs that forward slices and DCMs that fetch them.
void flip_fetches(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x66666c70;
  Random own(scenario.seed ^ kTag);
  if (!scenario.fetches || scenario.patient || !own.chance(800)) return;
  scenario.world.flips = true;
  for (std::int64_t flips = own.between(1, 4); flips > 0; --flips) {
    Fault fault;
    fault.kind = FaultKind::flip;
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns / 2);
    fault.lasts_ns = own.between(500 * kMillisecond, 3 * kSecond);
    fault.amount = own.between(50, 500);
    const std::uint64_t keeper = own.below(scenario.groups.front());
    const std::uint64_t later = scenario.groups.front() + own.below(scenario.dcms - scenario.groups.front());
    fault.who = "dcm-" + std::to_string(keeper);
    fault.other = "dcm-" + std::to_string(later);
    if (own.chance(250)) std::swap(fault.who, fault.other);
    scenario.faults.push_back(fault);
  }
}

// By a generator of its own, as filter_yaml(): bits are flipped on their way in one farm of eleven,
// where deadlines end.
void add_flips(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x666c6970;
  Random own(scenario.seed ^ kTag);
  if (!own.chance(150) || scenario.patient) return;
  scenario.world.flips = true;
  const auto pick = [&own](const char* role, std::uint32_t count) {
    return role + std::to_string(own.below(count));
  };
  for (std::int64_t flips = own.between(1, 3); flips > 0; --flips) {
    Fault fault;
    fault.kind = FaultKind::flip;
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns);
    fault.lasts_ns = own.skewed(10 * kMillisecond, 3 * kSecond);
    fault.amount = own.skewed(1, 200);
    fault.who = pick("readout-", scenario.readouts);
    fault.other = pick("dcm-", scenario.dcms);
    if (own.chance(300)) fault.other = "supervisor";
    if (own.chance(300)) fault.who = pick("dcm-", scenario.dcms);
    if (fault.who.starts_with("dcm") && fault.other.starts_with("dcm"))
      fault.other = scenario.writers > 0 ? pick("writer-", scenario.writers) : "supervisor";
    if (own.chance(250)) std::swap(fault.who, fault.other);
    scenario.faults.push_back(fault);
  }
}

// Of one plane or of any; a whole plane, or of one process in it; now and then many in succession.
void add_cuts(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x63757473;
  if (scenario.planes == 0) return;
  Random own(scenario.seed ^ kTag);
  if (scenario.only_planes)
    std::erase_if(scenario.faults, [](const Fault& fault) { return fault.kind != FaultKind::burst; });
  const std::uint64_t first = own.below(scenario.planes);
  const bool flaps = own.chance(400);
  const std::int64_t most = flaps ? kSecond / 2 : 4 * kSecond;
  for (std::int64_t cuts = flaps ? own.between(4, 12) : own.between(1, 4); cuts > 0; --cuts) {
    Fault fault;
    fault.kind = FaultKind::cut;
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns);
    fault.lasts_ns = own.skewed(10 * kMillisecond, most);
    fault.amount = static_cast<std::int64_t>(scenario.only_planes ? first : own.below(scenario.planes));
    if (own.chance(500)) {
      for (std::uint32_t readout = 0; readout < scenario.readouts; ++readout) {
        fault.who = "readout-" + std::to_string(readout);
        scenario.faults.push_back(fault);
      }
      for (std::uint32_t dcm = 0; scenario.fetches_in_plane && dcm < scenario.dcms; ++dcm) {
        fault.who = "dcm-" + std::to_string(dcm);
        scenario.faults.push_back(fault);
      }
    } else {
      const bool readout = own.chance(500);
      fault.who = readout ? "readout-" + std::to_string(own.below(scenario.readouts))
                          : "dcm-" + std::to_string(own.below(scenario.dcms));
      if (!readout && own.chance(500)) fault.other = kCarrier;
      scenario.faults.push_back(fault);
    }
  }
}

// No fault hits the readouts. The supervisor only dies, and not where a front-end joins late.
void keep_tidy(Scenario& scenario, const ScenarioLimits& limits) {
  Random own(scenario.seed ^ kTidyTag ^ 1);
  scenario.world.tail_permille = 0;
  std::erase_if(scenario.faults, [](const Fault& fault) {
    const auto stays = [](const std::string& who) {
      return !who.starts_with("readout") && who != "supervisor";
    };
    return fault.kind != FaultKind::burst && (!stays(fault.who) || !stays(fault.other));
  });
  if (scenario.front_ends.late_source != 0 || !limits.supervisor_dies) return;
  for (std::int64_t deaths = own.between(1, 4); deaths > 0; --deaths) {
    Fault fault;
    fault.kind = FaultKind::kill;
    fault.who = "supervisor";
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns);
    fault.lasts_ns = own.skewed(kMillisecond, kSecond);
    fault.amount = own.between(0, 1);
    scenario.faults.push_back(fault);
  }
}

// The line of a remote group is cut: none of its DCMs reaches a node outside, or no readout.
void cut_line(Scenario& scenario) {
  constexpr std::uint64_t kTag = 0x6c696e65;
  Random own(scenario.seed ^ kTag);
  if (!scenario.remote || !own.chance(700)) return;
  std::vector<std::string> home;
  for (std::uint32_t i = 0; i < scenario.readouts; ++i) home.push_back("readout-" + std::to_string(i));
  if (own.chance(600)) {
    home.emplace_back("supervisor");
    for (std::uint32_t i = 0; i < scenario.dcms - scenario.groups.back(); ++i)
      home.push_back("dcm-" + std::to_string(i));
    for (std::uint32_t i = 0; i < scenario.writers; ++i) home.push_back("writer-" + std::to_string(i));
  }
  for (std::int64_t cuts = own.between(1, 3); cuts > 0; --cuts) {
    Fault fault;
    fault.kind = FaultKind::partition;
    fault.at_ns = own.between(kFirstFault, scenario.faults_end_ns);
    fault.lasts_ns = own.skewed(100 * kMillisecond, 8 * kSecond);
    for (std::uint32_t dcm = scenario.dcms - scenario.groups.back(); dcm < scenario.dcms; ++dcm) {
      fault.who = "dcm-" + std::to_string(dcm);
      for (const std::string& other : home) {
        fault.other = other;
        scenario.faults.push_back(fault);
        std::swap(scenario.faults.back().who, scenario.faults.back().other);
        scenario.faults.push_back(fault);
      }
    }
  }
}

}  // namespace

const char* name(FaultKind kind) {
  constexpr const char* kNames[kScenarioKinds] = {
      "break",      "silence",  "stall", "kill",  "lose-machine", "refuse", "slow-disk", "full-disk",
      "disk-error", "jump-utc", "drain", "pause", "partition",    "burst",  "flip",      "cut"};
  return kNames[static_cast<std::size_t>(kind)];
}

ScenarioLimits hard_limits() {
  ScenarioLimits limits;
  set_rates("hard", limits);
  return limits;
}

void set_rates(std::string_view text, ScenarioLimits& limits) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    constexpr std::pair<std::string_view, FrontEnds> kFrontEnds[] = {{"front-ends", FrontEnds::none},
                                                                     {"by-trigger", FrontEnds::trigger},
                                                                     {"by-number", FrontEnds::number},
                                                                     {"by-time", FrontEnds::time}};
    const auto* const front_ends =
        std::ranges::find(kFrontEnds, one, &std::pair<std::string_view, FrontEnds>::first);
    if (front_ends != std::end(kFrontEnds)) {
      limits.front_ends_permille = 1000;
      limits.front_ends_kind = front_ends->second;
      continue;
    }
    if (one == "planes") {
      limits.planes_permille = 1000;
      continue;
    }
    if (one == "busy") {
      limits.busy = true;
      continue;
    }
    if (one == "normal" || one == "hard") {
      const bool dies = limits.supervisor_dies;
      const std::uint32_t permille = limits.front_ends_permille;
      const FrontEnds kind = limits.front_ends_kind;
      const std::uint32_t planes = limits.planes_permille;
      const bool busy = limits.busy;
      limits = {};
      limits.busy = busy;
      limits.supervisor_dies = dies;
      limits.front_ends_permille = permille;
      limits.front_ends_kind = kind;
      limits.planes_permille = planes;
      if (one == "normal") continue;
      limits.faults_max = 30;
      limits.supervisor_permille = 400;
      limits.together_permille = 400;
      set_rates("kill=3,lose-machine=3,full-disk=3,disk-error=4,slow-disk=2,partition=2", limits);
      continue;
    }
    set_weight(one, limits);
  }
  if (std::all_of(limits.weights.begin(), limits.weights.end(), [](std::uint32_t w) { return w == 0; }))
    throw std::runtime_error("--rates leaves no kind of fault");
}

std::string describe(const Fault& fault) {
  std::string text = seconds(fault.at_ns) + " s: " + name(fault.kind) + " " + fault.who;
  if (!fault.other.empty()) text += " -> " + fault.other;
  if (fault.lasts_ns > 0) text += " for " + seconds(fault.lasts_ns) + " s";
  if (fault.amount != 0) text += " amount " + std::to_string(fault.amount);
  return text;
}

Scenario make_scenario(std::uint64_t seed, const ScenarioLimits& limits) {
  Random random(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.readouts = static_cast<std::uint32_t>(random.between(1, 3));
  scenario.sources = static_cast<std::uint32_t>(random.between(1, 3));
  scenario.dcms = static_cast<std::uint32_t>(random.between(1, 3));
  scenario.writers = random.chance(80) ? 0 : static_cast<std::uint32_t>(random.between(1, 2));
  scenario.slices = static_cast<std::uint64_t>(random.between(20, 300));
  scenario.faults_end_ns = random.between(200 * kMillisecond, 3 * kSecond);
  scenario.patient = random.chance(400);
  scenario.push = random.chance(150);
  if (limits.busy) draw_busy(scenario);
  Random shape = random.fork(1);
  draw_front_ends(scenario, limits);
  draw_tidy(scenario);
  draw_planes(scenario, limits.planes_permille);
  const bool front_ends = scenario.front_ends.kind != FrontEnds::none;
  const bool few = front_ends || scenario.only_planes;
  write_farm(scenario, few ? ManySources() : draw_many_sources(scenario), shape);
  const bool burst_saver = has_burst_saver(scenario);
  if (burst_saver) add_burst_saver(scenario);

  Random world = random.fork(2);
  scenario.world.delay_max = world.skewed(50 * kMicrosecond, 5 * kMillisecond);
  scenario.world.delay_min = std::min(scenario.world.delay_min, scenario.world.delay_max);
  scenario.world.tail_permille = static_cast<std::uint32_t>(world.skewed(0, 100));
  scenario.world.tail_max =
      std::max<DurationNs>(world.skewed(kMillisecond, 300 * kMillisecond), scenario.world.delay_max);
  scenario.world.cut_permille = static_cast<std::uint32_t>(world.skewed(0, 300));
  scenario.disk.operation_max = world.skewed(50 * kMicrosecond, 30 * kMillisecond);

  Random draws = random.fork(3);
  FaultDraw draw(scenario, limits, draws);
  const auto count = static_cast<std::size_t>(draws.between(0, limits.faults_max));
  while (scenario.faults.size() < count) scenario.faults.push_back(draw.draw());
  // Machines share their power.
  for (std::size_t i = 0; i < count; ++i) {
    if (scenario.faults[i].kind != FaultKind::lose_machine || !draws.chance(400)) continue;
    Fault other = scenario.faults[i];
    other.who = draw.machine();
    scenario.faults.push_back(other);
  }
  Random commands = random.fork(4);
  if (commands.chance(400)) add_commands(scenario, commands);
  if (burst_saver) add_bursts(scenario);
  Random partitions = random.fork(5);
  if (partitions.chance(limits.partition_permille)) add_partitions(scenario, partitions);
  cut_line(scenario);
  disturb_fetches(scenario);
  flip_fetches(scenario);
  add_flips(scenario);
  add_cuts(scenario);
  if (scenario.front_ends.tidy) keep_tidy(scenario, limits);
  // A readout that joins a run has to know the time.
  if (scenario.front_ends.kind == FrontEnds::time)
    std::erase_if(scenario.faults, [](const Fault& fault) {
      return fault.kind == FaultKind::jump_utc && fault.who.starts_with("readout");
    });
  std::sort(scenario.faults.begin(), scenario.faults.end(),
            [](const Fault& left, const Fault& right) { return left.at_ns < right.at_ns; });
  for (const Fault& fault : scenario.faults)
    scenario.faults_end_ns = std::max(scenario.faults_end_ns, fault.at_ns + fault.lasts_ns);
  return scenario;
}

}  // namespace weir::sim
