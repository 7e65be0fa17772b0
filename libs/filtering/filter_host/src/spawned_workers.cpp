#include "lifted_descriptor.hpp"
#include "memory_groups.hpp"
#include "worker_spawning.hpp"
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

using worker_pool::EndKind;
using worker_pool::WorkerEnd;

constexpr DurationNs kLookEvery = kMillisecond;
constexpr DurationNs kOrderlyEnd = 3 * kSecond;  // then a worker is killed
constexpr const char* kMark = "WEIR_FILTER_WORKER=";

// Returns a mark that no other worker of this process has, whichever object starts it: a worker's end ends
// all processes with its mark.
std::string next_mark() {
  static std::atomic<std::uint64_t> started{0};
  return kMark + std::to_string(::getpid()) + "-" + std::to_string(++started);
}

std::string system_error(const char* call) {
  return std::string("cannot start a filter worker: ") + call + ": " + std::strerror(errno);
}

std::string crash_note(ConstBytes note) {
  const auto* text = reinterpret_cast<const char*>(note.data());
  std::string out(text, ::strnlen(text, note.size()));
  for (char& c : out) {
    const bool printable = c == '\n' || (c >= ' ' && c <= '~');
    if (!printable) c = '?';
  }
  return out;
}

WorkerEnd describe(const siginfo_t& info, bool killed_here, const std::string& note) {
  WorkerEnd end;
  if (info.si_code == CLD_EXITED) {
    end.kind = info.si_status == kExitOutOfMemory ? EndKind::memory : EndKind::exit;
    end.text = info.si_status == kExitOutOfMemory ? "out of memory"
                                                  : "exit status " + std::to_string(info.si_status);
  } else {
    const char* name = ::strsignal(info.si_status);
    end.kind = info.si_status == SIGKILL && !killed_here ? EndKind::memory : EndKind::signal;
    end.text = "signal " + std::to_string(info.si_status) + " (" + (name != nullptr ? name : "unknown") + ")";
  }
  if (!note.empty()) end.text += "\n" + note;
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
    std::erase_if(shared_->watched, [this](const auto& one) { return one.pidfd == pidfd_.get(); });
    if (!group_.empty()) shared_->groups->remove(group_);
  }

  // An error is a sentence.
  [[nodiscard]] std::string start(const LaneLayout& layout) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return system_error("socketpair");
    control_ = lifted(OwnedDescriptor(pair[0]));
    const OwnedDescriptor other = lifted(OwnedDescriptor(pair[1]));
    if (!control_.is_open() || !other.is_open() || !work_.open(O_CLOEXEC | O_NONBLOCK) || !output_.open())
      return system_error("descriptors");
    if (!lane_file_.open("weir-lane", layout.bytes) || !note_.open("weir-crash-note", kCrashNoteMax))
      return system_error("memfd_create");
    new (lane_file_.bytes().data()) LaneHeader;
    lane_ = LaneView(lane_file_.bytes(), layout);
    channel_.emplace(control_.get());
    Beginning beginning;
    beginning.pass_on(other.get(), kControlDescriptor);
    beginning.pass_on(shared_->slice_memory.get(), kSliceMemoryDescriptor);
    beginning.pass_on(lane_file_.descriptor(), kLaneDescriptor);
    beginning.pass_on(work_.read.get(), kWorkDescriptor);
    beginning.pass_on(shared_->results.write.get(), kResultsDescriptor);
    beginning.pass_on(note_.descriptor(), kCrashDescriptor);
    if (shared_->library.is_open()) beginning.pass_on(shared_->library.get(), kPluginDescriptor);
    for (const int to : {STDOUT_FILENO, STDERR_FILENO}) beginning.pass_on(output_.descriptor(), to);
    mark_ = next_mark();
    if (const int error = beginning.start(shared_->command, mark_, pid_); error != 0)
      return "cannot start a filter worker: " + shared_->command.front() + ": " + std::strerror(error);
    output_.started();
    pidfd_ = OwnedDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!pidfd_.is_open()) return give_up(system_error("pidfd_open"));
    // It allocates little before its settings arrive.
    if (shared_->groups) {
      auto group = shared_->groups->add(pid_);
      if (!group) return give_up("cannot limit the memory of a filter worker: " + group.error());
      group_ = std::move(*group);
    }
    shared_->watched.push_back({pidfd_.get(), -1, -1});
    watch_the_rest();
    return {};
  }

  const LaneView& lane() const override { return lane_; }
  void send(const v1::WorkerMessage& message) override { channel_->send(message); }
  bool receive(v1::WorkerMessage& message) override {
    output_.pass_on(false);
    if (channel_->receive(message)) return true;
    if (channel_->ended()) end_in_order();  // it has closed the socket, or sent nonsense
    if (channel_->ended() || output_.readable() < 0) watch_the_rest();
    return false;
  }
  void wake() override { (void)!::write(work_.write.get(), "", 1); }
  void end_in_order() override {
    if (kill_ns_ != 0) return;
    kill_ns_ = awake_now_ns() + kOrderlyEnd;
    channel_->flush();
    ::shutdown(control_.get(), SHUT_WR);
  }
  void kill(bool hard) override {
    killed_hard_ = killed_hard_ || hard;
    if (!end_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), hard ? SIGKILL : SIGQUIT, nullptr, 0);
  }
  std::optional<WorkerEnd> end() override {
    if (end_) return end_;
    siginfo_t info{};
    constexpr auto kPidfd = static_cast<idtype_t>(3);  // P_PIDFD
    const auto look = [&](int flags) {
      return ::waitid(kPidfd, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG | flags);
    };
    output_.pass_on(false);
    if (look(WNOWAIT) != 0 || info.si_pid == 0) {
      if (kill_ns_ != 0 && awake_now_ns() >= kill_ns_) kill(true);
      return std::nullopt;
    }
    // Ends forked children of the filter, too. Before the worker is reaped: after that the kernel may reuse
    // its number.
    ::kill(-pid_, SIGKILL);
    (void)look(0);
    orphans::end_descendants(pid_, mark_);
    output_.pass_on(true);
    end_ = describe(info, killed_hard_, crash_note(note_.bytes()));
    if (!group_.empty()) {
      if (MemoryGroups::ran_out(group_)) {
        end_->kind = EndKind::memory;
        end_->text = "out of memory: the kernel ended it at its limit\n" + end_->text;
      }
      shared_->groups->remove(std::exchange(group_, {}));
    }
    std::erase_if(shared_->watched, [this](const auto& one) { return one.pidfd == pidfd_.get(); });
    return end_;
  }
  std::int64_t pid() const override { return pid_; }

 private:
  // Descriptors that are at their end would be readable forever.
  void watch_the_rest() {
    for (auto& one : shared_->watched) {
      if (one.pidfd != pidfd_.get()) continue;
      one.control = channel_->ended() ? -1 : control_.get();
      one.output = output_.readable();
    }
  }
  std::string give_up(std::string why) const {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    return why;
  }

  std::shared_ptr<SpawnedWorkers::Shared> shared_;
  OwnedDescriptor control_;
  Pipe work_;
  OwnedDescriptor pidfd_;
  SharedFile lane_file_;
  SharedFile note_;
  WorkerOutput output_;
  LaneView lane_;
  std::optional<ControlChannel> channel_;
  std::string group_;  // the folder of its control group; empty: none
  std::string mark_;   // in the environment of its descendants
  pid_t pid_ = 0;
  TimeNs kill_ns_ = 0;  // when an orderly end has taken too long; 0: it was not asked for
  bool killed_hard_ = false;
  std::optional<WorkerEnd> end_;
};

}  // namespace

SpawnedWorkers::SpawnedWorkers(std::vector<std::string> command, int slice_memory,
                               ports::Readiness* readiness)
    : shared_(std::make_shared<Shared>()) {
  shared_->command = std::move(command);
  shared_->slice_memory = OwnedDescriptor(::fcntl(slice_memory, F_DUPFD_CLOEXEC, kFirstPrivate));
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
  shared_->library = sealed_file("weir-plugin", bytes);
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
