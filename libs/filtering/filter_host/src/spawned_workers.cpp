#include "memory_groups.hpp"
#include <weir/child_process/child_parts.hpp>
#include <weir/child_process/child_process.hpp>
#include <weir/child_process/lifted_descriptor.hpp>
#include <weir/clock/clock.hpp>
#include <weir/filter_host/control_channel.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/filter_host/worker_descriptors.hpp>
#include <weir/orphans/orphans.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <new>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::filter_host {
namespace {

using child_process::ChildEnd;
using child_process::ChildProcess;
using child_process::lifted;
using child_process::Pipe;
using child_process::SharedFile;
using worker_pool::EndKind;
using worker_pool::WorkerEnd;

constexpr DurationNs kLookEvery = kMillisecond;
constexpr DurationNs kOrderlyEnd = 3 * kSecond;  // then a worker is killed
constexpr const char* kMark = "WEIR_FILTER_WORKER";
constexpr const char* kPurpose = "a filter worker";

std::string system_error(const char* call) { return child_process::start_error(kPurpose, call); }

WorkerEnd describe(const ChildEnd& ended) {
  WorkerEnd end;
  const bool out_of_memory = !ended.by_signal && ended.status == kExitOutOfMemory;
  end.text = out_of_memory ? "out of memory" : ended.text();
  if (ended.by_signal) {
    end.kind = ended.status == SIGKILL && !ended.killed_here ? EndKind::memory : EndKind::signal;
  } else {
    end.kind = out_of_memory ? EndKind::memory : EndKind::exit;
  }
  if (!ended.note.empty()) end.text += "\n" + ended.note;
  return end;
}

}  // namespace

struct SpawnedWorkers::Shared {
  std::vector<std::string> command;
  OwnedDescriptor slice_memory;
  OwnedDescriptor library;  // of the plugin; closed: Python
  Pipe results;             // workers have the end for writing; this process keeps it open, too
  struct Watched {
    int pidfd;
    int control;
    int output;
  };
  std::vector<Watched> watched;
  TimeNs looked_ns = 0;
  std::unique_ptr<MemoryGroups> groups;  // null: workers limit themselves

  [[nodiscard]] bool poll_for(int milliseconds) const {
    std::vector<pollfd> list;
    list.reserve(3 * watched.size());
    for (const Watched& one : watched) {
      list.push_back({one.pidfd, POLLIN, 0});
      list.push_back({one.control, POLLIN, 0});
      list.push_back({one.output, POLLIN, 0});
    }
    return ::poll(list.data(), list.size(), milliseconds) > 0;
  }
};

namespace {

class SpawnedWorker final : public WorkerProcess {
 public:
  explicit SpawnedWorker(std::shared_ptr<SpawnedWorkers::Shared> shared) : shared_(std::move(shared)) {}
  ~SpawnedWorker() override {
    std::erase_if(shared_->watched, [this](const auto& one) { return one.pidfd == child_.pidfd(); });
    if (!group_.empty()) shared_->groups->remove(group_);
  }

  // An error is a sentence.
  [[nodiscard]] std::string start(const LaneLayout& layout) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("socketpair");
    control_ = lifted(OwnedDescriptor(pair[0]));
    const OwnedDescriptor other = lifted(OwnedDescriptor(pair[1]));
    if (!control_.is_open() || !other.is_open() || !work_.open(O_CLOEXEC | O_NONBLOCK))
      return system_error("descriptors");
    if (!lane_file_.open("weir-lane", layout.bytes)) return system_error("memfd_create");
    new (lane_file_.bytes().data()) LaneHeader;
    lane_ = LaneView(lane_file_.bytes(), layout);
    channel_.emplace(control_.get());
    child_process::ChildStart beginning{kPurpose, shared_->command, kMark, {}, kCrashDescriptor};
    beginning.descriptors = {{other.get(), kControlDescriptor},
                             {shared_->slice_memory.get(), kSliceMemoryDescriptor},
                             {lane_file_.descriptor(), kLaneDescriptor},
                             {work_.read.get(), kWorkDescriptor},
                             {shared_->results.write.get(), kResultsDescriptor}};
    if (shared_->library.is_open())
      beginning.descriptors.emplace_back(shared_->library.get(), kPluginDescriptor);
    if (std::string why = child_.start(beginning); !why.empty()) return why;
    // It allocates little before its settings arrive.
    if (shared_->groups) {
      auto group = shared_->groups->add(child_.pid());
      if (!group) {
        child_.give_up();
        return "cannot limit the memory of a filter worker: " + group.error();
      }
      group_ = std::move(*group);
    }
    shared_->watched.push_back({child_.pidfd(), -1, -1});
    watch_the_rest();
    return {};
  }

  const LaneView& lane() const override { return lane_; }
  void send(const v1::WorkerMessage& message) override { channel_->send(message); }
  bool receive(v1::WorkerMessage& message) override {
    child_.pass_output();
    if (channel_->receive(message)) return true;
    if (channel_->ended()) end_in_order();  // it has closed the socket, or sent nonsense
    if (channel_->ended() || child_.output() < 0) watch_the_rest();
    return false;
  }
  void wake() override { (void)!::write(work_.write.get(), "", 1); }
  void end_in_order() override {
    if (kill_ns_ != 0) return;
    kill_ns_ = awake_now_ns() + kOrderlyEnd;
    channel_->flush();
    ::shutdown(control_.get(), SHUT_WR);
  }
  void kill(bool hard) override { child_.kill(hard); }
  std::optional<WorkerEnd> end() override {
    if (end_) return end_;
    const auto& ended = child_.end();
    if (!ended) {
      if (kill_ns_ != 0 && awake_now_ns() >= kill_ns_) kill(true);
      return std::nullopt;
    }
    end_ = describe(*ended);
    if (!group_.empty()) {
      if (MemoryGroups::ran_out(group_)) {
        end_->kind = EndKind::memory;
        end_->text = "out of memory: the kernel ended it at its limit\n" + end_->text;
      }
      shared_->groups->remove(std::exchange(group_, {}));
    }
    std::erase_if(shared_->watched, [this](const auto& one) { return one.pidfd == child_.pidfd(); });
    return end_;
  }
  std::int64_t pid() const override { return child_.pid(); }

 private:
  // Descriptors that are at their end would be readable forever.
  void watch_the_rest() {
    for (auto& one : shared_->watched) {
      if (one.pidfd != child_.pidfd()) continue;
      one.control = channel_->ended() ? -1 : control_.get();
      one.output = child_.output();
    }
  }

  std::shared_ptr<SpawnedWorkers::Shared> shared_;
  OwnedDescriptor control_;
  Pipe work_;
  ChildProcess child_;
  SharedFile lane_file_;
  LaneView lane_;
  std::optional<ControlChannel> channel_;
  std::string group_;   // the folder of its control group; empty: none
  TimeNs kill_ns_ = 0;  // when an orderly end has taken too long; 0: it was not asked for
  std::optional<WorkerEnd> end_;
};

}  // namespace

SpawnedWorkers::SpawnedWorkers(std::vector<std::string> command, int slice_memory,
                               ports::Readiness* readiness)
    : shared_(std::make_shared<Shared>()) {
  shared_->command = std::move(command);
  shared_->slice_memory =
      OwnedDescriptor(::fcntl(slice_memory, F_DUPFD_CLOEXEC, child_process::kFirstPrivate));
  if (!shared_->results.open(O_CLOEXEC | O_NONBLOCK) || !shared_->slice_memory.is_open())
    throw std::runtime_error(system_error("pipe"));
  orphans::adopt();
  if (readiness == nullptr) return;
  watch_ = readiness->watch(shared_->results.read.get(), [this] {
    std::array<char, 4096> read;
    (void)!::read(shared_->results.read.get(), read.data(), read.size());
    watch_->arm();  // a pass follows anyhow
  });
  if (watch_ != nullptr) watch_->arm();
}

SpawnedWorkers::~SpawnedWorkers() = default;

Expected<std::unique_ptr<WorkerProcess>, std::string> SpawnedWorkers::start(const LaneLayout& layout) {
  auto worker = std::make_unique<SpawnedWorker>(shared_);
  if (std::string why = worker->start(layout); !why.empty()) return Unexpected<std::string>(std::move(why));
  return std::unique_ptr<WorkerProcess>(std::move(worker));
}

std::string SpawnedWorkers::limit_memory(std::uint64_t bytes) {
  const auto whole = [](const char* path) {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  };
  auto groups =
      MemoryGroups::make(whole("/proc/self/mountinfo"), whole("/proc/self/cgroup"), ::getpid(), bytes);
  if (!groups) return groups.error();
  shared_->groups = std::move(*groups);
  return {};
}

std::string SpawnedWorkers::share_library(const std::string& bytes) {
  shared_->library = child_process::sealed_file("weir-plugin", bytes);
  return shared_->library.is_open() ? std::string() : system_error("a copy of the plugin in memory");
}

void SpawnedWorkers::wait(DurationNs patience_ns) {
  (void)shared_->poll_for(static_cast<int>(std::max<DurationNs>(1, patience_ns / kMillisecond)));
}

bool SpawnedWorkers::has_news() {
  const TimeNs now = now_ns();
  if (now - shared_->looked_ns < kLookEvery) return false;
  shared_->looked_ns = now;
  return shared_->poll_for(0);
}

TimeNs SpawnedWorkers::now_ns() const { return awake_now_ns(); }

}  // namespace weir::filter_host
