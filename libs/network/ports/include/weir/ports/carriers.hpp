#pragma once

#include <cstddef>
#include <vector>

namespace weir::ports {

// The links of this host's interfaces to several networks.
class Carriers {
 public:
  virtual ~Carriers() = default;
  // Returns the networks, by number, that have lost the carrier of their last interface here since the last
  // call. To be called often.
  [[nodiscard]] virtual std::vector<std::size_t> lost() = 0;
};

}  // namespace weir::ports
