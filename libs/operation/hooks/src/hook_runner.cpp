#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/base/text.hpp>
#include <weir/child_process/child_parts.hpp>
#include <weir/clock/clock.hpp>
#include <weir/hooks/hook_runner.hpp>
#include <weir/orphans/orphans.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace weir::hooks {
namespace {

namespace fs = std::filesystem;
using control::HookEnd;

constexpr auto kLook = std::chrono::milliseconds(20);  // while children run

std::string first_line(const std::string& output) {
  const std::size_t begin = std::min(output.find_first_not_of(" \t\r\n"), output.size());
  return clean_text(output.substr(begin, output.find_first_of("\r\n", begin) - begin),
                    HookRunner::kReasonMax);
}

}  // namespace

HookRunner::HookRunner(std::string folder) : folder_(std::move(folder)) {
  orphans::adopt();
  thread_ = std::thread([this] { run(); });
}

HookRunner::~HookRunner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const HookJob& job : waiting_)
      spdlog::warn("hook not started name={} occasion=\"{}\" reason=\"run control ends\"", job.name,
                   job.occasion);
    waiting_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

bool HookRunner::add(HookJob job) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kWaitingMax) return false;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_all();
  return true;
}

void HookRunner::cancel(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(id);
}

std::vector<HookResult> HookRunner::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

std::vector<HookResult> HookRunner::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  (void)ended_.wait_for(lock, patience, [this] { return !results_.empty(); });
  return std::exchange(results_, {});
}

void HookRunner::run() {
  TimeNs until_ns = 0;  // after the end of this object
  std::unique_lock lock(mutex_);
  for (;;) {
    if (ending_ && running_.empty()) return;
    if (ending_ && until_ns == 0) until_ns = monotonic_now_ns() + kLastWait;
    start_some();
    for (const std::uint64_t id : std::exchange(cancelled_, {})) {
      std::erase_if(waiting_, [&](const HookJob& job) { return job.id == id; });
      for (Child& child : running_) child.cancelled = child.cancelled || child.job.id == id;
    }
    lock.unlock();
    const TimeNs now = monotonic_now_ns();
    if (until_ns != 0 && now >= until_ns) {
      for (Child& child : running_) child.cancelled = true;
    }
    see_ends(now);
    lock.lock();
    if (ending_ && running_.empty()) return;
    const auto wakes = [this] { return ending_ || !waiting_.empty(); };
    if (running_.empty()) {
      changed_.wait(lock, wakes);
    } else {
      changed_.wait_for(lock, kLook);
    }
  }
}

// Requires the lock, which it releases while a child is started.
void HookRunner::start_some() {
  for (std::size_t i = 0; i < waiting_.size() && running_.size() < kAtOnceMax;) {
    const bool busy = std::any_of(running_.begin(), running_.end(),
                                  [&](const Child& child) { return child.job.lane == waiting_[i].lane; });
    if (busy) {
      ++i;
      continue;
    }
    HookJob job = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    mutex_.unlock();
    start(std::move(job));
    mutex_.lock();
  }
}

void HookRunner::start(HookJob job) {
  WEIR_ASSERT(running_.size() < kAtOnceMax);
  Child child;
  child.begun_ns = monotonic_now_ns();
  child.mark = fmt::format("WEIR_HOOK_PROCESS={}-{}", ::getpid(), ++started_);
  const auto failed = [&](const std::string& why) {
    give_result(job, {HookEnd::Kind::not_started, 0, why}, 0);
  };
  child_process::Pipe pipe;
  if (!pipe.open(O_CLOEXEC) || ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0)
    return failed(std::string("a pipe: ") + std::strerror(errno));
  const OwnedDescriptor input = child_process::sealed_file("weir-hook", job.input);
  if (!input.is_open() || ::lseek(input.get(), 0, SEEK_SET) != 0)
    return failed(std::string("its input: ") + std::strerror(errno));
  child_process::Beginning beginning;
  beginning.pass_on(input.get(), STDIN_FILENO);
  beginning.pass_on(pipe.write.get(), STDOUT_FILENO);
  beginning.pass_on(pipe.write.get(), STDERR_FILENO);
  std::vector<std::string> line = {"/usr/bin/env"};
  line.insert(line.end(), job.environment.begin(), job.environment.end());
  line.insert(line.end(), {"/bin/sh", "-c", job.command});
  if (const int error = beginning.start(std::move(line), child.mark, child.pid); error != 0)
    return failed(std::strerror(error));
  child.output = std::move(pipe.read);
  child.job = std::move(job);
  running_.push_back(std::move(child));
}

void HookRunner::see_ends(TimeNs now) {
  std::erase_if(running_, [&](Child& child) { return has_ended(child, now); });
}

bool HookRunner::has_ended(Child& child, TimeNs now) {
  const auto read_output = [&] {
    std::array<char, 16 * 1024> piece;
    for (ssize_t got = 0; (got = ::read(child.output.get(), piece.data(), piece.size())) > 0;) {
      const auto bytes = static_cast<std::size_t>(got);
      const std::size_t kept = std::min(bytes, kOutputMax - child.said.size());
      child.said.append(piece.data(), kept);
      child.left_out += bytes - kept;
      if (child.left_out > (std::uint64_t{1} << 20)) break;  // the next look continues
    }
  };
  read_output();
  WEIR_ASSERT(child.pid > 0 && child.said.size() <= kOutputMax);
  siginfo_t info{};
  const auto pid = static_cast<id_t>(child.pid);
  if (::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    const bool late = now - child.begun_ns >= child.job.limit_ns;
    if ((late || child.cancelled) && child.kill_ns == 0) {
      child.late = late && !child.cancelled;
      child.kill_ns = now + kGrace;
      ::kill(-child.pid, SIGTERM);
    }
    if (child.kill_ns != 0 && now >= child.kill_ns) ::kill(-child.pid, SIGKILL);
    return false;
  }
  // Before the child is reaped: after that the kernel may reuse its number.
  ::kill(-child.pid, SIGKILL);
  (void)::waitid(P_PID, pid, &info, WEXITED | WNOHANG);
  orphans::end_descendants(child.pid, child.mark);
  read_output();
  HookEnd end{child.late                   ? HookEnd::Kind::late
              : info.si_code == CLD_EXITED ? HookEnd::Kind::status
                                           : HookEnd::Kind::by_signal,
              info.si_status, first_line(child.said)};
  keep_output(child, end, now - child.begun_ns);
  give_result(child.job, std::move(end), now - child.begun_ns);
  return true;
}

void HookRunner::give_result(const HookJob& job, HookEnd end, DurationNs took_ns) {
  {
    const std::lock_guard lock(mutex_);
    results_.push_back({job.id, std::move(end), took_ns});
  }
  ended_.notify_all();
}

void HookRunner::keep_output(const Child& child, const HookEnd& end, DurationNs took_ns) const {
  std::error_code none;
  fs::create_directories(folder_, none);
  const std::string path = folder_ + "/" + child.job.name + ".log";
  if (const auto bytes = fs::file_size(path, none); !none && bytes > kFileMax)
    fs::rename(path, path + ".1", none);
  std::ofstream file(path, std::ios::app | std::ios::binary);
  control::Hook what;
  what.limit_ns = child.job.limit_ns;
  HookEnd without = end;
  without.output.clear();
  file << fmt::format("{} {}: {}, {:.1f} s\n", utc_text(utc_now_ns()), child.job.occasion, without.text(what),
                      static_cast<double>(took_ns) / kSecond)
       << child.said;
  if (!child.said.empty() && child.said.back() != '\n') file << '\n';
  if (child.left_out > 0) file << fmt::format("({} left out)\n", counted(child.left_out, "byte"));
  file.close();
  if (file.fail()) spdlog::warn("hook output not kept path={}", path);
}

}  // namespace weir::hooks
