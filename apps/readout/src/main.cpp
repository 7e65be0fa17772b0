#include <weir/node/main.hpp>
#include <weir/node/paths.hpp>
#include <weir/readout/node.hpp>

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
      });
}
