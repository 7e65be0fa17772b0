#pragma once

#include <functional>
#include <memory>

namespace weir::ports {

// A file descriptor that other code reads, waited on for reading. Destroying it ends the wait; the
// descriptor stays open, and stays its owner's.
class Watch {
 public:
  virtual ~Watch() = default;
  // Asks for one call of the handler, as soon as the descriptor is readable; asked again before that: one
  // call.
  virtual void arm() = 0;
};

class Readiness {
 public:
  virtual ~Readiness() = default;
  // The handler is called from the loop's thread. Null when this descriptor cannot be waited on (a plain
  // file).
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) = 0;
};

}  // namespace weir::ports
