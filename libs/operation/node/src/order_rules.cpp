#include "order_rules.hpp"

namespace weir::node {
namespace {

using Action = OrderVerdict::Action;
using control::Command;
using control::RequestKind;

// False for orders that end the node, and for those that do not concern it.
bool waits_for_start(const v1::Order& order, std::optional<Command> command, RunNumber prepared) {
  if (order.command() == name(RequestKind::log_level) || order.command() == name(RequestKind::restart))
    return false;
  if (command == Command::start && RunNumber(order.run()) == prepared) return false;
  return command != Command::off && command != Command::reset;
}

}  // namespace

OrderVerdict judge(const v1::Order& order, const OrderContext& process) {
  const std::optional<Command> command = control::command_of(order.command());
  if (process.prepared && waits_for_start(order, command, *process.prepared)) return {Action::hold};
  if (order.has_tell()) {
    if (process.run) return {Action::relay};
    return {.error = "no run is active"};
  }
  if (order.command() == name(RequestKind::log_level)) return {Action::set_level};
  if (order.command() == name(RequestKind::restart)) return {Action::restart};
  if (!command) return {.error = "'" + order.command() + "' is not a command"};
  const bool starts = *command == Command::start;
  if (starts && process.prepared) return {Action::join_start};
  if (starts && process.run == RunNumber(order.run())) return {};
  if (!control::after(process.state, *command)) {
    return {.error = std::string(process.name) + " is " + std::string(control::name(process.state)) + ": " +
                     order.command() + " is not possible now"};
  }
  if (starts && !process.quits.empty())
    return {.error = std::string(process.name) + " ends: " + std::string(process.quits)};
  return {Action::carry_out, *command};
}

}  // namespace weir::node
