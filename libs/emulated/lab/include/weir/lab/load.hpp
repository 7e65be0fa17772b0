#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::lab {

// Processes that only compute, as the most demanding load beside a farm. Each is bound to a core (this
// process' cores in turn), has this process' priority, and is killed by the kernel when this process ends.
// Requires: the thread that starts them lives as long as they do.
class Load {
 public:
  Load() = default;
  ~Load();  // ends the processes
  Load(Load&& other) noexcept;
  Load& operator=(Load&& other) noexcept;
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  [[nodiscard]] static Expected<Load, std::string> start(std::uint32_t processes);
  // Ends the processes, and returns the CPU time that they used together.
  double stop();

 private:
  std::vector<pid_t> pids_;
};

}  // namespace weir::lab
