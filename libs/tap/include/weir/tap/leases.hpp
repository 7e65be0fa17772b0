#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace weir::tap {

// Which client has a tap, and until when. Pure.
class Leases {
 public:
  explicit Leases(std::size_t most) : most_(most) {}

  // Until `lease` from now. False: there are as many as there may be.
  [[nodiscard]] bool renew(const std::string& tag, DurationNs lease, TimeNs now);
  void end(const std::string& tag) { until_.erase(tag); }
  [[nodiscard]] std::size_t count() const { return until_.size(); }

 private:
  std::size_t most_;
  std::map<std::string, TimeNs> until_;
};

}  // namespace weir::tap
