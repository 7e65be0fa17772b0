#pragma once

#include <weir/v1/farm.pb.h>

namespace weir::config {

// Returns a farm in which every key of the schema but `include` has a value of its own that differs from its
// default where the key's range allows it, in the entries of lists too. Each value is good by itself;
// together they need not be.
[[nodiscard]] v1::Farm farm_of_every_key();

}  // namespace weir::config
