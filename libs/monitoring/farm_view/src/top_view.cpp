#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/base/role.hpp>
#include <weir/base/text.hpp>
#include <weir/farm_view/disks.hpp>
#include <weir/farm_view/display_state.hpp>
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
#include <utility>

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

struct Column {
  std::string_view title;
  std::size_t width;
  int spare;  // on a narrow screen columns with the lowest number above 0 are dropped first
  std::string (*text)(const TopRow& row);
};
constexpr std::size_t kReasonMin = 12;
constexpr std::string_view kCut = "…";
constexpr std::size_t kTextBytesMax = 500;  // of a reason or a note

const std::array<Column, 9> kColumns = {{
    {"process", 16, 0, [](const TopRow& row) { return row.name; }},
    {"pid", 7, 1, [](const TopRow& row) { return row.pid > 0 ? std::to_string(row.pid) : "-"; }},
    {"state", 10, 0, [](const TopRow& row) { return row.state; }},
    {"slices/s", 10, 5, [](const TopRow& row) { return rate_text(row.slices_per_s); }},
    {"data", 11, 4,
     [](const TopRow& row) { return row.bytes_per_s ? bytes_text(*row.bytes_per_s) + "/s" : "-"; }},
    {"p99", 9, 3,
     [](const TopRow& row) {
       return row.p99_us ? microseconds_text(static_cast<std::uint64_t>(*row.p99_us)) : "-";
     }},
    {"in flight", 9, 2, [](const TopRow& row) { return std::to_string(row.in_flight); }},
    {"lost", 9, 6, [](const TopRow& row) { return std::to_string(row.lost); }},
    {"CPU %", 6, 7,
     [](const TopRow& row) { return row.cpu_percent ? fmt::format("{:.0f}", *row.cpu_percent) : "-"; }},
}};

bool is_text(const Column& column) { return column.spare == 0; }

// Returns the columns that leave room for some of the reason.
std::vector<const Column*> columns_for(std::size_t width) {
  std::vector<const Column*> shown;
  std::size_t taken = kReasonMin + 1;
  for (const Column& column : kColumns) {
    shown.push_back(&column);
    taken += column.width + 1;
  }
  while (taken > width) {
    auto least = shown.end();
    for (auto one = shown.begin(); one != shown.end(); ++one) {
      if ((*one)->spare > 0 && (least == shown.end() || (*one)->spare < (*least)->spare)) least = one;
    }
    if (least == shown.end()) break;
    WEIR_ASSERT(taken > (*least)->width);
    taken -= (*least)->width + 1;
    shown.erase(least);
  }
  return shown;
}

std::string left_out(const std::vector<const Column*>& shown) {
  std::string names;
  for (const Column& column : kColumns) {
    if (std::find(shown.begin(), shown.end(), &column) == shown.end())
      names += (names.empty() ? "" : ", ") + std::string(column.title);
  }
  return names;
}

std::string cell(const Column& column, const std::string& text) {
  return is_text(column) ? fmt::format("{:<{}} ", text, column.width)
                         : fmt::format("{:>{}} ", text, column.width);
}

std::string line_of(const TopRow& row, const std::vector<const Column*>& shown) {
  std::string line;
  for (const Column* column : shown) line += cell(*column, column->text(row));
  return line + " " + row.reason;
}

// Shortens a line that is too long, and marks it. Never divides the bytes of a character.
std::string cut(std::string line, std::size_t width) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() <= width) return line;
  if (width < kCut.size()) return {};
  std::size_t end = width - kCut.size();
  WEIR_ASSERT(end < line.size());
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return line.substr(0, end) + std::string(kCut);
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

std::string clean(const std::string& text) { return clean_text(text, kTextBytesMax); }

// Fills the figures of a row from a process' report, and from the rates between its last two.
void take_report(const v1::Report& report, const reports::NodeRates& rates, TopRow& row) {
  if (const auto group = report.notes().find("group"); group != report.notes().end())
    row.group = clean(group->second);
  row.lost = reports::node_totals(report).lost;
  row.in_flight = static_cast<std::uint64_t>(reports::gauge_of(report, "slices_in_flight").value_or(0));
  if (!rates.measured()) return;
  row.slices_per_s = rates.slices_per_s();
  if (report.role() != v1::ROLE_SUPERVISOR) row.bytes_per_s = rates.bytes_per_s();
  row.cpu_percent = kPercent * rates.cores();
  if (rates.built_us().count() > 0) row.p99_us = static_cast<double>(rates.built_us().percentile(99));
}

// ": 10 triggered, 1 stored, …", by the supervisor's report: the live members lack the counts of dead ones.
std::string counts_text(const v1::Report& supervisor) {
  const auto count = [&](metrics::CounterKey key) { return reports::counter_of(supervisor, key); };
  return fmt::format(": {} triggered, {} stored, {} rejected, {} discarded", count("triggered"),
                     count("stored"), count("rejected"), reports::total_of(supervisor, "discarded.")) +
         missing_text(reports::total_of(supervisor, "farm.fragments.missing."), count("farm.dcms_lost"));
}

}  // namespace

std::optional<TopSort> top_sort(std::string_view text) {
  static_assert(kSortNames.size() == static_cast<std::size_t>(TopSort::cpu) + 1);
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
    return Unexpected(std::string("the document is not the state of a farm"));
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
  frame.disk = text_of(*state, "disk");
  for (const json::value& one : members->get_array()) {
    const json::object* member = one.if_object();
    if (member == nullptr) continue;
    TopRow row;
    row.name = text_of(*member, "name");
    row.role = text_of(*member, "role");
    row.group = text_of(*member, "group");
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
  // Two reports with ages closer than this are the same report: the age is rounded.
  constexpr DurationNs kApart = 10 * kMillisecond;
  const TimeNs made_ns = now_ns - scraped->age_ns;
  if (seen.made_ns == 0 || std::abs(made_ns - seen.made_ns) >= kApart) seen.made_ns = made_ns;
  report.set_now_ns(seen.made_ns);
  seen.rates.take(report, now_ns);
  TopRow row;
  row.name = report.name();
  row.role = name(static_cast<Role>(report.role()));
  row.state = report.state();
  take_report(report, seen.rates, row);
  return row;
}

TopFrame TopRates::of_view(const v1::FarmView& view) {
  TopFrame frame;
  frame.title = fmt::format("farm {}: {}, run {}", clean(view.farm()), clean(view.state()), view.run());
  for (const v1::FarmView::Finding& one : view.health()) {
    if (one.reason().empty()) continue;
    frame.reasons.push_back(clean(one.gravity()) + ": " + clean(one.word()) + ": " + clean(one.reason()) +
                            age_text(one, view.utc_ns()));
  }
  const std::vector<control::DiskUse> disks = disks_of(view);
  if (const control::DiskUse* disk = control::shortest(disks)) frame.disk = control::space_text(*disk);
  const v1::Report* supervisor = &v1::Report::default_instance();
  std::map<std::string, Seen> seen;  // a node that has left is forgotten
  for (const v1::FarmView::Node& node : view.nodes()) {
    const v1::Report& report = node.report();
    const bool reported = !report.name().empty();
    if (reported && report.role() == v1::ROLE_SUPERVISOR) supervisor = &report;
    const DisplayState shown = display_state(view, node);
    TopRow& row = frame.rows.emplace_back();
    row.name = clean(node.name());
    row.role = clean(node.role());
    row.state = clean(shown.state);
    row.reason = clean(shown.reason);
    row.pid = node.live() ? node.pid() : 0;
    reports::NodeRates& rates = seen[node.name()].rates;
    rates = seen_[node.name()].rates;
    if (reported && shown.has_rates()) {
      rates.take(report, view.utc_ns());
    } else {
      rates.clear();
    }
    if (reported) take_report(report, rates, row);
  }
  frame.title += counts_text(*supervisor);
  seen_ = std::move(seen);
  return frame;
}

TopFrame TopRates::frame_of(std::vector<TopRow> rows) {
  TopFrame frame;
  frame.title = counted(rows.size(), "process") + (rows.size() == 1 ? "" : "es");
  if (rows.size() > 1) frame.title = std::to_string(rows.size()) + " processes";
  frame.rows = std::move(rows);
  return frame;
}

std::vector<TopRow> group_rows(const std::vector<TopRow>& rows) {
  std::vector<TopRow> groups;
  std::vector<std::size_t> dcms;
  const auto add = [](std::optional<double>& sum, const std::optional<double>& value) {
    if (value) sum = sum.value_or(0) + *value;
  };
  for (const TopRow& row : rows) {
    if (row.group.empty()) continue;
    const std::string name = "group " + row.group;
    auto group = std::ranges::find(groups, name, &TopRow::name);
    if (group == groups.end()) {
      group = groups.emplace(groups.end());
      group->name = name;
      dcms.push_back(0);
    }
    const std::size_t count = ++dcms[static_cast<std::size_t>(group - groups.begin())];
    group->state = counted(count, "DCM");
    add(group->slices_per_s, row.slices_per_s);
    add(group->bytes_per_s, row.bytes_per_s);
    add(group->cpu_percent, row.cpu_percent);
    group->p99_us = std::max(group->p99_us, row.p99_us);
    group->in_flight += row.in_flight;
    group->lost += row.lost;
  }
  return groups;
}

namespace {

// Splits a text between words into lines of `columns`, at most `more` of them after the first; takes them
// from `more`. The last line may be too long.
std::vector<std::string> folded(std::string text, std::size_t columns, std::size_t& more) {
  constexpr std::string_view kIndent = "    ";
  std::vector<std::string> lines;
  while (text.size() > columns && more > 0) {
    const std::size_t space = text.rfind(' ', columns);
    if (space == text.npos || space <= kIndent.size()) break;
    lines.push_back(text.substr(0, space));
    text = std::string(kIndent) + text.substr(space + 1);
    --more;
  }
  lines.push_back(std::move(text));
  return lines;
}

}  // namespace

std::vector<std::string> format_top(const TopFrame& frame, TopSort sort, std::size_t columns,
                                    std::size_t lines_max) {
  std::vector<std::string> lines{frame.title};
  const std::vector<const Column*> shown = columns_for(columns);
  // Long reasons take several lines where the table leaves room.
  const std::size_t table =
      2 + (frame.disk.empty() ? 0 : 1) + frame.rows.size() + group_rows(frame.rows).size();
  std::size_t room =
      lines_max > table + 1 + frame.reasons.size() ? lines_max - table - 1 - frame.reasons.size() : 0;
  for (const std::string& reason : frame.reasons) {
    for (std::string& line : folded("  " + reason, columns, room)) lines.push_back(std::move(line));
  }
  if (!frame.disk.empty()) lines.push_back("  disk: " + frame.disk);
  if (const std::string names = left_out(shown); !names.empty())
    lines.push_back("  no room for: " + names + "; a wider terminal shows them");
  std::string head;
  for (const Column* column : shown) head += cell(*column, std::string(column->title));
  lines.push_back(head + " reason");
  std::vector<TopRow> rows = frame.rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const TopRow& left, const TopRow& right) { return before(left, right, sort); });
  for (const TopRow& row : rows) lines.push_back(line_of(row, shown));
  for (const TopRow& row : group_rows(frame.rows)) lines.push_back(line_of(row, shown));
  if (lines.size() > lines_max && lines_max > 0) {
    const std::size_t left = lines.size() - lines_max + 1;
    lines.resize(lines_max - 1);
    lines.push_back(fmt::format("… {} more", left));
  }
  for (std::string& line : lines) line = cut(std::move(line), columns);
  return lines;
}

}  // namespace weir::farm_view
