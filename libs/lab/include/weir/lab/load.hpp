#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::lab {

// Processes that only compute: what else runs on a machine, at its most demanding. Each is bound to a core,
// those that this process may use in turn, has this process' priority, and is killed by the kernel when this
// process is gone. The thread that starts them must live as long as they do.
class Load {
 public:
  Load() = default;
  ~Load();  // ends them
  Load(Load&& other) noexcept;
  Load& operator=(Load&& other) noexcept;
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  [[nodiscard]] static Expected<Load, std::string> start(std::uint32_t processes);
  // Ends them; the CPU time that they took together.
  double stop();

 private:
  std::vector<pid_t> pids_;
};

}  // namespace weir::lab
