#pragma once

#include "parts.hpp"
#include <weir/tap/leases.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <string>

namespace weir::run_control {

// Samples of a run for clients: checks a wish, and hands it to the DCMs.
class Taps {
 public:
  // `subscribe_port`: where samples are read.
  Taps(const Parts& parts, std::uint16_t subscribe_port, Orders::Send send);

  // The error is a sentence.
  [[nodiscard]] std::string take(const v1::TapWish& wish, v1::TapPlace& place);

 private:
  [[nodiscard]] std::string check(const v1::TapWish& wish) const;

  const Parts& parts_;
  std::uint16_t subscribe_port_;
  Orders::Send send_;
  tap::Leases leases_;
};

}  // namespace weir::run_control
