#pragma once

#include <string>
#include <sys/types.h>

// Processes that a child of this one has started and not ended.
namespace weir::launch {

// Its value in the environment of a child is the child's process number, which all that it starts inherits.
inline constexpr const char* kOwnerVariable = "WEIR_CHILD";

// Makes this process the parent of what its children leave behind (PR_SET_CHILD_SUBREAPER).
void adopt_orphans();

// Ends what a child that has ended and was waited for has left behind, and waits for it up to a second.
// Without /proc such processes cannot be found.
void end_orphans_of(pid_t child);

}  // namespace weir::launch
