#include <weir/base/owned_descriptor.hpp>
#include <weir/clock/clock.hpp>
#include <weir/lab/pauses.hpp>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace weir::lab {
namespace {

constexpr DurationNs kSharePeriod = 20 * kMillisecond;

// Direct system calls, because glibc 2.36's header declares its functions for C only.
OwnedDescriptor open_process(pid_t pid) {
  return OwnedDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool send_signal(const OwnedDescriptor& process, int signal) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

}  // namespace

bool Rhythm::still(DurationNs elapsed_ns) const {
  return every_ns > 0 && elapsed_ns >= every_ns && elapsed_ns % every_ns < for_ns;
}

DurationNs Rhythm::until_change_ns(DurationNs elapsed_ns) const {
  if (every_ns <= 0 || for_ns <= 0) return kSecond;
  const DurationNs into = elapsed_ns % every_ns;
  return std::min(still(elapsed_ns) ? for_ns - into : every_ns - into, kSecond);
}

Rhythm rhythm_of_share(double cpu_share) {
  if (cpu_share <= 0 || cpu_share >= 1) return {};
  // Each turn lasts a millisecond at least; a shorter one is lost while the process wakes up.
  const auto period =
      std::max(kSharePeriod, static_cast<DurationNs>(static_cast<double>(kMillisecond) / cpu_share));
  return {period, period - static_cast<DurationNs>(static_cast<double>(period) * cpu_share)};
}

class Pauses::Keeper {
 public:
  Keeper() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Keeper() { stop(); }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void add_host(const std::string& name, const Rhythm& pause, const Rhythm& share) {
    LabHost& host = hosts_.emplace_back();
    host.name = name;
    host.pause.rhythm = pause;
    host.share.rhythm = share;
  }

  void add_process(const std::string& name, pid_t pid) {
    const std::lock_guard lock(mutex_);
    for (LabHost& host : hosts_) {
      if (host.name != name) continue;
      OwnedDescriptor process = open_process(pid);
      if (!process.is_open()) return;
      if (host.still) send_signal(process, SIGSTOP);
      host.processes.push_back(std::move(process));
    }
  }

  void start(TimeNs began_ns) {
    if (thread_.joinable() || hosts_.empty()) return;
    began_ns_ = began_ns;
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    if (!thread_.joinable()) return;
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
  }

  [[nodiscard]] std::vector<PauseReport> reports() {
    const std::lock_guard lock(mutex_);
    std::vector<PauseReport> reports;
    for (const LabHost& host : hosts_)
      reports.push_back({host.name, host.pause.times, host.pause.seconds, host.share.seconds});
    return reports;
  }

 private:
  struct Part {
    Rhythm rhythm;
    bool still = false;
    TimeNs since_ns = 0;
    std::uint64_t times = 0;
    double seconds = 0;

    void set(bool now_still) {
      if (still == now_still) return;
      still = now_still;
      if (still) {
        since_ns = monotonic_now_ns();
        ++times;
      } else {
        seconds += static_cast<double>(monotonic_now_ns() - since_ns) / static_cast<double>(kSecond);
      }
    }
  };
  struct LabHost {
    std::string name;
    Part pause;
    Part share;
    std::vector<OwnedDescriptor> processes;
    bool still = false;
  };

  void run() {
    ::prctl(PR_SET_TIMERSLACK, 1);
    pollfd file{wake_.get(), POLLIN, 0};
    while (file.revents == 0) {
      const DurationNs wait = turn(monotonic_now_ns() - began_ns_);
      const timespec timeout{wait / kSecond, wait % kSecond};
      ::ppoll(&file, 1, &timeout, nullptr);
    }
    const std::lock_guard lock(mutex_);
    for (LabHost& host : hosts_) set(host, false, false);
  }

  // Returns the time until the next turn.
  DurationNs turn(DurationNs elapsed_ns) {
    const std::lock_guard lock(mutex_);
    DurationNs wait = kSecond;
    for (LabHost& host : hosts_) {
      set(host, host.pause.rhythm.still(elapsed_ns), host.share.rhythm.still(elapsed_ns));
      wait = std::min({wait, host.pause.rhythm.until_change_ns(elapsed_ns),
                       host.share.rhythm.until_change_ns(elapsed_ns)});
    }
    return wait;
  }

  static void set(LabHost& host, bool pause, bool share) {
    if (host.still != (pause || share)) {
      host.still = pause || share;
      // Forgets processes that have ended.
      std::erase_if(host.processes, [&](const OwnedDescriptor& process) {
        return !send_signal(process, host.still ? SIGSTOP : SIGCONT);
      });
    }
    host.pause.set(pause);
    host.share.set(share);
  }

  OwnedDescriptor wake_;
  std::mutex mutex_;  // guards the hosts' processes and the reports
  std::vector<LabHost> hosts_;
  TimeNs began_ns_ = 0;
  std::thread thread_;
};

Pauses::Pauses() : keeper_(std::make_unique<Keeper>()) {}
Pauses::~Pauses() = default;
Pauses::Pauses(Pauses&& other) noexcept = default;
Pauses& Pauses::operator=(Pauses&& other) noexcept = default;

void Pauses::add_host(const std::string& name, const Rhythm& pause, const Rhythm& share) {
  keeper_->add_host(name, pause, share);
}
void Pauses::add_process(const std::string& host, pid_t pid) { keeper_->add_process(host, pid); }
void Pauses::start(DurationNs ago_ns) { keeper_->start(monotonic_now_ns() - ago_ns); }
void Pauses::stop() { keeper_->stop(); }
std::vector<PauseReport> Pauses::reports() const { return keeper_->reports(); }

}  // namespace weir::lab
