#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The use of the thread that moves a process' data: one thread, so at most one core.
namespace weir::reports {

// Of one core, during some time.
struct LoopUse {
  double cpu = 0;   // share in which the thread ran
  double wait = 0;  // share in which it was ready to run, and no core was free
};

enum class LoopLimit : std::uint8_t {
  none,
  core,  // the thread uses its core fully
  host   // its host has no free core for it in a quarter of the time
};
[[nodiscard]] LoopLimit limit_of(const LoopUse& use);

// Returns how the thread was used in the run so far, which lasts `seconds` (> 0).
[[nodiscard]] LoopUse loop_use(const v1::Report& report, double seconds);

// How the thread of one process was used in the last seconds. Takes its reports, possibly the same several
// times.
class LoopWatch {
 public:
  void take(const v1::Report& report);
  // Over the last whole kWindow of one process and run; nullopt: there is none yet.
  [[nodiscard]] const std::optional<LoopUse>& lately() const { return lately_; }

  static constexpr DurationNs kWindow = 5 * kSecond;

 private:
  std::uint64_t incarnation_ = 0;
  TimeNs now_ns_ = 0;  // of the report at the window's begin; 0: none
  double cpu_s_ = 0;
  double wait_s_ = 0;
  std::optional<LoopUse> lately_;
};

struct NodeUse {
  std::string name;
  v1::Role role = v1::ROLE_UNKNOWN;
  LoopUse use;
};

// Returns a sentence and a remedy for the full processes of each role, as "dcm-0: 96 % of a core used, which
// is all that one process can: add DCMs", and one for processes on hosts with too few cores.
[[nodiscard]] std::vector<std::string> limits(std::span<const NodeUse> nodes);

}  // namespace weir::reports
