#include "text.hpp"
#include <weir/run/top_view.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace weir::run {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> kSortNames = {"plan", "name", "state", "slices",
                                                        "data", "p99",  "lost",  "cpu"};
constexpr double kUsPerS = 1e6;

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

// One line of Prometheus' text format: name{label="value",…} value
struct Sample {
  std::string_view name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// False when the labels are none.
bool read_labels(std::string_view text, std::map<std::string, std::string>& labels) {
  while (!text.empty()) {
    const std::size_t equals = text.find("=\"");
    if (equals == text.npos) return false;
    std::string value;
    std::size_t at = equals + 2;
    for (; at < text.size() && text[at] != '"'; ++at) {
      const bool escaped = text[at] == '\\' && at + 1 < text.size();
      if (escaped) ++at;
      value.push_back(escaped && text[at] == 'n' ? '\n' : text[at]);
    }
    if (at >= text.size()) return false;
    labels[std::string(text.substr(0, equals))] = value;
    text.remove_prefix(std::min(text.size(), at + 1));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return true;
}

std::optional<Sample> read_sample(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  if (line.empty() || line.front() == '#' || space == line.npos) return std::nullopt;
  Sample sample;
  const std::string number(line.substr(space + 1));
  char* end = nullptr;
  sample.value = std::strtod(number.c_str(), &end);
  const std::string_view before = line.substr(0, space);
  const std::size_t brace = before.find('{');
  sample.name = before.substr(0, brace);
  if (end == number.c_str()) return std::nullopt;
  if (brace == before.npos) return sample;
  if (before.back() != '}') return std::nullopt;
  if (!read_labels(before.substr(brace + 1, before.size() - brace - 2), sample.labels)) return std::nullopt;
  return sample;
}

// What is read off a process' metrics.
struct Read {
  std::string role;
  double age_s = 0;
  std::map<std::string, double, std::less<>> sums;  // over a metric's labels
  std::map<double, double> built;
};

// Names of slices, bytes and losses, by role.
std::array<const char*, 3> names_of(const std::string& role) {
  if (role == "supervisor") return {"weir_slices_triggered_total", "", "weir_slices_discarded_total"};
  if (role == "readout")
    return {"weir_readout_made_total", "weir_net_sent_bytes_total", "weir_fragments_dropped_total"};
  if (role == "dcm")
    return {"weir_dcm_assigned_total", "weir_fragments_received_bytes_total", "weir_fragments_missing_total"};
  return {"weir_writer_records_total", "weir_writer_stored_bytes_total", "weir_writer_dead_copies_total"};
}

double sum_of(const Read& read, std::string_view name) {
  const auto found = read.sums.find(name);
  return found == read.sums.end() ? 0 : found->second;
}

// Of what came between two looks; buckets are cumulative.
std::optional<double> p99_us(const std::map<double, double>& now, const std::map<double, double>& before) {
  constexpr double kShare = 0.99;
  const auto since = [&](double bound, double count) {
    const auto found = before.find(bound);
    return count - (found == before.end() ? 0 : found->second);
  };
  if (now.empty()) return std::nullopt;
  const double all = since(now.rbegin()->first, now.rbegin()->second);
  if (all <= 0) return std::nullopt;
  for (const auto& [bound, count] : now) {
    if (since(bound, count) >= kShare * all && std::isfinite(bound)) return bound * kUsPerS;
  }
  return std::nullopt;
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
  constexpr double kMsPerS = 1000;
  const double now_s = number_of(*state, "now").value_or(0) / kMsPerS;
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
    if (const auto cpu_s = number_of(*member, "cpu_s")) {
      Last& last = last_[row.name];
      if (last.at_s > 0 && now_s > last.at_s && *cpu_s >= last.cpu_s)
        row.cpu_percent = kPercent * (*cpu_s - last.cpu_s) / (now_s - last.at_s);
      last.at_s = now_s;
      last.cpu_s = *cpu_s;
    }
    frame.rows.push_back(std::move(row));
  }
  return frame;
}

Expected<TopRow, std::string> TopRates::of_metrics(const std::string& text, TimeNs now_ns) {
  TopRow row;
  Read read;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto sample = read_sample(line);
    if (!sample) continue;
    if (sample->name == "weir_node_state") {
      row.name = sample->labels.contains("node") ? sample->labels.at("node") : "";
      row.state = sample->labels.contains("state") ? sample->labels.at("state") : "";
      read.role = sample->labels.contains("role") ? sample->labels.at("role") : "";
    } else if (sample->name == "weir_report_age_seconds") {
      read.age_s = sample->value;
    } else if (sample->name == "weir_slice_build_seconds_bucket" && sample->labels.contains("le")) {
      read.built[std::strtod(sample->labels.at("le").c_str(), nullptr)] = sample->value;
    } else {
      read.sums[std::string(sample->name)] += sample->value;
    }
  }
  if (row.name.empty()) return Unexpected(std::string("what came has no metrics of a node, or none yet"));
  row.role = read.role;
  const auto names = names_of(read.role);
  Last now{static_cast<double>(now_ns) / kSecond - read.age_s, sum_of(read, names[0]), sum_of(read, names[1]),
           sum_of(read, "weir_process_cpu_seconds_total"), read.built};
  row.lost = static_cast<std::uint64_t>(sum_of(read, names[2]));
  row.in_flight = static_cast<std::uint64_t>(sum_of(read, "weir_slices_in_flight"));
  const auto found = last_.find(row.name);
  // Less than that apart it is the same report.
  constexpr double kApart_s = 0.01;
  if (found != last_.end() && now.at_s - found->second.at_s > kApart_s &&
      now.slices >= found->second.slices) {
    const Last& last = found->second;
    const double passed_s = now.at_s - last.at_s;
    row.slices_per_s = (now.slices - last.slices) / passed_s;
    if (names[1][0] != '\0') row.bytes_per_s = std::max(0.0, now.bytes - last.bytes) / passed_s;
    row.cpu_percent = kPercent * std::max(0.0, now.cpu_s - last.cpu_s) / passed_s;
    row.p99_us = p99_us(now.built, last.built);
  }
  last_[row.name] = std::move(now);
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

}  // namespace weir::run
