#include <weir/node/main.hpp>
#include <weir/node/paths.hpp>
#include <weir/plugin_trial/plugin_trial.hpp>
#include <weir/readout/node.hpp>

namespace {

weir::config::Problems try_source(const weir::config::PlannedFarm& farm, const weir::config::NodePlan& self,
                                  const weir::config::Locations& locations) {
  const auto problem = weir::plugin_trial::try_source({farm, locations, {weir::node::plugin_folder()}}, self);
  return problem ? weir::config::Problems{*problem} : weir::config::Problems{};
}

}  // namespace

int main(int argc, char** argv) {
  return weir::node::run_node_main(
      argc, argv, weir::Role::readout, "weir-readout: serves the fragments of its sources",
      [](const weir::node::Setup& setup, weir::transport::Loop& loop) {
        return weir::readout::make_node(setup, {loop,
                                                loop,
                                                weir::node::totals_from_now(loop),
                                                &loop,
                                                [&loop] { loop.wake(); },
                                                {weir::node::plugin_folder()}});
      },
      try_source);
}
