#include <weir/run/lab_run.hpp>

#include <fmt/format.h>

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

LabRun::LabRun(lab::LabPlan plan, lab::Network network, lab::Counters counters)
    : plan_(std::move(plan)), network_(std::move(network)), counters_(std::move(counters)), record_(plan_) {}

Expected<LabRun, LabError> LabRun::make(const lab::LabPlan& plan) {
  auto network = lab::Network::make(plan);
  if (!network) {
    return Unexpected<LabError>(
        {fmt::format("lab {}: {}", plan.name, network.error().what), network.error().usage});
  }
  auto counters = lab::Counters::open(plan, *network);
  if (!counters) return Unexpected<LabError>({fmt::format("lab {}: {}", plan.name, counters.error()), false});
  if (const auto entered = network->enter(lab::kControl); !entered) {
    return Unexpected<LabError>({fmt::format("lab {}: {}", plan.name, entered.error()), false});
  }
  return LabRun(plan, std::move(*network), std::move(*counters));
}

std::map<std::string, NodePlace> LabRun::places() const {
  std::map<std::string, NodePlace> places;
  for (const auto& [node, there] : plan_.places) {
    NodePlace& place = places[node];
    place.network = network_.space(there.space);
    place.address = there.address;
    if (!there.congestion_control.empty()) {
      place.arguments = {"--set", "network.congestion_control=" + there.congestion_control};
    }
  }
  return places;
}

void LabRun::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  if (now_ns < next_sample_ns_) return;
  next_sample_ns_ = now_ns + lab::kSampleInterval;
  record_.take(now_ns, counters_.read());
}

void LabRun::account(Summary& summary) {
  record_.take(now_ns_ + 1, counters_.read());
  summary.ports = record_.report(summary.duration_s);
  LabSummary& lab = summary.lab.emplace();
  lab.name = plan_.name;
  lab.topology = plan_.topology;
  lab.hosts = plan_.hosts.size();
  lab.payload_bound_bytes_per_s = plan_.payload_bound_bytes_per_s();
  if (lab.payload_bound_bytes_per_s > 0) {
    lab.payload_share = summary.goodput_bytes_per_s / lab.payload_bound_bytes_per_s;
  }
}

}  // namespace weir::run
