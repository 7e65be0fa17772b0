#pragma once

#include <weir/node/push.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::node {

// Returns true if slice ids ascend in announcements (gaps allowed): the supervisor numbers the slices itself
// or, in push running, requires this order. Files and trigger clients may name ids in any order.
[[nodiscard]] inline bool ids_ascend(const v1::Farm& farm) {
  const auto mode = farm.trigger().mode();
  return is_push(farm) ||
         (mode != v1::TriggerSettings::MODE_NETWORK && mode != v1::TriggerSettings::MODE_FILE);
}

}  // namespace weir::node
