#pragma once

#include <weir/base/owned_descriptor.hpp>

#include <fcntl.h>
#include <utility>

namespace weir::child_process {

// Descriptors of the DCM are above all numbers that a worker inherits.
constexpr int kFirstPrivate = 16;

// Returns the descriptor, or a duplicate above the numbers that posix_spawn's dup2 writes to.
[[nodiscard]] inline OwnedDescriptor lifted(OwnedDescriptor descriptor) {
  if (!descriptor.is_open() || descriptor.get() >= kFirstPrivate) return descriptor;
  return OwnedDescriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kFirstPrivate));
}

}  // namespace weir::child_process
