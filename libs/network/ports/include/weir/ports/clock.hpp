#pragma once

#include <weir/base/time.hpp>

namespace weir::ports {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimeNs now_ns() const = 0;  // monotonic
  [[nodiscard]] virtual UtcNs utc_ns() const = 0;   // may jump
};

}  // namespace weir::ports
