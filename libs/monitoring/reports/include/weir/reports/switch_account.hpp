#pragma once

#include <weir/v1/control.pb.h>

#include <string>
#include <vector>

namespace weir::reports {

// Returns the account of a switch in a run as a line, without its name: frames, drops by reason, the deepest
// ring, and changes.
[[nodiscard]] std::string switch_line(const v1::SwitchAccount& account);
// Returns a sentence about frames that were dropped for lack of room, with the remedy; empty: none were.
[[nodiscard]] std::string switch_loss(const v1::SwitchAccount& account);
// Adds the switches to a run's account; those that dropped frames for lack of room are faults of the run.
void add_switches(const std::vector<v1::SwitchAccount>& switches, v1::RunSummary& summary);

}  // namespace weir::reports
