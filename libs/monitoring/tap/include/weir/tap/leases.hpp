#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace weir::tap {

// The clients with a tap, and the ends of their leases. Pure.
class Leases {
 public:
  explicit Leases(std::size_t most) : most_(most) {}

  // Renews the lease until `lease` from now. Returns false if the limit of taps is reached.
  [[nodiscard]] bool renew(const std::string& tag, DurationNs lease, TimeNs now);
  void end(const std::string& tag) { until_.erase(tag); }
  [[nodiscard]] std::size_t count() const { return until_.size(); }

 private:
  std::size_t most_;
  std::map<std::string, TimeNs> until_;
};

}  // namespace weir::tap
