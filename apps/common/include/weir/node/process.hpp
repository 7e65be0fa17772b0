#pragma once

#include <cstddef>
#include <string>
#include <sys/types.h>

namespace weir::node {

// Ends this process with SIGTERM when its parent ends; at once, with the status of that signal, when `parent`
// is not its parent any more. `parent` is best told by who started it: what the process finds may be who took
// it over.
void die_with_parent(pid_t parent);

// Raises the limit of open files as far as it goes. A sentence when that is not enough for a process of a
// farm of so many; else empty.
[[nodiscard]] std::string allow_descriptors(std::size_t farm_processes);

}  // namespace weir::node
