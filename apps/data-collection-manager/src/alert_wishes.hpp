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

// Alerts that the filter requests during an outage of the supervisor. None is lost: beyond kMax the last one
// is extended to contain the further ones. Pure.
class AlertWishes {
 public:
  static constexpr std::size_t kMax = 64;

  void add(AlertWish wish) {
    if (wishes_.size() < kMax) return wishes_.push_back(std::move(wish));
    AlertWish& last = wishes_.back();
    last.from = std::min(last.from, wish.from);
    last.until = std::max(last.until, wish.until);
  }
  [[nodiscard]] std::vector<AlertWish> take() { return std::exchange(wishes_, {}); }

 private:
  std::vector<AlertWish> wishes_;
};

}  // namespace weir::dcm
