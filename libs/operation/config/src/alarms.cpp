#include "field_value.hpp"
#include "yaml_tree.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/alarms.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/suggest.hpp>
#include <weir/metrics/table.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace weir::config {
namespace {

using control::Gravity;

class Reader {
 public:
  explicit Reader(const Locations& locations) : locations_(locations) {}

  void read(const v1::AlarmSettings& from, Alarms& alarms) {
    alarms.settings.timing = {from_s(from.raise_after_s()), from_s(from.clear_after_s())};
    alarms.settings.repeat_ns = from_s(from.repeat_s());
    alarms.settings.per_hour = from.messages_per_hour();
    for (int i = 0; i < from.channels_size(); ++i) {
      path_ = "control.alarms.channels[" + std::to_string(i) + "]";
      read_channel(from.channels(i), alarms);
    }
    names_.clear();
    for (int i = 0; i < from.rules_size(); ++i) {
      path_ = "control.alarms.rules[" + std::to_string(i) + "]";
      read_rule(from.rules(i), alarms);
    }
  }
  Problems take_problems() { return std::move(problems_); }

 private:
  void error(const std::string& key, ProblemKind kind, std::string what) {
    const std::string whole = path_ + "." + key;
    if (problems_.size() < kProblemsMax)
      problems_.push_back({kind, Severity::error, locations_.of(whole), whole, std::move(what)});
  }

  void check_name(const std::string& name) {
    if (!names_.insert(name).second)
      error("name", ProblemKind::inconsistent, in_quotes(name) + " is there already");
  }

  void read_channel(const v1::AlarmChannelSettings& from, Alarms& alarms) {
    check_name(from.name());
    const int ways =
        (from.do_().empty() ? 0 : 1) + (from.mail().empty() ? 0 : 1) + (from.webhook().empty() ? 0 : 1);
    if (ways != 1) error("name", ProblemKind::inconsistent, "a channel has one of do, mail and webhook");
    if (from.webhook().empty() && from.format() != v1::AlarmChannelSettings::FORMAT_JSON)
      error("format", ProblemKind::inconsistent, "only a webhook has a format: remove it");
    const Gravity gravity =
        from.from() == v1::AlarmChannelSettings::SEVERITY_ERROR ? Gravity::error : Gravity::warning;
    alarms.settings.channels.push_back({from.name(), gravity, from_s(from.heartbeat_s())});
    AlarmWay::Kind kind = AlarmWay::Kind::webhook;
    if (!from.do_().empty()) kind = AlarmWay::Kind::command;
    if (!from.mail().empty()) kind = AlarmWay::Kind::mail;
    alarms.ways.push_back({kind, from.do_() + from.mail() + from.webhook(), from.format(),
                           static_cast<std::uint32_t>(std::ceil(from.timeout_s()))});
  }

  void read_rule(const v1::AlarmRuleSettings& from, Alarms& alarms) {
    check_name(from.name());
    control::AlarmRule rule{from.name(), {}, false, alarms.settings.timing};
    if (from.has_raise_after_s()) rule.timing.raise_after = from_s(from.raise_after_s());
    if (from.has_clear_after_s()) rule.timing.clear_after = from_s(from.clear_after_s());
    rule.off = from.severity() == v1::AlarmRuleSettings::SEVERITY_OFF;
    if (from.severity() == v1::AlarmRuleSettings::SEVERITY_WARNING) rule.gravity = Gravity::warning;
    if (from.severity() == v1::AlarmRuleSettings::SEVERITY_ERROR) rule.gravity = Gravity::error;
    alarms.settings.rules.push_back(std::move(rule));
    if (from.metric().empty() && from.state().empty()) {
      if (from.has_above() || from.has_below())
        error("metric", ProblemKind::missing_key, "needed by `above` and `below`");
      return;
    }
    alarms.conditions.push_back(condition(from));
  }

  AlarmCondition condition(const v1::AlarmRuleSettings& from) {
    AlarmCondition made{from.name(), from.metric(), {}, {}, {}};
    if (from.has_above()) made.above = from.above();
    if (from.has_below()) made.below = from.below();
    if (!from.metric().empty() && !from.state().empty())
      error("state", ProblemKind::inconsistent, "an alarm has a metric or a state");
    if (from.metric().empty()) {
      made.state = control::state_of(from.state());
      if (!made.state)
        error("state", ProblemKind::bad_value,
              in_quotes(from.state()) + " is none of idle, standby, ready, running, paused, error");
      return made;
    }
    if (!made.above && !made.below) error("above", ProblemKind::missing_key, "or `below` is needed");
    std::vector<std::string> known;
    for (const metrics::Entry& entry : metrics::kTable) {
      if (entry.kind != metrics::Entry::Kind::histogram && entry.from != metrics::Entry::From::sum)
        known.emplace_back(entry.name);
    }
    if (std::ranges::find(known, from.metric()) == known.end())
      error("metric", ProblemKind::bad_value,
            in_quotes(from.metric()) + " is no counter or gauge of docs/metrics.md" +
                did_you_mean(nearest(from.metric(), known)));
    return made;
  }

  const Locations& locations_;
  std::string path_;
  std::set<std::string> names_;
  Problems problems_;
};

}  // namespace

Expected<Alarms, Problems> read_alarms(const v1::Farm& farm, const Locations& locations) {
  Reader reader(locations);
  Alarms alarms{};
  reader.read(farm.control().alarms(), alarms);
  if (Problems problems = reader.take_problems(); !problems.empty())
    return Unexpected<Problems>(std::move(problems));
  WEIR_ASSERT(alarms.ways.size() == alarms.settings.channels.size());
  WEIR_ASSERT(alarms.conditions.size() <= alarms.settings.rules.size());
  return alarms;
}

}  // namespace weir::config
