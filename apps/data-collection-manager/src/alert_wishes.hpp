#pragma once

#include <weir/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {

// An alert that the filter requests: the data of this time are to be saved.
struct AlertWish {
  UtcNs from = 0;
  UtcNs until = 0;
  std::string reason;
};

// Alerts that the filter requests during an outage of the supervisor. None is lost: windows that overlap
// become one, as in the supervisor, and beyond kMax the last one is extended. Pure.
class AlertWishes {
 public:
  static constexpr std::size_t kMax = 64;

  void add(AlertWish wish) {
    const auto overlaps = [&](const AlertWish& one) {
      return one.from <= wish.until && wish.from <= one.until;
    };
    auto found = std::find_if(wishes_.begin(), wishes_.end(), overlaps);
    if (found == wishes_.end() && wishes_.size() < kMax) return wishes_.push_back(std::move(wish));
    if (found == wishes_.end()) --found;
    found->from = std::min(found->from, wish.from);
    found->until = std::max(found->until, wish.until);
  }
  [[nodiscard]] std::vector<AlertWish> take() { return std::exchange(wishes_, {}); }

 private:
  std::vector<AlertWish> wishes_;
};

}  // namespace weir::dcm
