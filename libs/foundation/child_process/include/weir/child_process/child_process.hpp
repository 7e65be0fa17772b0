#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/child_process/child_parts.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace weir::child_process {

constexpr std::size_t kNoteMax = 64 * 1024;  // bytes

// How a child ended.
struct ChildEnd {
  bool by_signal = false;
  int status = 0;            // exit status, or the signal's number
  bool killed_here = false;  // by kill(true)
  std::string note;          // what it wrote into its note: printable text and line feeds

  // Returns "exit status 1" or "signal 11 (Segmentation fault)".
  [[nodiscard]] std::string text() const;
};

struct ChildStart {
  std::string purpose;               // "a filter worker": for errors
  std::vector<std::string> command;  // the program's path and its arguments
  std::string mark;                  // name of the environment variable that its descendants inherit
  std::vector<std::pair<int, int>> descriptors;  // here, and in the child
  int note = -1;                                 // the child's descriptor of its note
};

// A process that is started by posix_spawn and ends with its descendants. Its output goes to standard error
// of this process. Not thread-safe.
class ChildProcess {
 public:
  // Returns why the child cannot be started, as a sentence; empty: it was. Requires: called once.
  [[nodiscard]] std::string start(const ChildStart& start);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Is readable once the child has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  // Descriptor of the child's output; negative: nothing more comes.
  [[nodiscard]] int output() const { return output_.readable(); }
  void pass_output() { output_.pass_on(false); }
  // By SIGKILL, or else by SIGQUIT, after which the child may still write its note.
  void kill(bool hard);
  // Returns how the child ended, when it and its descendants have; empty while it may live.
  [[nodiscard]] const std::optional<ChildEnd>& end();
  // Kills and reaps a child that is not wanted.
  void give_up() const;

 private:
  OwnedDescriptor pidfd_;
  SharedFile note_;
  PassedOutput output_;
  std::string mark_;
  pid_t pid_ = 0;
  bool killed_hard_ = false;
  std::optional<ChildEnd> end_;
};

// Returns "cannot start PURPOSE: CALL: " and the text of errno.
[[nodiscard]] std::string start_error(const std::string& purpose, const char* call);

}  // namespace weir::child_process
