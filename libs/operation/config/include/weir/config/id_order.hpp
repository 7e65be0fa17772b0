#pragma once

#include <weir/v1/farm.pb.h>

#include <string>

namespace weir::config {

// Returns why the slice ids of this farm have to ascend, as the end of a sentence about a trigger that does
// not; empty if ids may come in any order. The supervisor then vetoes a lower id (`not_ascending`).
[[nodiscard]] std::string ascending_ids_reason(const v1::Farm& farm);
// Returns true if slice ids ascend in announcements (gaps allowed): the supervisor numbers the slices itself
// or, in push running, requires this order. Files and trigger clients may name ids in any order.
[[nodiscard]] bool ids_ascend(const v1::Farm& farm);

// True if front-ends number the slices.
[[nodiscard]] bool is_by_number(const v1::Farm& farm);

}  // namespace weir::config
