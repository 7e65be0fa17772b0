#pragma once

#include <string>
#include <sys/types.h>

// Processes that a child of this process started and left running.
namespace weir::orphans {

// Makes this process the parent of its children's orphans (PR_SET_CHILD_SUBREAPER).
void adopt();

// Kills the remaining descendants of a child that has ended and was waited for, and waits up to a second for
// each. They are found through /proc: by the child's process group, or by `mark`, a word NAME=VALUE of the
// environment that they inherited. Requires: adopt() was called before the child was started.
void end_descendants(pid_t child, const std::string& mark);

}  // namespace weir::orphans
