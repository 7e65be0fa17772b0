#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/farm_view/live_view.hpp>
#include <weir/reports/fragment_totals.hpp>
#include <weir/reports/numbers.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::farm_view {
namespace {

std::string heading() {
  return fmt::format("  {:<16} {:>10} {:>10} {:>9} {:>9}  {}", "process", "slices/s", "rate", "in flight",
                     "lost", "state");
}

std::string line_of(const LiveRow& row) {
  const std::string slices = row.measured ? fmt::format("{:.1f}", row.slices_per_s) : "-";
  const std::string bytes = row.role == name(Role::supervisor) ? ""
                            : row.measured                     ? bytes_text(row.bytes_per_s) + "/s"
                                                               : "-";
  return fmt::format("  {:<16} {:>10} {:>10} {:>9} {:>9}  {}", row.name, slices, bytes, row.in_flight,
                     row.lost, row.state);
}

// Returns one row per role, with sums. The slices/s of readouts are their mean, because every readout makes
// every slice.
std::vector<LiveRow> by_role(const std::vector<LiveRow>& rows) {
  struct Group {
    LiveRow row;
    std::size_t members = 0;
    std::size_t measured = 0;
    std::map<std::string, std::size_t> states;
  };
  std::vector<Group> groups;
  for (const LiveRow& row : rows) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& one) { return one.row.role == row.role; });
    if (group == groups.end()) {
      group = groups.emplace(groups.end());
      group->row.role = row.role;
    }
    ++group->members;
    if (row.measured) ++group->measured;
    ++group->states[row.state];
    group->row.slices_per_s += row.slices_per_s;
    group->row.bytes_per_s += row.bytes_per_s;
    group->row.in_flight += row.in_flight;
    group->row.lost += row.lost;
  }
  std::vector<LiveRow> merged;
  for (Group& group : groups) {
    group.row.measured = group.measured > 0;
    if (group.row.role == name(Role::readout) && group.row.measured)
      group.row.slices_per_s /= static_cast<double>(group.measured);
    group.row.name = counted(group.members, group.row.role);
    for (const auto& [state, count] : group.states) {
      if (!group.row.state.empty()) group.row.state += ", ";
      group.row.state += group.states.size() == 1 ? state : fmt::format("{} {}", count, state);
    }
    WEIR_ASSERT(group.measured <= group.members && !group.states.empty());
    merged.push_back(std::move(group.row));
  }
  return merged;
}

}  // namespace

LiveRow LiveRates::row_of(const v1::Report& report, TimeNs now_ns) {
  reports::NodeRates& rates = rates_[report.name()];
  rates.take(report, now_ns);
  LiveRow row;
  row.name = report.name();
  row.role = name(static_cast<Role>(report.role()));
  row.state = report.state();
  row.measured = rates.measured();
  row.slices_per_s = rates.slices_per_s();
  row.bytes_per_s = rates.bytes_per_s();
  row.lost = reports::node_totals(report).lost;
  row.in_flight = static_cast<std::uint64_t>(reports::gauge_of(report, "slices_in_flight").value_or(0));
  return row;
}

LiveFrame LiveRates::take(const v1::FarmStatus& status, TimeNs now_ns) {
  LiveFrame frame;
  frame.state = status.state();
  frame.run_s = static_cast<double>(status.run_ns()) / static_cast<double>(kSecond);
  for (const v1::Report& report : status.nodes()) {
    frame.rows.push_back(row_of(report, now_ns));
    if (report.role() != v1::ROLE_SUPERVISOR) continue;
    frame.triggered = reports::counter_of(report, "triggered");
    frame.stored = reports::counter_of(report, "stored");
    frame.rejected = reports::counter_of(report, "rejected");
    frame.discarded = frame.rows.back().lost;
    const reports::FragmentTotals totals = reports::fragment_totals(report);
    for (const auto& [reason, count] : totals.missing) frame.missing += count;
    frame.dcms_lost = totals.dcms_lost;
  }
  return frame;
}

std::vector<std::string> format_live(const LiveFrame& frame, std::size_t columns, std::size_t rows_max) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{:>7.1f} s  {}: {} triggered, {} stored, {} rejected, {} discarded{}",
                              frame.run_s, frame.state, frame.triggered, frame.stored, frame.rejected,
                              frame.discarded, missing_text(frame.missing, frame.dcms_lost)));
  if (!frame.lab.empty()) lines.push_back("  " + frame.lab);
  lines.push_back(heading());
  for (const LiveRow& row : frame.rows.size() > rows_max ? by_role(frame.rows) : frame.rows) {
    lines.push_back(line_of(row));
  }
  for (std::string& line : lines) line.resize(std::min(line.size(), columns));
  return lines;
}

std::string missing_text(std::uint64_t missing, std::uint64_t dcms_lost) {
  if (missing == 0 && dcms_lost == 0) return {};
  return fmt::format(", {}{} fragments missing", dcms_lost > 0 ? "at least " : "", missing);
}

}  // namespace weir::farm_view
