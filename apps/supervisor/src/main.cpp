#include <weir/node/main.hpp>
#include <weir/supervisor/node.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  return weir::node::run_node_main(
      argc, argv, weir::messages::Role::supervisor, "weir-supervisor: hands out slices and keeps the ledger",
      [](const weir::node::Setup& setup, weir::transport::Loop& loop) {
        // On standard output, for whoever started this process and has to know the port.
        const auto listening = [](const weir::ports::Endpoint& nodes, const weir::ports::Endpoint& triggers) {
          std::printf("supervisor %s:%u triggers %s:%u\n", nodes.host.c_str(), nodes.port,
                      triggers.host.c_str(), triggers.port);
          std::fflush(stdout);
        };
        return weir::supervisor::make_node(setup,
                                           {loop, loop, listening, [&loop] { return loop.stream_totals(); }});
      });
}
