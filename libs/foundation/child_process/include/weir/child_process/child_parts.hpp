#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/owned_descriptor.hpp>

#include <spawn.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/types.h>
#include <vector>

// Memory, pipes, and the start of a child. A child may do anything to a descriptor that it inherits; nothing
// of that may end or block its parent.
namespace weir::child_process {

// A file in memory with a mapping of it. Its size cannot change: a mapping beyond the end of a file that was
// truncated ends the process that reads it.
class SharedFile {
 public:
  SharedFile() = default;
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  [[nodiscard]] bool open(const char* name, std::size_t bytes);
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] Bytes bytes() const { return {static_cast<std::byte*>(memory_), bytes_}; }

 private:
  OwnedDescriptor file_;
  void* memory_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

// Returns a file in memory that nothing can change; closed: the system refuses.
[[nodiscard]] OwnedDescriptor sealed_file(const char* name, std::string_view bytes);

// A pipe. Each end has its own flags, unlike an eventfd: there a child could clear O_NONBLOCK for its
// parent as well.
struct Pipe {
  OwnedDescriptor read;
  OwnedDescriptor write;

  // False: the system gives none.
  [[nodiscard]] bool open(int flags);
};

// Gives a child the default handlers and an empty mask of signals. `group`: POSIX_SPAWN_SETPGROUP or
// POSIX_SPAWN_SETSID.
void set_default_signals(posix_spawnattr_t& attributes, short group);

// Prepares a child: descriptors, signals, process group, environment.
class Beginning {
 public:
  Beginning();
  ~Beginning();
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  void pass_on(int from, int to);
  // `mark`: a word NAME=VALUE for the child's environment. Returns an error number.
  [[nodiscard]] int start(std::vector<std::string> command, std::string mark, pid_t& pid);

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  int first_closed_ = 0;
};

// Passes on the output of a child to standard error of this process, in whole lines. The child cannot write
// there itself: its descriptor would stay with a log file that was closed at log.file_bytes_max.
class PassedOutput {
 public:
  [[nodiscard]] bool open();
  // To be inherited as standard output and error; closed by started().
  [[nodiscard]] int descriptor() const { return pipe_.write.get(); }
  void started() { pipe_.write = OwnedDescriptor(); }
  // Negative: nothing more comes.
  [[nodiscard]] int readable() const { return pipe_.read.get(); }
  // Passes on the lines that have arrived; at the `end`, the rest as well.
  void pass_on(bool end);

 private:
  Pipe pipe_;
  std::string line_;  // so far
};

}  // namespace weir::child_process
