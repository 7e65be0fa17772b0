#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>
#include <weir/ports/readiness.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::readout {

// The node's environment.
struct ReadoutEnvironment {
  ports::Network& network;
  ports::Clock& clock;
  std::function<ports::StreamCounters()> stream_totals;
  // For source plugins; if null, plugins that wait on a descriptor are polled.
  ports::Readiness* readiness = nullptr;
  std::function<void()> wake = nullptr;       // any thread: a pass soon
  std::vector<std::string> plugin_path = {};  // where the installation's plugins are, searched last
};

// A readout: makes or receives the fragments of its sources, keeps them until they are cleared, serves them.
// Throws std::runtime_error with a sentence when its sources cannot be had or its port is taken.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup, ReadoutEnvironment environment);

}  // namespace weir::readout
