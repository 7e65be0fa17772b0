#pragma once

#include <weir/v1/bus.pb.h>

#include <string>

namespace weir::farm_view {

// Returns a line about a switch of the farm: its problem, or its frames and its longest ring. Pure.
[[nodiscard]] std::string switch_text(const v1::FarmView::SwitchState& state);

}  // namespace weir::farm_view
