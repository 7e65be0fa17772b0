#include <weir/base/figures.hpp>
#include <weir/reports/fairness.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/run_record/source_table.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace weir::run_record {
namespace {

namespace json = boost::json;

json::object counts_object(const std::map<std::string, std::uint64_t>& counts) {
  json::object object;
  for (const auto& [reason, count] : counts) object.emplace(reason, count);
  return object;
}

std::string reasons_text(const reports::SourceRow& row) {
  std::string text;
  for (const auto& [reason, count] : row.missing)
    text += (text.empty() ? "" : ", ") + reason + " " + grouped(count);
  for (const auto& [reason, count] : row.dropped)
    text += (text.empty() ? "" : ", ") + ("dropped " + reason) + " " + grouped(count);
  if (row.corrupt > 0) text += (text.empty() ? "" : ", ") + ("corrupt " + grouped(row.corrupt));
  return text;
}

std::uint64_t lost_on_the_way(const reports::SourceRow& row) {
  std::uint64_t lost = 0;
  for (const auto& [reason, count] : row.missing) lost += reports::is_loss(reason) ? count : 0;
  return lost;
}

}  // namespace

double byte_fairness(const v1::SourceCounts& counts) {
  std::vector<std::uint64_t> bytes;
  for (const reports::SourceRow& row : reports::source_rows(counts)) bytes.push_back(row.bytes);
  return reports::fairness_of(bytes);
}

double delivery_fairness(const v1::SourceCounts& counts) {
  std::vector<double> shares;
  for (const reports::SourceRow& row : reports::source_rows(counts)) {
    const auto received = static_cast<double>(row.received);
    const auto wanted = received + static_cast<double>(lost_on_the_way(row));
    if (wanted > 0) shares.push_back(received / wanted);
  }
  return reports::fairness_of(std::span<const double>(shares));
}

json::object sources_json(const v1::SourceCounts& counts) {
  json::array rows;
  for (const reports::SourceRow& row : reports::source_rows(counts)) {
    rows.push_back(json::object{{"source", row.source.value},
                                {"readout", row.readout},
                                {"received", row.received},
                                {"bytes", row.bytes},
                                {"produced", row.produced},
                                {"corrupt", row.corrupt},
                                {"last_seen_utc_ms", row.seen_utc_ms},
                                {"missing", counts_object(row.missing)},
                                {"dropped", counts_object(row.dropped)}});
  }
  return {{"losing", counts.losing()},
          {"left_out", counts.left_out()},
          {"partial", counts.partial()},
          {"fairness", byte_fairness(counts)},
          {"delivery_fairness", delivery_fairness(counts)},
          {"incomplete", json::array(counts.incomplete().begin(), counts.incomplete().end())},
          {"rows", std::move(rows)}};
}

json::array losing_groups(const v1::SourceCounts& counts,
                          const std::vector<config::SourceGroupPlan>& groups) {
  std::map<std::uint32_t, std::uint64_t> missing;  // by losing source
  for (const reports::SourceRow& row : reports::source_rows(counts)) {
    if (row.missing_in_all() > 0) missing[row.source.value] = row.missing_in_all();
  }
  struct Losses {
    const config::SourceGroupPlan* group;
    std::size_t losing;
    std::uint64_t missing;
  };
  std::vector<Losses> found;
  for (const config::SourceGroupPlan& group : groups) {
    Losses losses{&group, 0, 0};
    for (const SourceId source : group.sources) {
      const auto at = missing.find(source.value);
      if (at == missing.end()) continue;
      ++losses.losing;
      losses.missing += at->second;
    }
    if (losses.losing > 0) found.push_back(losses);
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Losses::losing);
  json::array list;
  for (const Losses& one : found)
    list.push_back({{"name", one.group->name},
                    {"sources", one.group->sources.size()},
                    {"losing", one.losing},
                    {"missing", one.missing}});
  return list;
}

std::string sources_text(const v1::SourceCounts& counts) {
  const std::vector<reports::SourceRow> rows = reports::source_rows(counts);
  std::size_t width = 7;
  for (const reports::SourceRow& row : rows) width = std::max(width, row.readout.size());
  std::string text = fmt::format("{:>10}  {:<{}}  {:>13}  {:>9}  {:>13}  {:<12}  {}\n", "source", "readout",
                                 width, "received", "data", "missing", "last seen", "reasons");
  for (const reports::SourceRow& row : rows) {
    const std::string reasons = reasons_text(row);
    text += fmt::format("{:>10}  {:<{}}  {:>13}  {:>9}  {:>13}  {:<12}{}{}\n", row.source.value, row.readout,
                        width, grouped(row.received), bytes_text(static_cast<double>(row.bytes)),
                        grouped(row.missing_in_all()), reports::time_of_day(row.seen_utc_ms),
                        reasons.empty() ? "" : "  ", reasons);
  }
  if (counts.left_out() > 0)
    text += fmt::format("{} without a line: no worse than the last one\n",
                        counted(counts.left_out(), "further source"));
  if (counts.partial()) text += "counts are lower bounds: a process has more sources than its reports\n";
  for (const std::string& name : counts.incomplete())
    text += fmt::format("counts are lower bounds: {} ended before its final report\n", name);
  return text;
}

}  // namespace weir::run_record
