#pragma once

#include <weir/orphans/orphans.hpp>

#include <string>
#include <sys/types.h>

namespace weir::launch {

// In the environment of a child, this has the child's process number; everything that it starts inherits it.
inline constexpr const char* kOwnerVariable = "WEIR_CHILD";

// Kills the descendants of a child that has ended and was waited for.
inline void end_orphans_of(pid_t child) {
  orphans::end_descendants(child, std::string(kOwnerVariable) + "=" + std::to_string(child));
}

}  // namespace weir::launch
