#pragma once

#include <weir/config/locations.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/config/problem.hpp>
#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>

#include <functional>
#include <memory>

namespace weir::node {

using MakeNode = std::function<std::unique_ptr<Node>(const Setup& setup, transport::Loop& loop)>;

// Makes an instance of the plugin of `self` with its parameters, and destroys it; a source plugin may open
// sockets meanwhile. Returns the problems. Empty: the role has no plugin.
using TryPlugins = std::function<config::Problems(
    const config::PlannedFarm& farm, const config::NodePlan& self, const config::Locations& locations)>;

// The whole main() of a node executable: command line, farm file, logging, loop, signals. Returns the exit
// status: 0 done, 1 failed (the reason is on standard error), 2 a wrong command line or farm file,
// status_of_signal() ended by a signal, 70 by a library that called exit(), 76 its address is in use
// (kAddressInUse).
int run_node_main(int argc, char** argv, Role role, const char* description, const MakeNode& make,
                  const TryPlugins& try_plugins = {});

// Returns the exit status of a process ended by a signal; 0: no signal. A supervisor then ends its run in
// order. Other processes end at once, and the status shows the launcher that the farm did not request it.
[[nodiscard]] int status_of_signal(Role role, int signal);

}  // namespace weir::node
