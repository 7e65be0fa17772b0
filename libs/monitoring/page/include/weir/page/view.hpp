#pragma once

#include <weir/page/state.hpp>
#include <weir/v1/bus.pb.h>

namespace weir::page {

// Builds the page's farm from run control's view. `last`: the account of the last run; may be null.
[[nodiscard]] Farm farm_of(const v1::FarmView& view, const v1::RunSummary* last);

}  // namespace weir::page
