#include "schema.hpp"
#include <weir/config/source_groups.hpp>
#include <weir/config/suggest.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace weir::config {
namespace {

struct SourceRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

std::optional<std::uint32_t> source_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<SourceRange> source_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = source_number(text.substr(0, dash));
  const auto last = dash == text.npos ? first : source_number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return SourceRange{*first, *last};
}

class GroupReader {
 public:
  GroupReader(const FarmPlan& plan, const Locations& locations)
      : plan_(plan), locations_(locations), known_(plan.sources.begin(), plan.sources.end()) {
    for (const NodePlan* readout : plan.of_role(Role::readout)) readouts_.push_back(readout->name);
  }

  void read(const v1::SourceGroupSettings& settings, const std::string& path) {
    path_ = path;
    found_.clear();
    for (int i = 0; i < settings.sources_size(); ++i) add_source(settings.sources(i), entry("sources", i));
    for (int i = 0; i < settings.ranges_size(); ++i) add_range(settings.ranges(i), entry("ranges", i));
    for (int i = 0; i < settings.readouts_size(); ++i)
      add_readout(settings.readouts(i), entry("readouts", i));
    for (int i = 0; i < settings.groups_size(); ++i) add_group(settings.groups(i), entry("groups", i));
    const bool is_named_twice = std::ranges::count(names_, settings.name()) > 0;
    if (is_named_twice)
      error("name", ProblemKind::inconsistent, "source group '" + settings.name() + "' is defined already");
    if (found_.empty() && problems_.empty())
      error("name", ProblemKind::inconsistent,
            "source group '" + settings.name() + "' has no source: give sources, ranges, readouts or groups");
    for (const SourceId source : plan_.masked) found_.erase(source);
    names_.push_back(settings.name());
    groups_.push_back({settings.name(), {found_.begin(), found_.end()}});
  }

  Expected<std::vector<SourceGroupPlan>, Problems> take() {
    if (!problems_.empty()) return Unexpected<Problems>(std::move(problems_));
    return std::move(groups_);
  }

 private:
  static std::string entry(const char* key, int index) { return list_entry(key, index); }

  void error(const std::string& key, ProblemKind kind, std::string what) {
    if (problems_.size() >= kProblemsMax) return;
    const std::string whole = path_ + "." + key;
    problems_.push_back({kind, Severity::error, locations_.of(whole), whole, std::move(what)});
  }
  void add_source(std::uint32_t number, const std::string& key) {
    if (known_.count(SourceId(number)) == 0)
      return error(key, ProblemKind::inconsistent, "the farm has no source " + std::to_string(number));
    found_.insert(SourceId(number));
  }
  void add_range(const std::string& text, const std::string& key) {
    const auto range = source_range(text);
    if (!range)
      return error(key, ProblemKind::bad_value,
                   "'" + text + "' is not a range of source numbers: write first and last, as 8-15");
    const auto first = known_.lower_bound(SourceId(range->first));
    const auto end = known_.upper_bound(SourceId(range->last));
    if (first == end)
      return error(key, ProblemKind::inconsistent, "the farm has no source in '" + text + "'");
    found_.insert(first, end);
  }
  void add_readout(const std::string& name, const std::string& key) {
    for (const NodePlan* readout : plan_.of_role(Role::readout)) {
      if (readout->name != name) continue;
      found_.insert(readout->sources.begin(), readout->sources.end());
      return;
    }
    error(key, ProblemKind::inconsistent,
          "the farm has no readout '" + name + "'" + did_you_mean(nearest(name, readouts_)));
  }
  void add_group(const std::string& name, const std::string& key) {
    const auto place = std::ranges::find(names_, name);
    if (place == names_.end())
      return error(key, ProblemKind::inconsistent,
                   "no earlier source group is called '" + name + "'" + did_you_mean(nearest(name, names_)));
    const std::vector<SourceId>& sources = groups_[static_cast<std::size_t>(place - names_.begin())].sources;
    found_.insert(sources.begin(), sources.end());
  }

  const FarmPlan& plan_;
  const Locations& locations_;
  std::set<SourceId> known_;
  std::vector<std::string> readouts_;
  std::vector<std::string> names_;
  std::vector<SourceGroupPlan> groups_;
  std::set<SourceId> found_;  // of the group at hand
  std::string path_;
  Problems problems_;
};

}  // namespace

Expected<std::vector<SourceGroupPlan>, Problems> source_groups(const v1::Farm& farm, const FarmPlan& plan,
                                                               const Locations& locations) {
  GroupReader reader(plan, locations);
  for (int i = 0; i < farm.source().groups_size(); ++i)
    reader.read(farm.source().groups(i), list_entry("source.groups", i));
  return reader.take();
}

Problems check_group_names(const v1::Farm& farm, const Locations& locations) {
  Problems problems;
  std::vector<std::string> names;
  for (const v1::SourceGroupSettings& group : farm.source().groups()) names.push_back(group.name());
  const auto check = [&](const auto& used, const std::string& key) {
    for (int i = 0; i < used.size(); ++i) {
      if (std::ranges::find(names, used[i]) != names.end()) continue;
      const std::string entry = list_entry(key, i);
      std::string what = "source.groups has no group '" + used[i] + "'";
      what += names.empty() ? ": it is empty" : did_you_mean(nearest(used[i], names));
      problems.push_back(
          {ProblemKind::inconsistent, Severity::error, locations.of(entry), entry, std::move(what)});
    }
  };
  check(farm.filter().first_groups(), "filter.first_groups");
  for (int i = 0; i < farm.filter().steps_size(); ++i)
    check(farm.filter().steps(i).prefetch(), list_entry("filter.steps", i) + ".prefetch");
  return problems;
}

std::vector<SourceId> sources_of(const std::vector<SourceGroupPlan>& groups, const std::string& name) {
  const auto found = std::ranges::find(groups, name, &SourceGroupPlan::name);
  return found == groups.end() ? std::vector<SourceId>{} : found->sources;
}

std::vector<SourceId> first_sources(const v1::Farm& farm, const std::vector<SourceGroupPlan>& groups) {
  const v1::FilterSettings& filter = farm.filter();
  std::set<SourceId> sources(filter.first_sources().begin(), filter.first_sources().end());
  for (const std::string& name : filter.first_groups()) {
    const std::vector<SourceId> members = sources_of(groups, name);
    sources.insert(members.begin(), members.end());
  }
  return {sources.begin(), sources.end()};
}

}  // namespace weir::config
