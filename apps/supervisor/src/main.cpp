#include <weir/node/main.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/supervisor/node.hpp>
#include <weir/transport/datagram_socket.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

std::string journal_path(const weir::node::Setup& setup) {
  return fmt::format("{}/run-{:06}-{}.journal", setup.farm.run().out(), setup.run.value, setup.self.name);
}

// Where the run has not been claimed for its processes this one claims it, when it begins: a process that was
// killed before is started again without one.
void claim(const weir::node::Setup& setup, weir::supervisor::SupervisorEnvironment& environment) {
  const std::string& out = setup.farm.run().out();
  const auto hold = [&setup, &out](std::uint64_t id) {
    const auto held = weir::node::hold_claim(out, setup.run, setup.farm.farm(), id);
    return held ? std::string() : "run.out: " + held.error();
  };
  environment.claim = setup.claim;
  if (setup.claim != 0) {
    if (const std::string refused = hold(setup.claim); !refused.empty()) throw std::runtime_error(refused);
    return;
  }
  const auto known = weir::node::read_claim(out, setup.run);
  environment.claim = known.value_or(weir::node::make_incarnation().value);
  if (!known) {
    environment.begin = [hold, id = environment.claim] { return hold(id); };
    return;
  }
  const auto journal = environment.journal != nullptr ? environment.journal->read()
                                                      : weir::Expected<std::vector<std::byte>, std::string>();
  if (journal && journal->empty()) {
    throw std::runtime_error(
        fmt::format("run.out: '{}' already holds run {}, which is over or belongs to another farm: set "
                    "run.number to another number",
                    out, setup.run.value));
  }
}

bool output_is_log() {
  struct stat output {};
  struct stat log {};
  return ::fstat(STDOUT_FILENO, &output) == 0 && ::fstat(STDERR_FILENO, &log) == 0 &&
         output.st_dev == log.st_dev && output.st_ino == log.st_ino;
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<weir::supervisor::JournalStore> journal;
  return weir::node::run_node_main(
      argc, argv, weir::Role::supervisor, "weir-supervisor: assigns slices and keeps the ledger",
      [&journal](const weir::node::Setup& setup, weir::transport::Loop& loop) {
        // On standard output, for the process that started this one and needs the ports. Left out where that
        // is the log: each of its lines has log.format, and one names the ports.
        const auto listening = [&setup](const weir::ports::Endpoint& nodes,
                                        const weir::ports::Endpoint& triggers,
                                        const weir::ports::Endpoint& text) {
          if (setup.watcher != nullptr) setup.watcher->on_listening(weir::ports::to_text(nodes));
          if (output_is_log()) return;
          std::printf("supervisor %s triggers %s text %s\n", weir::ports::to_text(nodes).c_str(),
                      weir::ports::to_text(triggers).c_str(), weir::ports::to_text(text).c_str());
          std::fflush(stdout);
        };
        std::error_code none;  // the writers will say that the folder is not there
        std::filesystem::create_directories(setup.farm.run().out(), none);
        if (setup.farm.supervisor().journal())
          journal = weir::supervisor::make_journal_file(journal_path(setup));
        weir::supervisor::SupervisorEnvironment environment{loop, loop, listening,
                                                            weir::node::totals_from_now(loop), journal.get()};
        claim(setup, environment);
        environment.datagrams = weir::transport::open_datagrams(loop);
        return weir::supervisor::make_node(setup, std::move(environment));
      });
}
