#pragma once

#include <weir/base/time.hpp>

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::node {

// Runs a node's executable as a child that tries the node's plugin (`--try-plugins`) and prints the problems
// found to standard output. A plugin that crashes, ends its process or hangs affects only the child. The
// owner polls it in each turn, or waits. Destroying the object kills the child.
class PluginTrialChild {
 public:
  // Throws std::runtime_error if the child cannot be started. `farm`: the farm file, serialised, which the
  // child reads from standard input. `now`: on the monotonic clock.
  PluginTrialChild(const std::string& program, const std::vector<std::string>& arguments,
                   const std::string& farm, TimeNs now, DurationNs limit);
  ~PluginTrialChild();
  PluginTrialChild(const PluginTrialChild&) = delete;
  PluginTrialChild& operator=(const PluginTrialChild&) = delete;

  // Returns nothing while it runs, an empty string if the plugin is good, else the reason why it is not.
  [[nodiscard]] std::optional<std::string> result(TimeNs now);
  // Waits for the result.
  [[nodiscard]] std::string wait();

 private:
  void read_output();
  void kill_child();
  [[nodiscard]] std::string verdict(int status) const;

  pid_t pid_ = -1;
  int output_fd_ = -1;
  TimeNs until_ns_;
  DurationNs limit_;
  std::string output_;
};

}  // namespace weir::node
