#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>

namespace weir::node {

// The exit status of a process that was ended by a signal is this plus the signal, as in shells.
constexpr int kSignalBase = 128;

// Prepares a process; to be called first in main(). Writing beyond `ulimit -f` becomes an error instead of a
// signal. Signals that the starting process had blocked are delivered, SIGINT and SIGTERM among them; ignored
// ones stay ignored (nohup). The ends of child processes are reported, even if SIGCHLD was ignored. Closed
// standard descriptors are opened to /dev/null so that reads and writes fail, and no other file can receive
// printed text.
void prepare_process();

// Returns an empty string if the system does not tell.
[[nodiscard]] std::string host_name();

// Returns how many bytes this process may write to one file (`ulimit -f`).
[[nodiscard]] std::uint64_t file_bytes_limit();

// Ends this process with SIGTERM when its parent ends; at once, with the status of that signal, if `parent`
// is no longer its parent. The parent should pass its own number, because getppid() may already name a
// process that has adopted this one.
void die_with_parent(pid_t parent);

// Binds this thread, and the threads and processes that it starts from now on, to these CPUs; empty: changes
// nothing. Returns why that is not possible, or an empty string.
[[nodiscard]] std::string bind_to_cpus(std::span<const std::uint32_t> cpus);

// Raises the limit of open files as far as the system allows. Returns why that is not enough for a process of
// a farm of this size, or an empty string.
[[nodiscard]] std::string allow_descriptors(std::size_t farm_processes);

}  // namespace weir::node
