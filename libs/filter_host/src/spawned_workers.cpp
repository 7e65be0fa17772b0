#include "lifted_descriptor.hpp"
#include "memory_groups.hpp"
#include <weir/clock/clock.hpp>
#include <weir/filter_host/control_channel.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/filter_host/worker_descriptors.hpp>

#include <spawn.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <new>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

extern char** environ;

namespace weir::filter_host {
namespace {

using worker_pool::EndKind;
using worker_pool::WorkerEnd;

constexpr DurationNs kLookEvery = kMillisecond;

std::string system_error(const char* call) {
  return std::string("cannot start a filter worker: ") + call + ": " + std::strerror(errno);
}

OwnedDescriptor make_eventfd() { return lifted(OwnedDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))); }

void raise_event(int descriptor) {
  const std::uint64_t one = 1;
  (void)!::write(descriptor, &one, sizeof one);
}

// A file in memory with a mapping of it.
class SharedFile {
 public:
  ~SharedFile() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_);
  }
  [[nodiscard]] bool open(const char* name, std::size_t bytes) {
    file_ = lifted(OwnedDescriptor(::memfd_create(name, MFD_CLOEXEC)));
    if (!file_.is_open() || ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) return false;
    bytes_ = bytes;
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
    return memory_ != MAP_FAILED;
  }
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] Bytes bytes() const { return {static_cast<std::byte*>(memory_), bytes_}; }

 private:
  OwnedDescriptor file_;
  void* memory_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

// Prepares a child: descriptors, signals, process group.
class Beginning {
 public:
  Beginning() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ~Beginning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  void pass_on(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  [[nodiscard]] int start(std::vector<std::string> command, pid_t& pid) {
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kCrashDescriptor + 1);
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    return ::posix_spawn(&pid, argv.front(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
};

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
  OwnedDescriptor results;
  struct Watched {
    int pidfd;
    int control;
  };
  std::vector<Watched> watched;
  TimeNs looked_ns = 0;
  std::unique_ptr<MemoryGroups> groups;  // null: workers limit themselves

  [[nodiscard]] bool poll_for(int milliseconds) const {
    std::vector<pollfd> list;
    list.reserve(2 * watched.size());
    for (const Watched& one : watched) {
      list.push_back({one.pidfd, POLLIN, 0});
      list.push_back({one.control, POLLIN, 0});
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
    work_ = make_eventfd();
    if (!control_.is_open() || !other.is_open() || !work_.is_open()) return system_error("descriptors");
    if (!lane_file_.open("weir-lane", layout.bytes) || !note_.open("weir-crash-note", kCrashNoteMax))
      return system_error("memfd_create");
    new (lane_file_.bytes().data()) LaneHeader;
    lane_ = LaneView(lane_file_.bytes(), layout);
    channel_.emplace(control_.get());
    Beginning beginning;
    beginning.pass_on(other.get(), kControlDescriptor);
    beginning.pass_on(shared_->slice_memory.get(), kSliceMemoryDescriptor);
    beginning.pass_on(lane_file_.descriptor(), kLaneDescriptor);
    beginning.pass_on(work_.get(), kWorkDescriptor);
    beginning.pass_on(shared_->results.get(), kResultsDescriptor);
    beginning.pass_on(note_.descriptor(), kCrashDescriptor);
    if (const int error = beginning.start(shared_->command, pid_); error != 0)
      return "cannot start a filter worker: " + shared_->command.front() + ": " + std::strerror(error);
    pidfd_ = OwnedDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (!pidfd_.is_open()) return give_up(system_error("pidfd_open"));
    // It allocates little before its settings arrive.
    if (shared_->groups) {
      auto group = shared_->groups->add(pid_);
      if (!group) return give_up("cannot limit the memory of a filter worker: " + group.error());
      group_ = std::move(*group);
    }
    shared_->watched.push_back({pidfd_.get(), control_.get()});
    return {};
  }

  const LaneView& lane() const override { return lane_; }
  void send(const v1::WorkerMessage& message) override { channel_->send(message); }
  bool receive(v1::WorkerMessage& message) override { return channel_->receive(message); }
  void wake() override { raise_event(work_.get()); }
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
    if (look(WNOWAIT) != 0 || info.si_pid == 0) return std::nullopt;
    // Ends forked children of the filter, too. Before the worker is reaped: after that the kernel may reuse
    // its number.
    ::kill(-pid_, SIGKILL);
    (void)look(0);
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
  std::string give_up(std::string why) const {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    return why;
  }

  std::shared_ptr<SpawnedWorkers::Shared> shared_;
  OwnedDescriptor control_;
  OwnedDescriptor work_;
  OwnedDescriptor pidfd_;
  SharedFile lane_file_;
  SharedFile note_;
  LaneView lane_;
  std::optional<ControlChannel> channel_;
  std::string group_;  // the folder of its control group; empty: none
  pid_t pid_ = 0;
  bool killed_hard_ = false;
  std::optional<WorkerEnd> end_;
};

}  // namespace

SpawnedWorkers::SpawnedWorkers(std::vector<std::string> command, int slice_memory,
                               ports::Readiness* readiness)
    : shared_(std::make_shared<Shared>()) {
  shared_->command = std::move(command);
  shared_->slice_memory = OwnedDescriptor(::fcntl(slice_memory, F_DUPFD_CLOEXEC, kFirstPrivate));
  shared_->results = make_eventfd();
  if (!shared_->results.is_open() || !shared_->slice_memory.is_open())
    throw std::runtime_error(system_error("eventfd"));
  if (readiness == nullptr) return;
  watch_ = readiness->watch(shared_->results.get(), [this] {
    std::uint64_t count = 0;
    (void)!::read(shared_->results.get(), &count, sizeof count);
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
