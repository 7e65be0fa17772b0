#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/owned_descriptor.hpp>

#include <string>

namespace weir::run {

// A program that continues in the background: a child process in a session of its own, without a terminal.
class Detachment {
 public:
  // Divides the process, which must have one thread. In the parent this prints the child's output and returns
  // when the child calls stay() or ends. Errors: the reason of a failed fork.
  [[nodiscard]] static Expected<Detachment, std::string> begin();

  [[nodiscard]] bool is_parent() const { return parent_; }
  // Returns the parent's exit status: 0 if the child continues, otherwise the child's.
  [[nodiscard]] int status() const { return status_; }
  // In the child: lets the parent end. From now on output and errors are appended to the file, or dropped if
  // it cannot be opened.
  void stay(const std::string& log_file);

 private:
  Detachment() = default;
  void wait_for(int child);

  bool parent_ = false;
  int status_ = 0;
  OwnedDescriptor pipe_;
};

}  // namespace weir::run
