#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>
#include <weir/control/hooks.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace weir::hooks {

// A hook's command to be executed once.
struct HookJob {
  std::uint64_t id = 0;
  std::string name;                      // of the hook
  std::string lane;                      // jobs of one lane follow each other
  std::string occasion;                  // "after-stop, run 12": for the file of its output
  std::string command;                   // for the shell
  std::vector<std::string> environment;  // NAME=VALUE, besides this process'
  std::string input;                     // of its standard input
  DurationNs limit_ns = 0;
};

struct HookResult {
  std::uint64_t id = 0;
  control::HookEnd end;
  DurationNs took_ns = 0;
};

// Executes hooks in child processes, from a thread of its own. A child ends with its descendants: when it
// ends, at its limit (SIGTERM, then SIGKILL), and kLastWait after the end of this object. The first
// kOutputMax bytes of its output are appended to NAME.log in `folder`, which is renamed to NAME.log.1 beyond
// kFileMax. Requires: `folder` can be made.
class HookRunner {
 public:
  static constexpr std::size_t kWaitingMax = 200;
  static constexpr std::size_t kAtOnceMax = 16;
  static constexpr std::size_t kOutputMax = std::size_t{64} << 10;
  static constexpr std::uintmax_t kFileMax = std::uintmax_t{1} << 20;
  static constexpr std::size_t kReasonMax = 500;
  static constexpr DurationNs kGrace = 2 * kSecond;  // from SIGTERM to SIGKILL
  static constexpr DurationNs kLastWait = 5 * kSecond;

  explicit HookRunner(std::string folder);
  ~HookRunner();
  HookRunner(const HookRunner&) = delete;
  HookRunner& operator=(const HookRunner&) = delete;

  // Never waits. False: too many jobs wait, and this one is not executed.
  [[nodiscard]] bool add(HookJob job);
  // Kills a job that is not wanted any more, or removes it from the queue. Its result still follows.
  void cancel(std::uint64_t id);
  // Returns the results since the last call.
  [[nodiscard]] std::vector<HookResult> take();
  // The same, after a wait for the first one: `patience` at most.
  [[nodiscard]] std::vector<HookResult> wait(std::chrono::milliseconds patience);

 private:
  struct Child {
    HookJob job;
    pid_t pid = 0;
    std::string mark;
    OwnedDescriptor output;
    std::string said;  // at most kOutputMax bytes
    std::uint64_t left_out = 0;
    TimeNs begun_ns = 0;
    TimeNs kill_ns = 0;  // 0: not asked to end yet
    bool late = false;
    bool cancelled = false;
  };
  void run();
  void start_some();
  void start(HookJob job);
  void see_ends(TimeNs now);
  [[nodiscard]] bool has_ended(Child& child, TimeNs now);
  void give_result(const HookJob& job, control::HookEnd end, DurationNs took_ns);
  void keep_output(const Child& child, const control::HookEnd& end, DurationNs took_ns) const;

  std::string folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable ended_;  // a result is there
  std::deque<HookJob> waiting_;
  std::vector<std::uint64_t> cancelled_;
  std::vector<HookResult> results_;
  bool ending_ = false;
  std::vector<Child> running_;  // the thread's own
  std::uint64_t started_ = 0;   // likewise
  std::thread thread_;
};

}  // namespace weir::hooks
