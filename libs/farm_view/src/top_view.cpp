#include <weir/base/figures.hpp>
#include <weir/base/role.hpp>
#include <weir/farm_view/live_view.hpp>
#include <weir/farm_view/top_view.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/telemetry/prometheus_reader.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace weir::farm_view {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kSortNames = {"plan", "name", "state", "slices",
                                                        "data", "p99",  "lost",  "cpu"};

std::string text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<double> number_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::uint64_t count_of(const json::object& object, std::string_view key) {
  const double value = number_of(object, key).value_or(0);
  return value > 0 && value < 1e19 ? static_cast<std::uint64_t>(value) : 0;
}

std::string rate_text(const std::optional<double>& rate) { return rate ? fmt::format("{:.1f}", *rate) : "-"; }

std::string line_of(const TopRow& row) {
  return fmt::format("{:<16} {:>7} {:<10} {:>10} {:>11} {:>9} {:>9} {:>9} {:>6}  {}", row.name,
                     row.pid > 0 ? std::to_string(row.pid) : "-", row.state, rate_text(row.slices_per_s),
                     row.bytes_per_s ? bytes_text(*row.bytes_per_s) + "/s" : "-",
                     row.p99_us ? microseconds_text(static_cast<std::uint64_t>(*row.p99_us)) : "-",
                     row.in_flight, row.lost, row.cpu_percent ? fmt::format("{:.0f}", *row.cpu_percent) : "-",
                     row.reason);
}

bool before(const TopRow& left, const TopRow& right, TopSort sort) {
  switch (sort) {
    case TopSort::plan:
      return false;
    case TopSort::name:
      return left.name < right.name;
    case TopSort::state:
      return left.state < right.state;
    case TopSort::slices:
      return left.slices_per_s > right.slices_per_s;
    case TopSort::data:
      return left.bytes_per_s > right.bytes_per_s;
    case TopSort::p99:
      return left.p99_us > right.p99_us;
    case TopSort::lost:
      return left.lost > right.lost;
    case TopSort::cpu:
      return left.cpu_percent > right.cpu_percent;
  }
  return false;
}

}  // namespace

std::optional<TopSort> top_sort(std::string_view text) {
  const auto found = std::find(kSortNames.begin(), kSortNames.end(), text);
  if (found == kSortNames.end()) return std::nullopt;
  return static_cast<TopSort>(found - kSortNames.begin());
}

Expected<TopFrame, std::string> TopRates::of_state(const std::string& text) {
  boost::system::error_code bad;
  const json::value value = json::parse(text, bad);
  const json::object* state = bad ? nullptr : value.if_object();
  const json::value* members = state == nullptr ? nullptr : state->if_contains("members");
  if (members == nullptr || !members->is_array())
    return Unexpected(std::string("what came is no state of a farm"));
  TopFrame frame;
  frame.title = fmt::format("farm {}: {}, run {}", text_of(*state, "farm"), text_of(*state, "state"),
                            count_of(*state, "run"));
  if (const json::value* counts = state->if_contains("counts"); counts != nullptr && counts->is_object()) {
    const json::object& of = counts->get_object();
    frame.title +=
        fmt::format(": {} triggered, {} stored, {} rejected, {} discarded", count_of(of, "triggered"),
                    count_of(of, "stored"), count_of(of, "rejected"), count_of(of, "discarded"));
    frame.title += missing_text(count_of(of, "fragments_missing"), count_of(of, "dcms_lost"));
  }
  if (const json::value* health = state->if_contains("health"); health != nullptr && health->is_array()) {
    for (const json::value& one : health->get_array()) {
      const json::object* finding = one.if_object();
      if (finding == nullptr || text_of(*finding, "reason").empty()) continue;
      frame.reasons.push_back(text_of(*finding, "gravity") + ": " + text_of(*finding, "word") + ": " +
                              text_of(*finding, "reason"));
    }
  }
  for (const json::value& one : members->get_array()) {
    const json::object* member = one.if_object();
    if (member == nullptr) continue;
    TopRow row;
    row.name = text_of(*member, "name");
    row.role = text_of(*member, "role");
    row.state = text_of(*member, "state");
    row.reason = text_of(*member, "reason");
    row.slices_per_s = number_of(*member, "slices_per_s");
    row.bytes_per_s = number_of(*member, "bytes_per_s");
    row.p99_us = number_of(*member, "p99_us");
    row.in_flight = count_of(*member, "in_flight");
    row.pid = count_of(*member, "pid");
    row.lost = count_of(*member, "lost");
    row.cpu_percent = number_of(*member, "cpu_percent");
    frame.rows.push_back(std::move(row));
  }
  return frame;
}

Expected<TopRow, std::string> TopRates::of_metrics(const std::string& text, TimeNs now_ns) {
  auto scraped = telemetry::read_prometheus(text);
  if (!scraped) return Unexpected(scraped.error());
  v1::Report& report = scraped->report;
  Seen& seen = seen_[report.name()];
  // The age is rounded: less than that apart it is the same report.
  constexpr DurationNs kApart = 10 * kMillisecond;
  const TimeNs made_ns = now_ns - scraped->age_ns;
  if (seen.made_ns == 0 || std::abs(made_ns - seen.made_ns) >= kApart) seen.made_ns = made_ns;
  report.set_now_ns(seen.made_ns);
  seen.rates.take(report, now_ns);
  TopRow row;
  row.name = report.name();
  row.role = name(static_cast<Role>(report.role()));
  row.state = report.state();
  row.lost = reports::node_totals(report).lost;
  row.in_flight = static_cast<std::uint64_t>(reports::gauge_of(report, "slices_in_flight").value_or(0));
  if (!seen.rates.measured()) return row;
  row.slices_per_s = seen.rates.slices_per_s();
  if (report.role() != v1::ROLE_SUPERVISOR) row.bytes_per_s = seen.rates.bytes_per_s();
  row.cpu_percent = kPercent * seen.rates.cores();
  if (const metrics::Histogram& built_us = seen.rates.built_us(); built_us.count() > 0)
    row.p99_us = static_cast<double>(built_us.percentile(99));
  return row;
}

TopFrame TopRates::frame_of(std::vector<TopRow> rows) {
  TopFrame frame;
  frame.title = counted(rows.size(), "process") + (rows.size() == 1 ? "" : "es");
  if (rows.size() > 1) frame.title = std::to_string(rows.size()) + " processes";
  frame.rows = std::move(rows);
  return frame;
}

std::vector<std::string> format_top(const TopFrame& frame, TopSort sort, std::size_t columns,
                                    std::size_t lines_max) {
  std::vector<std::string> lines{frame.title};
  for (const std::string& reason : frame.reasons) lines.push_back("  " + reason);
  lines.push_back(fmt::format("{:<16} {:>7} {:<10} {:>10} {:>11} {:>9} {:>9} {:>9} {:>6}  {}", "process",
                              "pid", "state", "slices/s", "data", "p99", "in flight", "lost", "CPU %",
                              "reason"));
  std::vector<TopRow> rows = frame.rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const TopRow& left, const TopRow& right) { return before(left, right, sort); });
  for (const TopRow& row : rows) lines.push_back(line_of(row));
  if (lines.size() > lines_max && lines_max > 0) {
    const std::size_t left = lines.size() - lines_max + 1;
    lines.resize(lines_max - 1);
    lines.push_back(fmt::format("… {} more", left));
  }
  for (std::string& line : lines) line.resize(std::min(line.size(), columns));
  return lines;
}

}  // namespace weir::farm_view
