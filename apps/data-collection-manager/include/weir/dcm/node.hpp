#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::filter_host {
class WorkerHost;
}  // namespace weir::filter_host

namespace weir::dcm {

// What the node needs of the outside. `wake` may be called from any thread and brings about a pass soon.
struct Environment {
  ports::Network& network;
  ports::Clock& clock;
  std::function<void()> wake;
  std::function<ports::StreamCounters()> stream_totals;
  std::vector<std::string> plugin_path;  // where the installation's plugins are, searched last
  // For filter.isolation 'worker': where workers come from that map the memory behind this descriptor. May be
  // empty where that is not used.
  std::function<std::unique_ptr<filter_host::WorkerHost>(int slice_memory)> make_workers = {};
};

// A data collection manager: requests under a shaper, assembles, filters, ships what is accepted and
// confirmed. Throws std::runtime_error with a sentence when the plugin or the memory cannot be had.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup, Environment environment);

}  // namespace weir::dcm
