#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>

#include <functional>
#include <memory>

namespace weir::readout {

// What the node needs of the outside.
struct Environment {
  ports::Network& network;
  ports::Clock& clock;
  std::function<ports::StreamCounters()> stream_totals;
};

// A readout: makes or takes in the fragments of its sources, keeps them until they are cleared, serves them.
// Throws std::runtime_error with a sentence when its sources cannot be had or its port is taken.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup, Environment environment);

}  // namespace weir::readout
