#pragma once

#include <weir/base/time.hpp>
#include <weir/control/health.hpp>

#include <optional>
#include <vector>

namespace weir::control {

// Keeps the first finding for a minimum time, so that causes that come and go can be read. Pure; times
// ascend.
class Headline {
 public:
  // Looks at the findings of the moment. A graver one, or one of the same gravity while the headline still
  // holds, takes the lead at once: it is a cause of the headline.
  void look(const std::vector<Finding>& findings, TimeNs now);
  void clear() { kept_.reset(); }
  // Returns the findings with the headline first: a warning or error that has gone before its time.
  [[nodiscard]] std::vector<Finding> keep(std::vector<Finding> findings, TimeNs now) const;

  static constexpr DurationNs kStays = 5 * kSecond;  // from the moment when it took the lead

 private:
  struct Kept {
    Finding finding;
    TimeNs since = 0;
  };
  std::optional<Kept> kept_;
};

}  // namespace weir::control
