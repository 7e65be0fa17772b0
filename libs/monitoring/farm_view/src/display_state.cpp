#include <weir/base/held_up.hpp>
#include <weir/control/disk_space.hpp>
#include <weir/control/health.hpp>
#include <weir/control/states.hpp>
#include <weir/farm_view/display_state.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::farm_view {
namespace {

// In a farm of one run the supervisor may end last, without being observed.
bool has_ended(const v1::FarmView& view, const v1::FarmView::Node& node) {
  return view.over() && (view.one_run() || !node.live());
}

}  // namespace

bool DisplayState::has_rates() const {
  constexpr std::array<std::string_view, 4> kOutOfRun = {"dead", "idle", "standby", "ready"};
  return std::ranges::find(kOutOfRun, state) == kOutOfRun.end();
}

DisplayState display_state(const v1::FarmView& view, const v1::FarmView::Node& node) {
  DisplayState member;
  member.state = !node.live() ? "dead" : node.inactive() ? "inactive" : node.state().state();
  if (has_ended(view, node)) member.state = "ended";
  member.reason = node.state().reason();
  if (node.excluded()) member.reason = "removed" + (member.reason.empty() ? "" : "; " + member.reason);
  const HeldUp held = held_up_of(node.report().state());
  if (member.state == control::name(control::State::running) && held.hold != Hold::none) {
    member.state = name(held.hold);
    member.reason = held.told;
  }
  return member;
}

std::string age_text(const v1::FarmView::Finding& finding, UtcNs now) {
  const auto gravity = control::gravity_of(finding.gravity());
  if (finding.since_utc_ns() == 0 || !gravity || *gravity < control::Gravity::warning) return {};
  return " [" + control::duration_text(std::max<DurationNs>(0, now - finding.since_utc_ns())) + "]";
}

}  // namespace weir::farm_view
