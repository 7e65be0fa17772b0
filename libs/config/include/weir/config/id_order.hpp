#pragma once

#include <weir/v1/farm.pb.h>

#include <string>

namespace weir::config {

// Returns why the slice ids of this farm have to ascend, as the end of a sentence about a trigger that does
// not; empty if ids may come in any order. The supervisor then vetoes a lower id (`not_ascending`).
[[nodiscard]] std::string ascending_ids_reason(const v1::Farm& farm);

}  // namespace weir::config
