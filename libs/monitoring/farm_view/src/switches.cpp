#include <weir/base/figures.hpp>
#include <weir/farm_view/switches.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::farm_view {

std::string switch_text(const v1::FarmView::SwitchState& state) {
  const v1::SwitchReport& report = state.report();
  if (state.silent_ns() < 0) return fmt::format("{}: not connected", report.name());
  std::string text =
      fmt::format("{} on {}: {} frames received, {} sent, {} lost for lack of room", report.name(),
                  report.host(), report.received(), report.sent(), report.lost());
  const auto longest = std::ranges::max_element(report.rings(), {}, &v1::SwitchReport::Ring::waiting);
  if (longest != report.rings().end() && longest->waiting() > 0)
    text += fmt::format("; {} frames wait in {}", longest->waiting(), longest->name());
  const auto deepest = std::ranges::max_element(report.rings(), {}, &v1::SwitchReport::Ring::waiting_most);
  if (deepest != report.rings().end() && deepest->waiting_most() > 0) {
    text +=
        fmt::format("; at most {} of {} in {}", deepest->waiting_most(), deepest->room(), deepest->name());
    if (deepest->waiting_bytes_most() > 0)
      text += ", " + bytes_text(static_cast<double>(deepest->waiting_bytes_most()));
  }
  return state.problem().empty() ? text : text + "; " + state.problem();
}

}  // namespace weir::farm_view
