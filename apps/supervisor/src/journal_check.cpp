#include "journal.hpp"

#include <algorithm>
#include <tuple>

namespace weir::supervisor {
namespace {

// A waiting slice has the number of its next attempt, and no DCM.
void leave_out_attempt(v1::JournalState::Open& open) {
  open.clear_assigned();
  open.clear_attempt();
  open.clear_suspect();
  if (open.confirmations() > 0) return;
  open.clear_copy_writer();
  open.clear_copy_attempt();
  open.clear_copy_incomplete();
  open.clear_epoch();
}

// Leaves out times, and the reports that nodes send again when they connect.
v1::JournalState comparable(JournalledRun run, const RunAlerts* alerts) {
  std::sort(run.state.given_up.begin(), run.state.given_up.end(), [](const auto& a, const auto& b) {
    return std::tie(a.slice, a.writer, a.epoch) < std::tie(b.slice, b.writer, b.epoch);
  });
  v1::JournalState state;
  put(run, alerts, state);
  state.clear_reports();
  state.clear_histograms();
  state.clear_lost_times();
  state.mutable_farm_now()->clear_utc_ns();
  state.mutable_farm_now()->clear_paused_ns();
  for (v1::JournalState::Open& open : *state.mutable_open()) leave_out_attempt(open);
  return state;
}

}  // namespace

std::string journal_lacks(const JournalledRun& read, const JournalledRun& run, const RunAlerts* alerts) {
  v1::JournalState left = comparable(read, read.alerts ? &*read.alerts : nullptr);
  v1::JournalState right = comparable(run, alerts);
  for (int i = 0; i < v1::JournalState::descriptor()->field_count(); ++i) {
    const auto* field = v1::JournalState::descriptor()->field(i);
    v1::JournalState one;
    v1::JournalState other;
    left.GetReflection()->SwapFields(&left, &one, {field});
    right.GetReflection()->SwapFields(&right, &other, {field});
    const std::string is = one.ShortDebugString();
    const std::string should = other.ShortDebugString();
    if (is != should) return "the journal has " + is + " instead of " + should;
  }
  return {};
}

}  // namespace weir::supervisor
