#pragma once

#include <weir/v1/farm.pb.h>

namespace weir::config {

// Returns a farm in which every key of the schema except `include` is set, also in the entries of lists, to a
// value other than its default if the key's range allows. Each value is valid by itself, but not necessarily
// together with the others.
[[nodiscard]] v1::Farm farm_of_every_key();

}  // namespace weir::config
