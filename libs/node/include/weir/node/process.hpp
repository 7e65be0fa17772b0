#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>

namespace weir::node {

// The exit status of a process that a signal has ended is this plus the signal, as shells say it.
constexpr int kSignalBase = 128;

// Prepares a process, first of all in main(): a file that grows beyond `ulimit -f` is an error instead of a
// signal, and /dev/null takes the numbers of closed standard descriptors, opened so that reads and writes
// fail. No other file can then get printed text.
void prepare_process();

// The bytes that this process may write to one file (`ulimit -f`).
[[nodiscard]] std::uint64_t file_bytes_limit();

// Ends this process with SIGTERM when its parent ends; at once, with the status of that signal, when `parent`
// is not its parent any more. The parent itself had best pass its number on: getppid() may already name the
// process that has adopted this one.
void die_with_parent(pid_t parent);

// Raises the limit of open files as far as the system allows. Empty, or a sentence that says why
// that is not enough for a process of a farm of this size.
[[nodiscard]] std::string allow_descriptors(std::size_t farm_processes);

}  // namespace weir::node
