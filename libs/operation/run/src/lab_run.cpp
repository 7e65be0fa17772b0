#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/run/lab_run.hpp>
#include <weir/run_record/records.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::run {

Expected<config::LabFile, std::string> load_lab(const std::string& path,
                                                const std::vector<std::string>& sets) {
  auto file = config::load_lab(path);
  if (!file) return Unexpected<std::string>(config::to_text(file.error()));
  config::Problems problems;
  for (const std::string& set : sets) {
    const config::Problems found = config::apply_lab_override(*file, set);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (!problems.empty()) return Unexpected<std::string>(config::to_text(problems));
  return std::move(*file);
}

LabRun::LabRun(lab::LabPlan plan, lab::Disturbance disturbance, lab::LabNetwork network,
               lab::PortCounters counters)
    : plan_(std::move(plan)),
      disturbance_(std::move(disturbance)),
      network_(std::move(network)),
      counters_(std::move(counters)),
      ports_(plan_.counted_ports()),
      record_(ports_) {}

Expected<LabRun, LabError> LabRun::make(const config::LabFile& file, const lab::LabPlan& given,
                                        const std::string& congestion_control) {
  lab::LabPlan plan = given;
  const auto failed = [&](const std::string& why, bool usage) {
    return Unexpected<LabError>({fmt::format("lab {}: {}", plan.name, why), usage});
  };
  std::optional<StaticWindow> window;
  if (plan.static_window) {
    auto started = StaticWindow::start(plan.window_segments);
    if (!started) return failed(started.error(), true);
    plan.set_congestion_control(started->name());
    window = std::move(*started);
  }
  auto network = lab::LabNetwork::make(plan);
  if (!network) return failed(network.error().what, network.error().usage);
  auto counters = lab::PortCounters::open(plan, *network);
  if (!counters) return failed(counters.error(), false);
  auto disturbance = lab::Disturbance::open(plan);
  if (!disturbance) return failed(disturbance.error(), false);
  LabRun run(plan, std::move(*disturbance), std::move(*network), std::move(*counters));
  run.window_ = std::move(window);
  run.yaml_ = config::to_yaml(file.lab);
  if (plan.needs_relay()) {
    auto relay = lab::Relay::open(plan, run.network_);
    if (!relay) return failed(relay.error(), false);
    run.relay_ = std::move(*relay);
    run.relay_->start();
  }
  if (const auto connected = run.network_.connect_once(plan); !connected)
    return failed(connected.error(), false);
  if (!plan.foreign.empty()) {
    auto traffic = lab::Traffic::open(plan, run.network_, congestion_control);
    if (!traffic) return failed(traffic.error(), false);
    run.traffic_ = std::move(*traffic);
  }
  if (const auto entered = run.network_.enter(lab::kControl); !entered) return failed(entered.error(), false);
  return run;
}

std::string LabRun::introduction() const {
  const std::string disturbed = disturbance_.introduction();
  const std::string pressure =
      plan_.has_fabric() ? fmt::format("; back-pressure: {}", lab::name_of(plan_.back_pressure))
      : plan_.software   ? fmt::format("; software switches: {}", switching::name_of(*plan_.software))
                         : "";
  const std::string planes = plan_.planes > 1 ? fmt::format(" in {} planes", plan_.planes) : "";
  return fmt::format("in lab {}: {}{}, {}{}{}{}{}", plan_.name, plan_.topology, planes,
                     counted(plan_.hosts.size(), "host"), pressure, disturbed.empty() ? "" : "; ", disturbed,
                     network_.in_order() ? ""
                                         : "; frames may overtake each other here, which TCP takes for loss: "
                                           "receive packet steering cannot be set");
}

std::map<std::string, launch::NodePlace> LabRun::places() const {
  std::map<std::string, launch::NodePlace> places;
  for (const auto& [node, there] : plan_.places) {
    launch::NodePlace& place = places[node];
    place.network = network_.space(there.space);
    place.address = there.address;
    // A lab's hosts cannot be reached from outside.
    place.arguments = {"--set", "security.mode=open"};
    place.planes = there.planes;
    for (const std::string& source : there.sources)
      place.arguments.insert(place.arguments.end(), {"--source", source});
    if (!there.congestion_control.empty()) {
      place.arguments.insert(place.arguments.end(),
                             {"--set", "network.congestion_control=" + there.congestion_control});
    }
  }
  return places;
}

const std::vector<lab::PortCount>& LabRun::read() {
  counts_ = counters_.read();
  if (plan_.has_fabric() || plan_.software) lab::add_counts(counts_, relay_->port_counter()());
  if (plan_.line) {
    for (const lab::PortCount& count : relay_->line_counts()) counts_.push_back(count);
  }
  return counts_;
}

void LabRun::set_line_down(bool down) {
  relay_->set_down(down);
  if (const auto done = network_.set_line_down(plan_, down); !done) disturbance_.line_failed(done.error());
}

void LabRun::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  if (const auto down = disturbance_.line_change(plan_)) set_line_down(*down);
  disturbance_.cut(plan_, network_);
  const auto changes = disturbance_.pass(plan_, network_);
  // Frames sent at the old rate are counted before the new rate applies.
  if (!changes.empty()) record_.take(now_ns, read());
  for (const lab::PortChange& change : changes) record_.change_rate(change.port, change.rate_bits_per_s);
  if (now_ns < next_sample_ns_) return;
  next_sample_ns_ = now_ns + lab::kSampleInterval;
  record_.take(now_ns, read());
}

Expected<void, LabError> LabRun::trace() {
  auto tracer = plan_.has_fabric() || plan_.software
                    ? lab::NetworkTracer::open(plan_, network_, relay_->port_counter())
                    : lab::NetworkTracer::open(plan_, network_);
  if (!tracer) return Unexpected<LabError>({fmt::format("lab {}: {}", plan_.name, tracer.error()), false});
  tracer_ = std::move(*tracer);
  return {};
}

std::string LabRun::write_trace(const std::string& path) {
  if (!tracer_) return {};
  if (run_record::write_file(path, tracer_->stop().to_lines())) return {};
  return fmt::format("cannot write the network trace to '{}': {}", path, std::strerror(errno));
}

void LabRun::begun(DurationNs ago_ns) {
  if (tracer_) tracer_->start(ago_ns);
  if (traffic_) traffic_->start(ago_ns);
  disturbance_.begun(ago_ns);
}

std::vector<double> LabRun::mean_rates(double seconds) const {
  std::vector<double> rates;
  for (std::size_t i = 0; i < plan_.ports.size(); ++i) rates.push_back(plan_.mean_rate(i, 0, seconds));
  return rates;
}

std::string LabRun::live_line() const {
  std::uint64_t drops = 0;
  for (const lab::PortCount& count : counts_) drops += count.drops;
  const std::vector<double>& use = record_.use_now();
  WEIR_ASSERT(use.size() <= ports_.size());
  const auto busiest = std::max_element(use.begin(), use.end());
  if (busiest == use.end()) return {};
  return fmt::format("lab {}: busiest port {} at {:.0f} %, {} dropped", plan_.name,
                     ports_[static_cast<std::size_t>(busiest - use.begin())].name, kPercent * *busiest,
                     counted(drops, "frame"));
}

void LabRun::account(run_record::Summary& summary) {
  disturbance_.ends();
  if (traffic_) summary.foreign = traffic_->stop();
  record_.take(now_ns_ + 1, read());
  summary.ports = record_.report(summary.duration_s, mean_rates(summary.duration_s));
  run_record::LabSummary& lab = summary.lab.emplace();
  lab.name = plan_.name;
  lab.topology = plan_.topology;
  lab.back_pressure = lab::name_of(plan_.back_pressure);
  lab.hosts = plan_.hosts.size();
  lab.machine_drops = lab::machine_drops() - machine_drops_before_;
  lab.cpu_load = plan_.cpu_load;
  lab.cpu_load_s = disturbance_.stop_load();
  if (relay_) summary.lab->relay = relay_->report();
  summary.disturbed = disturbance_.hosts(plan_, counters_.lost());
  summary.changes = disturbance_.changes();
  summary.outages = disturbance_.outages();
  summary.cuts = disturbance_.cuts();
}

}  // namespace weir::run
