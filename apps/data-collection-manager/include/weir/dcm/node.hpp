#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/carriers.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>
#include <weir/ports/scratch_disk.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::filter_host {
class WorkerHost;
}  // namespace weir::filter_host

namespace weir::dcm {

// The node's environment. `wake` may be called from any thread; a pass follows soon.
struct DcmEnvironment {
  ports::Network& network;
  ports::Clock& clock;
  std::function<void()> wake;
  std::function<ports::StreamCounters()> stream_totals;
  std::vector<std::string> plugin_path;  // where the installation's plugins are, searched last
  // For filter.isolation 'worker': makes the host of workers that map the memory behind this descriptor. May
  // be empty otherwise.
  std::function<std::unique_ptr<filter_host::WorkerHost>(int slice_memory)> make_workers = {};
  // For burst.disk_bytes: makes the disk of the burst ring. May be empty otherwise.
  std::function<std::unique_ptr<ports::ScratchDisk>()> make_burst_disk = {};
  // With network.planes: watches this host's links to them, in their order. May be empty.
  std::function<std::unique_ptr<ports::Carriers>()> watch_carriers = {};
};

// Makes a data collection manager: requests under a shaper, assembles, filters, ships accepted and confirmed
// slices. Errors: std::runtime_error with a message if the plugin cannot be loaded or the memory cannot be
// allocated.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup, DcmEnvironment environment);

}  // namespace weir::dcm
