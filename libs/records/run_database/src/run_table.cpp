#include <weir/base/figures.hpp>
#include <weir/run_database/run_table.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace weir::run_database {
namespace {

namespace json = boost::json;
using run_record::RunFields;
namespace field = run_record::field;

constexpr std::size_t kCommentShown = 60;

std::string value_of(const RunFields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

std::string length_text(DurationNs running_ns) {
  const DurationNs seconds = running_ns / kSecond;
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

// "2026-03-01 10:00:00"
std::string moment_text(UtcNs utc_ns) {
  if (utc_ns == 0) return {};
  std::string text = utc_text(utc_ns).substr(0, 19);
  text[10] = ' ';
  return text;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// At most so many characters, whole ones.
std::string shortened(const std::string& text, std::size_t characters_max) {
  if (width_of(text) <= characters_max) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) continue;
    if (++characters == characters_max) break;
  }
  return text.substr(0, end) + "…";
}

std::string further(const RunFields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    if (name == field::kComment || name == field::kType || name == field::kShifter || name == field::kQuality)
      continue;
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

std::string csv_value(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& values) {
  std::string line;
  for (const std::string& value : values) line += (line.empty() ? "" : ",") + csv_value(value);
  return line + "\r\n";
}

}  // namespace

std::string to_text(const RunList& list) {
  std::vector<std::vector<std::string>> table = {{"run", "begin (UTC)", "running", "outcome", "quality",
                                                  "type", "shifter", "triggered", "stored", "comment"}};
  for (auto row = list.runs.rbegin(); row != list.runs.rend(); ++row) {
    std::string comment = value_of(row->fields, field::kComment);
    const std::string more = further(row->fields);
    if (!more.empty()) comment += (comment.empty() ? "" : "; ") + more;
    const bool bad = !row->failure.empty();
    if (comment.empty() && bad) comment = row->failure;
    table.push_back({std::to_string(row->run), moment_text(row->begin_utc_ns), length_text(row->running_ns),
                     row->outcome, value_of(row->fields, field::kQuality),
                     value_of(row->fields, field::kType), value_of(row->fields, field::kShifter),
                     grouped(row->triggered), grouped(row->stored), shortened(comment, kCommentShown)});
  }
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const auto& line : table) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string text;
  for (const auto& line : table) {
    std::string shown;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(widths[i] - width_of(line[i]), ' ');
      const bool is_number = i == 0 || i == 2 || i == 7 || i == 8;
      shown += (i == 0 ? "" : "  ") + (is_number ? blanks + line[i] : line[i] + blanks);
    }
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

std::string to_csv(const RunList& list) {
  std::set<std::string> names = {field::kComment, field::kType, field::kShifter, field::kQuality};
  for (const RunRow& row : list.runs) {
    for (const auto& [name, value] : row.fields) names.insert(name);
  }
  std::vector<std::string> head = {"run",     "farm",     "begin",    "end",   "running_s",
                                   "outcome", "reason",   "failure",  "fault", "triggered",
                                   "stored",  "rejected", "discarded"};
  head.insert(head.end(), names.begin(), names.end());
  std::string text = csv_line(head);
  for (auto row = list.runs.rbegin(); row != list.runs.rend(); ++row) {
    std::vector<std::string> line = {std::to_string(row->run),
                                     row->farm,
                                     row->begin_utc_ns == 0 ? "" : utc_text(row->begin_utc_ns),
                                     row->end_utc_ns == 0 ? "" : utc_text(row->end_utc_ns),
                                     fmt::format("{:.3f}", static_cast<double>(row->running_ns) / kSecond),
                                     row->outcome,
                                     row->reason,
                                     row->failure,
                                     row->fault,
                                     std::to_string(row->triggered),
                                     std::to_string(row->stored),
                                     std::to_string(row->rejected),
                                     std::to_string(row->discarded)};
    for (const std::string& name : names) line.push_back(value_of(row->fields, name));
    text += csv_line(line);
  }
  return text;
}

json::object to_json(const RunRow& row) {
  json::object fields;
  for (const auto& [name, value] : row.fields) fields.emplace(name, value);
  return {
      {"number", row.run},
      {"farm", row.farm},
      {"begin", row.begin_utc_ns == 0 ? json::value(nullptr) : json::value(row.begin_utc_ns / kMillisecond)},
      {"end", row.end_utc_ns == 0 ? json::value(nullptr) : json::value(row.end_utc_ns / kMillisecond)},
      {"running_s", static_cast<double>(row.running_ns / kMillisecond) / 1000},
      {"triggered", row.triggered},
      {"stored", row.stored},
      {"rejected", row.rejected},
      {"discarded", row.discarded},
      {"discarded_at_stop", row.discarded_at_stop},
      {"balanced", row.balanced},
      {"outcome", row.outcome},
      {"reason", row.reason},
      {"failure", row.failure},
      {"fault", row.fault},
      {"faults", row.fault_count},
      {"fields", std::move(fields)}};
}

json::object to_json(const RunList& list) {
  json::array runs;
  for (const RunRow& row : list.runs) runs.push_back(to_json(row));
  return {{"runs", std::move(runs)}, {"matching", list.matching}, {"all", list.all}};
}

}  // namespace weir::run_database
