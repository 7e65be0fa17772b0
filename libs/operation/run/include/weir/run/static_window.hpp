#pragma once

#include <weir/base/expected.hpp>
#include <weir/launch/child.hpp>

#include <cstdint>
#include <string>

namespace weir::run {

// A TCP congestion control with a static window, registered in the kernel by a process of its own
// (weir-static-window) for as long as this object exists. Sockets that use it keep it until they close.
class StaticWindow {
 public:
  // Starts the process and waits for its registration. Requires: the thread lives as long as the object.
  // `program`: path of weir-static-window; empty: beside this program.
  // Errors: why there is none here: rights, the build, or the kernel.
  [[nodiscard]] static Expected<StaticWindow, std::string> start(std::uint32_t segments,
                                                                 const std::string& program = {});
  // Returns the name under which the kernel has it.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  launch::Child process_;
  std::string name_;
};

}  // namespace weir::run
