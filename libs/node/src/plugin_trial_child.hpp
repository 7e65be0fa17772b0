#pragma once

#include <weir/base/time.hpp>

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::node {

// This executable again, as a child that tries the node's plugin (`--try-plugins`) and prints on standard
// output the problems found. A plugin that crashes, ends its process or does not return costs the child
// alone. Not waited for: its owner asks in each turn. Destroying the object kills the child.
class PluginTrialChild {
 public:
  // Throws std::runtime_error: the child cannot be started.
  // `farm`: a v1::Farm in bytes, which the child reads on standard input.
  PluginTrialChild(const std::vector<std::string>& arguments, const std::string& farm, TimeNs now,
                   DurationNs limit);
  ~PluginTrialChild();
  PluginTrialChild(const PluginTrialChild&) = delete;
  PluginTrialChild& operator=(const PluginTrialChild&) = delete;

  // Nothing while it runs. Empty: the plugin is good; else why it is not, a sentence.
  [[nodiscard]] std::optional<std::string> result(TimeNs now);

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
