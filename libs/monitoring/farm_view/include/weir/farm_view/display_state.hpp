#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/bus.pb.h>

#include <string>

namespace weir::farm_view {

// A process' state for people, on the page and in `weir top`: "running", "blocked", "dead", "inactive", ...
struct DisplayState {
  std::string state;
  std::string reason;  // may be empty

  // Returns whether the rates of the process' last reports are valid: not before and after a run.
  [[nodiscard]] bool has_rates() const;
};
// Returns the state of a node of run control's view. Pure.
[[nodiscard]] DisplayState display_state(const v1::FarmView& view, const v1::FarmView::Node& node);

// Returns " [12 s]", the time since a finding's begin; empty if it is unknown or needs no attention. Pure.
[[nodiscard]] std::string age_text(const v1::FarmView::Finding& finding, UtcNs now);

}  // namespace weir::farm_view
