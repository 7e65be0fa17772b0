#include <weir/base/plugin_file.hpp>
#include <weir/config/planes.hpp>
#include <weir/dcm/node.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/node/carriers.hpp>
#include <weir/node/main.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/process.hpp>
#include <weir/plugin_trial/plugin_trial.hpp>
#include <weir/python_host/interpreter.hpp>
#include <weir/storage/scratch_file.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

// Looks for an interpreter once in a process: it starts one that imports NumPy, while the DCM waits.
const weir::python_host::Interpreter& interpreter(const std::string& chosen) {
  static std::map<std::string, weir::python_host::Interpreter> found;
  const auto known = found.find(chosen);
  if (known != found.end()) return known->second;
  auto python = weir::python_host::find_interpreter(chosen);
  if (!python) throw std::runtime_error("filter.plugin: " + python.error());
  return found.emplace(chosen, std::move(*python)).first->second;
}

std::vector<std::string> worker_command(const weir::v1::FilterSettings& filter) {
  const std::string programs = weir::node::program_folder();
  if (!weir::is_python_plugin(filter.plugin())) return {programs + "/weir-filter-worker"};
  return weir::python_host::filter_host_command(interpreter(filter.python()), "worker", {});
}

weir::config::Problems try_filter(const weir::config::PlannedFarm& farm, const weir::config::NodePlan&,
                                  const weir::config::Locations& locations) {
  std::string description;
  const auto problem =
      weir::plugin_trial::try_filter({farm, locations, {weir::node::plugin_folder()}}, description);
  return problem ? weir::config::Problems{*problem} : weir::config::Problems{};
}

}  // namespace

int main(int argc, char** argv) {
  return weir::node::run_node_main(
      argc, argv, weir::Role::dcm, "weir-dcm: builds slices, filters them, ships accepted ones to writers",
      [](const weir::node::Setup& setup, weir::transport::Loop& loop) {
        const auto& cpus = setup.farm.dcm().cpus();
        const std::string why =
            weir::node::bind_to_cpus(std::vector<std::uint32_t>(cpus.begin(), cpus.end()));
        if (!why.empty()) throw std::runtime_error("dcm.cpus: " + why);
        const auto make_workers = [&loop, filter = setup.farm.filter()](int slice_memory) {
          return std::make_unique<weir::filter_host::SpawnedWorkers>(worker_command(filter), slice_memory,
                                                                     &loop);
        };
        const auto make_burst_disk = [&loop, &burst = setup.farm.burst()] {
          return std::make_unique<weir::storage::ScratchFile>(burst.folder(), burst.disk_bytes(),
                                                              [&loop] { loop.wake(); });
        };
        const auto watch_carriers = [&network = setup.farm.network()] {
          std::vector<weir::config::Ipv4Network> planes;
          for (const weir::v1::PlaneSettings& plane : network.planes())
            planes.push_back(weir::config::parse_network(plane.network()).value());  // validated
          return weir::node::watch_carriers(planes);
        };
        return weir::dcm::make_node(setup, {loop,
                                            loop,
                                            [&loop] { loop.wake(); },
                                            weir::node::totals_from_now(loop),
                                            {weir::node::plugin_folder()},
                                            make_workers,
                                            make_burst_disk,
                                            watch_carriers});
      },
      try_filter);
}
