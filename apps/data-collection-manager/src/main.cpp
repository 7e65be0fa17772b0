#include <weir/dcm/node.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/node/main.hpp>
#include <weir/node/paths.hpp>
#include <weir/plugin_trial/plugin_trial.hpp>

#include <memory>

namespace {

weir::config::Problems try_filter(const weir::v1::Farm& farm, const weir::config::FarmPlan& plan,
                                  const weir::config::NodePlan&, const weir::config::Locations& locations) {
  std::string description;
  const auto problem =
      weir::plugin_trial::try_filter({farm, plan, locations, {weir::node::plugin_folder()}}, description);
  return problem ? weir::config::Problems{*problem} : weir::config::Problems{};
}

}  // namespace

int main(int argc, char** argv) {
  return weir::node::run_node_main(
      argc, argv, weir::Role::dcm, "weir-dcm: builds slices, filters them, ships accepted ones to writers",
      [](const weir::node::Setup& setup, weir::transport::Loop& loop) {
        const auto make_workers = [&loop](int slice_memory) {
          return std::make_unique<weir::filter_host::SpawnedWorkers>(
              weir::node::program_folder() + "/weir-filter-worker", slice_memory, &loop);
        };
        return weir::dcm::make_node(setup, {loop,
                                            loop,
                                            [&loop] { loop.wake(); },
                                            weir::node::totals_from_now(loop),
                                            {weir::node::plugin_folder()},
                                            make_workers});
      },
      try_filter);
}
