#include <weir/node/main.hpp>
#include <weir/supervisor/node.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace {

std::string journal_path(const weir::node::Setup& setup) {
  std::error_code none;  // whoever writes will say that the folder is not there
  std::filesystem::create_directories(setup.farm.run().out(), none);
  return fmt::format("{}/run-{:06}-{}.journal", setup.farm.run().out(), setup.run.value, setup.self.name);
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<weir::supervisor::JournalStore> journal;
  return weir::node::run_node_main(
      argc, argv, weir::messages::Role::supervisor, "weir-supervisor: hands out slices and keeps the ledger",
      [&journal](const weir::node::Setup& setup, weir::transport::Loop& loop) {
        // On standard output, for whoever started this process and has to know the port.
        const auto listening = [&setup](const weir::ports::Endpoint& nodes,
                                        const weir::ports::Endpoint& triggers) {
          if (setup.watcher != nullptr)
            setup.watcher->on_listening(fmt::format("{}:{}", nodes.host, nodes.port));
          std::printf("supervisor %s:%u triggers %s:%u\n", nodes.host.c_str(), nodes.port,
                      triggers.host.c_str(), triggers.port);
          std::fflush(stdout);
        };
        if (setup.farm.supervisor().journal())
          journal = weir::supervisor::make_journal_file(journal_path(setup));
        return weir::supervisor::make_node(
            setup, {loop, loop, listening, weir::node::totals_from_now(loop), journal.get()});
      });
}
