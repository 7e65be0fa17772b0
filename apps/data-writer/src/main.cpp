#include <weir/burst/alert.hpp>
#include <weir/node/main.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/storage/file_disk.hpp>
#include <weir/storage/folder.hpp>
#include <weir/writer/node.hpp>

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

void run_on_close(weir::writer::CloseCommands& commands, const weir::v1::WriterSettings& settings,
                  const std::string& path, std::uint32_t crc32c) {
  commands.add({settings.on_close(), path, fmt::format("{:08x}", crc32c), settings.on_close_s()},
               settings.on_close_max());
}

// A writer must not write beside the data of another run of this number. (If a process does not know the
// run's id, its supervisor refuses that.)
void hold_run(const weir::node::Setup& setup, bool has_earlier_files) {
  if (setup.claim == 0) return;
  const std::string& out = setup.farm.run().out();
  const auto held = weir::node::hold_claim(out, setup.run, setup.farm.farm(), setup.claim);
  if (!held) throw std::runtime_error("run.out: " + held.error());
  if (!*held || !has_earlier_files) return;
  weir::node::give_up_claim(out, setup.run, setup.claim);
  throw std::runtime_error("run.out: '" + out + "' holds files of another run " +
                           std::to_string(setup.run.value) +
                           " of this writer: choose another run number or folder");
}

// Returns the alerts' slices that an earlier process of this writer stored.
std::map<std::uint32_t, weir::storage::EarlierLife> earlier_bursts(const weir::node::Setup& setup) {
  std::map<std::uint32_t, weir::storage::EarlierLife> found;
  for (std::uint32_t alert = 1; alert <= weir::burst::kAlertsMax; ++alert) {
    const std::string folder =
        setup.farm.run().out() + "/" + weir::writer::burst_folder_name(setup.run, alert);
    if (!std::filesystem::is_directory(folder)) continue;
    auto earlier = weir::storage::read_earlier_life(folder, setup.run, setup.self.name);
    if (!earlier) throw std::runtime_error("run.out: " + earlier.error().detail);
    if (!earlier->files.empty()) found.emplace(alert, std::move(*earlier));
  }
  return found;
}

// Memory of stored records serves the next ones, up to the size of the buffer. Otherwise the C library
// returns a record of some MB to the kernel, which clears each page of the next one: a quarter of a writer's
// time.
void keep_memory(std::uint64_t buffer_bytes) {
#ifdef M_MMAP_THRESHOLD
  constexpr int kMappedFrom = 32 << 20;  // the largest value that glibc accepts
  constexpr std::uint64_t kKeptMax = 1U << 30;
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min(buffer_bytes, kKeptMax)));
#else
  (void)buffer_bytes;
#endif
}

// The real disk beside the node that uses it.
class WriterProcess final : public weir::node::Node {
 public:
  WriterProcess(const weir::node::Setup& setup, weir::transport::Loop& loop,
                weir::writer::CloseCommands& commands)
      : disk_([&loop] { loop.wake(); }) {
    if (const std::string why = weir::writer::unusable(setup.farm.writer().on_close()); !why.empty())
      throw std::runtime_error(why);
    auto earlier = weir::storage::read_earlier_life(setup.farm.run().out(), setup.run, setup.self.name);
    if (!earlier) throw std::runtime_error("run.out: " + earlier.error().detail);
    hold_run(setup, !earlier->files.empty());
    node_ = weir::writer::make_node(
        setup,
        {loop, loop, disk_, [this](weir::ports::DiskHandler& handler) { disk_.deliver(handler); },
         weir::node::totals_from_now(loop),
         [&commands, &settings = setup.farm.writer()](const std::string& path, std::uint32_t crc32c) {
           run_on_close(commands, settings, path, crc32c);
         },
         std::move(*earlier), [&commands, before = commands.counts()] { return commands.counts() - before; },
         [](const std::string& path) {
           const auto failure = weir::storage::make_folder(path);
           return failure ? failure->detail : std::string();
         },
         earlier_bursts(setup)});
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
  weir::writer::CloseCommands commands;  // beyond runs
  return weir::node::run_node_main(argc, argv, weir::Role::writer, "weir-writer: stores accepted slices",
                                   [&](const weir::node::Setup& setup, weir::transport::Loop& loop) {
                                     keep_memory(setup.farm.writer().buffer_bytes());
                                     const std::string& out = setup.farm.run().out();
                                     if (auto failure = weir::storage::make_folder(out)) {
                                       throw std::runtime_error("run.out: " + failure->detail);
                                     }
                                     return std::make_unique<WriterProcess>(setup, loop, commands);
                                   });
}
