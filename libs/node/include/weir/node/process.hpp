#pragma once

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace weir::node {

// The exit status of a process that a signal has ended is this plus the signal, as shells say it.
constexpr int kSignalBase = 128;

// Ends this process with SIGTERM when its parent ends; at once, with the status of that signal, when `parent`
// is not its parent any more. The parent itself had best pass its number on: getppid() may already name the
// process that has adopted this one.
void die_with_parent(pid_t parent);

// Raises the limit of open files as far as the system allows. Empty, or a sentence that says why
// that is not enough for a process of a farm of this size.
[[nodiscard]] std::string allow_descriptors(std::size_t farm_processes);

}  // namespace weir::node
