#include <weir/base/assert.hpp>
#include <weir/tap/leases.hpp>

namespace weir::tap {

bool Leases::renew(const std::string& tag, DurationNs lease, TimeNs now) {
  std::erase_if(until_, [&](const auto& one) { return one.second <= now; });
  if (until_.count(tag) == 0 && until_.size() >= most_) return false;
  until_[tag] = now + lease;
  WEIR_ASSERT(until_.size() <= most_);
  return true;
}

}  // namespace weir::tap
