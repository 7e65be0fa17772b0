#pragma once

#include <string>
#include <sys/types.h>

// Processes that a child of this one has started and not ended.
namespace weir::launch {

// Its value in the environment of a child is the child's process number, which all that it starts inherits.
inline constexpr const char* kOwnerVariable = "WEIR_CHILD";

// Makes this process the parent of what its children leave behind (PR_SET_CHILD_SUBREAPER).
void adopt_orphans();

// Kills the remaining descendants of a child that has ended and was waited for, and waits up to a second for
// each. Without /proc they cannot be found.
void end_orphans_of(pid_t child);

}  // namespace weir::launch
