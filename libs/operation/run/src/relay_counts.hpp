#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/owned_descriptor.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/plan.hpp>
#include <weir/lab/relay.hpp>

#include <optional>
#include <string>
#include <vector>

// The counts of a lab that stays up, as far as they are in its relay's process instead of in the kernel: a
// local socket answers each connection with them and closes it.
namespace weir::run {

// Returns a socket that listens for questions about this lab. Requires: its namespaces have their names.
// Errors: a message.
[[nodiscard]] Expected<OwnedDescriptor, std::string> listen_for_counts(const lab::LabPlan& plan);
// Answers at the socket until the process ends. Requires: `relay` and `plan` live as long.
void serve_counts(int listener, const lab::LabPlan& plan, const lab::Relay& relay);
// Asks the lab's process. Returns a count for each of LabPlan::counted_ports(), without the kernel's part;
// nullopt: no process answers.
[[nodiscard]] std::optional<std::vector<lab::PortCount>> ask_for_counts(const lab::LabPlan& plan);

}  // namespace weir::run
