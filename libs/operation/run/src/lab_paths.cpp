#include "lab_paths.hpp"

namespace weir::run {

LabPaths::LabPaths(const lab::LabPlan& plan) : plan_(plan), forwards_(plan.switches.size()) {
  std::map<std::string, std::size_t> stands_at;  // the switch that sends through the device
  for (const lab::Link& link : plan.links) {
    leads_to_[link.from_device] = link.to;
    leads_to_[link.to_device] = link.from;
    stands_at[link.from_device] = link.from;
    stands_at[link.to_device] = link.to;
  }
  if (plan.line) {
    leads_to_[plan.line->from.device] = 1;
    leads_to_[plan.line->to.device] = 0;
    stands_at[plan.line->from.device] = 0;
    stands_at[plan.line->to.device] = 1;
  }
  for (const lab::Forward& forward : plan.forwards) {
    const auto at = stands_at.find(forward.device);
    if (at != stands_at.end()) forwards_[at->second][forward.host] = forward.device;
  }
  for (const lab::Steer& steer : plan.steers) steers_[{steer.from, steer.to}] = steer.device;
}

std::vector<std::string> LabPaths::between(std::size_t from, std::size_t to) const {
  std::vector<std::string> devices;
  std::size_t at = plan_.hosts[from].attached;
  const auto steered = steers_.find({from, to});
  if (steered != steers_.end() && plan_.hosts[to].attached != at) {
    devices.push_back(steered->second);
    at = leads_to_.at(steered->second);
  }
  // A host's own switch has no device between switches for it, so the way ends there.
  for (auto next = forwards_[at].find(to); next != forwards_[at].end(); next = forwards_[at].find(to)) {
    devices.push_back(next->second);
    at = leads_to_.at(next->second);
    if (devices.size() > plan_.switches.size()) break;
  }
  return devices;
}

}  // namespace weir::run
