#include <weir/base/assert.hpp>
#include <weir/launch/farm_nodes.hpp>
#include <weir/launch/log_tail.hpp>
#include <weir/node/address_in_use.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace weir::launch {
namespace {

const char* program_of(Role role) {
  switch (role) {
    case Role::supervisor:
      return "weir-supervisor";
    case Role::readout:
      return "weir-readout";
    case Role::dcm:
      return "weir-dcm";
    case Role::writer:
      return "weir-writer";
    default:
      return "";
  }
}

std::uint64_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

}  // namespace

FarmNodes::FarmNodes(const config::FarmPlan& plan, FarmNodesSettings settings, Started started)
    : settings_(std::move(settings)), started_(std::move(started)) {
  // Start order: a supervisor to report to, writers to store, readouts with their ports, then DCMs.
  for (const Role role : {Role::supervisor, Role::writer, Role::readout, Role::dcm}) {
    for (const config::NodePlan* node : plan.of_role(role)) {
      if (node->masked) continue;
      nodes_.emplace_back(Restarts(settings_.restarts)).plan = node;
    }
  }
  if (nodes_.empty() || nodes_.front().plan->role != Role::supervisor)
    throw std::runtime_error("the farm has no supervisor");
}

std::string FarmNodes::log_file(const Node& node) const {
  return settings_.log_folder + "/" + node.plan->name + ".log";
}

std::string FarmNodes::start(const std::string& control_at) {
  control_at_ = control_at;
  for (Node& node : nodes_) {
    if (std::string error = start(node); !error.empty()) return error;
  }
  return {};
}

std::string FarmNodes::start(Node& node) {
  ChildSettings child;
  child.program = settings_.program_folder + "/" + program_of(node.plan->role);
  child.arguments = {"--farm",    settings_.farm_file, "--name",   node.plan->name,
                     "--one-run", "--control",         control_at_};
  if (!settings_.log_level.empty()) {
    child.arguments.insert(child.arguments.end(), {"--log-level", settings_.log_level});
  }
  if (const auto place = settings_.places.find(node.plan->name); place != settings_.places.end()) {
    const NodePlace& there = place->second;
    child.network = there.network;
    child.arguments.insert(child.arguments.end(), there.arguments.begin(), there.arguments.end());
    if (!there.address.empty() && !node.plan->listen.empty()) {
      child.arguments.insert(child.arguments.end(), {"--listen", there.address + ":0"});
    }
    for (const std::string& plane : there.planes)
      child.arguments.insert(child.arguments.end(), {"--plane", plane + ":0"});
  }
  if (node.starts > 0 && !node.end.well())
    child.arguments.insert(child.arguments.end(), {"--after", describe(node.end)});
  child.log_file = log_file(node);
  child.log_files_kept = settings_.log_files_kept;
  child.append_log = node.starts > 0;
  child.read_output = node.plan->role == Role::supervisor;
  node.log_from = child.append_log ? size_of(child.log_file) : 0;
  WEIR_ASSERT(!node.child.running());
  ++node.starts;
  auto started = Child::start(child);
  if (!started) return node.plan->name + ": " + started.error();
  node.child = std::move(*started);
  node.life = Life::there;
  node.state = "starting";
  if (started_) started_(node.plan->name, node.child.pid());
  return {};
}

void FarmNodes::reap(TimeNs now, const std::function<void(Node&)>& ended) {
  for (Node& node : nodes_) {
    const auto end = node.child.poll();
    if (!end) continue;
    node.end = *end;
    node.life = Life::ended;
    node.at_ns = now;
    node.state = end->well() ? "ended" : "dead: " + describe(*end);
    ended(node);
  }
}

bool FarmNodes::start_again(Node& node, TimeNs now) {
  const bool address_in_use = node.end.status == node::kAddressInUse;
  const auto at = address_in_use ? node.restarts.after_refusal(now) : node.restarts.after_end(now);
  node.life = at ? Life::waits : Life::away;
  if (!at) return false;
  node.at_ns = *at;
  node.state += ", restarting";
  return true;
}

void FarmNodes::add_again(Node& node, TimeNs now) {
  node.life = Life::waits;
  node.at_ns = now;
  node.state = "added again";
}

std::string FarmNodes::start_due(TimeNs now) {
  for (Node& node : nodes_) {
    if (node.life != Life::waits || now < node.at_ns) continue;
    if (std::string error = start(node); !error.empty()) return error;
  }
  return {};
}

void FarmNodes::stay_away(bool spared) {
  for (Node& node : nodes_) {
    const bool may_return = node.life == Life::waits || node.life == Life::removed;
    if (may_return && !(spared && &node == &supervisor())) node.life = Life::away;
  }
}

void FarmNodes::signal_all(int signal) const {
  for (const Node& node : nodes_) node.child.send_signal(signal);
}

bool FarmNodes::is_any_there() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.child.running(); });
}

std::optional<Role> FarmNodes::role_without_any() const {
  for (const Role role : {Role::dcm, Role::writer}) {
    const auto is_of_role = [&](const Node& node) { return node.plan->role == role; };
    const auto is_away = [&](const Node& node) { return !is_of_role(node) || node.life == Life::away; };
    if (std::any_of(nodes_.begin(), nodes_.end(), is_of_role) &&
        std::all_of(nodes_.begin(), nodes_.end(), is_away))
      return role;
  }
  return std::nullopt;
}

std::string FarmNodes::story(const Node& node) const {
  const std::string reason = last_error_of_file(log_file(node), node.log_from);
  return fmt::format("{} ended with {}{}{}", node.plan->name, describe(node.end), reason.empty() ? "" : ": ",
                     reason);
}

void FarmNodes::complete(farm_view::LiveFrame& frame) const {
  std::vector<farm_view::LiveRow> rows;
  for (const Node& node : nodes_) {
    const auto row = std::find_if(frame.rows.begin(), frame.rows.end(),
                                  [&](const farm_view::LiveRow& one) { return one.name == node.plan->name; });
    if (row != frame.rows.end() && node.life == Life::there) {
      rows.push_back(*row);
      continue;
    }
    farm_view::LiveRow& absent = rows.emplace_back();
    absent.name = node.plan->name;
    absent.role = name(node.plan->role);
    absent.state = node.state;
    absent.measured = false;
  }
  frame.rows = std::move(rows);
}

}  // namespace weir::launch
