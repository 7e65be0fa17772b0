#pragma once

#include <weir/base/awake_clock.hpp>

#include <string>

namespace weir::node {

// Reports when awake_now_ns() has left out a pause of this process.
class StandstillReport {
 public:
  // Returns a sentence about a pause since the last call; empty: none. Cheap: once per pass of the loop.
  [[nodiscard]] std::string look();

 private:
  PauseWatch watch_;
};

}  // namespace weir::node
