#pragma once

#include <string>
#include <sys/types.h>

// Processes that a child of this process started and left running.
namespace weir::launch {

// In the environment of a child, this has the child's process number; everything that it starts inherits it.
inline constexpr const char* kOwnerVariable = "WEIR_CHILD";

// Makes this process the parent of its children's orphans (PR_SET_CHILD_SUBREAPER).
void adopt_orphans();

// Kills the remaining descendants of a child that has ended and was waited for, and waits up to a second for
// each. They are found through /proc.
void end_orphans_of(pid_t child);

}  // namespace weir::launch
