#include <weir/node/main.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/storage/file_disk.hpp>
#include <weir/storage/folder.hpp>
#include <weir/writer/node.hpp>

#include <spawn.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

extern char** environ;

namespace {

// The command gets the file's path and its CRC32C as $1 and $2. It runs beside the writer, which does not
// wait.
void run_on_close(const std::string& command, const std::string& path, std::uint32_t crc32c) {
  char checksum[16];
  std::snprintf(checksum, sizeof checksum, "%08x", crc32c);
  const std::string script = command + " \"$@\"";
  const char* argv[] = {"sh", "-c", script.c_str(), "on_close", path.c_str(), checksum, nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "sh", nullptr, nullptr, const_cast<char**>(argv), environ);
  if (error != 0) spdlog::error("on_close cannot be started command=\"{}\" errno={}", command, error);
}

// Nobody writes beside the data of another run of this number. (A process that is not told whose run it is
// has its supervisor to refuse that.)
void hold_run(const weir::node::Setup& setup, bool has_earlier_files) {
  if (setup.claim == 0) return;
  const std::string& out = setup.farm.run().out();
  const auto held = weir::node::hold_claim(out, setup.run, setup.farm.farm(), setup.claim);
  if (!held) throw std::runtime_error("run.out: " + held.error());
  if (!*held || !has_earlier_files) return;
  weir::node::give_up_claim(out, setup.run, setup.claim);
  throw std::runtime_error("run.out: '" + out + "' holds files of another run " +
                           std::to_string(setup.run.value) +
                           " of this writer: take another run number, or another folder");
}

// The real disk beside the node that uses it.
class WriterProcess final : public weir::node::Node {
 public:
  WriterProcess(const weir::node::Setup& setup, weir::transport::Loop& loop)
      : disk_([&loop] { loop.wake(); }) {
    auto earlier = weir::storage::read_earlier_life(setup.farm.run().out(), setup.run, setup.self.name);
    if (!earlier) throw std::runtime_error("run.out: " + earlier.error().detail);
    hold_run(setup, !earlier->files.empty());
    node_ = weir::writer::make_node(
        setup, {loop, loop, disk_, [this](weir::ports::DiskHandler& handler) { disk_.deliver(handler); },
                weir::node::totals_from_now(loop),
                [command = setup.farm.writer().on_close()](const std::string& path, std::uint32_t crc32c) {
                  run_on_close(command, path, crc32c);
                },
                std::move(*earlier)});
  }
  void pass(weir::TimeNs now_ns) override { node_->pass(now_ns); }
  bool finished() const override { return node_->finished(); }
  void on_signal(std::string_view signal_name) override { node_->on_signal(signal_name); }
  std::string failure() const override { return node_->failure(); }

 private:
  weir::storage::FileDisk disk_;
  std::unique_ptr<weir::node::Node> node_;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGCHLD, SIG_IGN);  // children of on_close are not waited for
  return weir::node::run_node_main(argc, argv, weir::messages::Role::writer,
                                   "weir-writer: stores accepted slices",
                                   [](const weir::node::Setup& setup, weir::transport::Loop& loop) {
                                     const std::string& out = setup.farm.run().out();
                                     if (auto failure = weir::storage::make_folder(out)) {
                                       throw std::runtime_error("run.out: " + failure->detail);
                                     }
                                     return std::make_unique<WriterProcess>(setup, loop);
                                   });
}
