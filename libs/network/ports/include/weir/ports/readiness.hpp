#pragma once

#include <functional>
#include <memory>

namespace weir::ports {

// Waits until a file descriptor that other code reads is readable. Destroying it ends the wait; the
// descriptor stays open, and belongs to its owner.
class Watch {
 public:
  virtual ~Watch() = default;
  // Requests one call of the handler, as soon as the descriptor is readable. Repeated requests before that
  // give one call.
  virtual void arm() = 0;
};

class Readiness {
 public:
  virtual ~Readiness() = default;
  // The handler is called on the loop's thread. Returns null if this descriptor cannot be waited on (a plain
  // file).
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) = 0;
};

}  // namespace weir::ports
