#include "field_value.hpp"
#include "yaml_tree.hpp"
#include <weir/config/rules.hpp>
#include <weir/config/suggest.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace weir::config {
namespace {

struct Word {
  std::string_view text;
  control::Condition condition;
};
constexpr std::array<Word, 6> kWords = {{
    {"process_gone", control::Condition::process_gone},
    {"process_error", control::Condition::process_error},
    {"run_seconds", control::Condition::run_seconds},
    {"livetime_below", control::Condition::livetime_below},
    {"rate_below", control::Condition::rate_below},
    {"no_triggers_s", control::Condition::no_triggers_s},
}};

control::Act act_of(v1::RuleSettings::Action action) {
  switch (action) {
    case v1::RuleSettings::ACTION_WARN:
      return control::Act::warn;
    case v1::RuleSettings::ACTION_STOP:
      return control::Act::stop;
    case v1::RuleSettings::ACTION_PAUSE:
      return control::Act::pause;
    case v1::RuleSettings::ACTION_CONTINUE:
      return control::Act::continue_run;
    case v1::RuleSettings::ACTION_START_NEXT:
      return control::Act::start_next;
    case v1::RuleSettings::ACTION_RESTART:
      return control::Act::restart;
    case v1::RuleSettings::ACTION_RESET:
      return control::Act::reset;
  }
  return control::Act::warn;
}

DurationNs seconds(double value) { return static_cast<DurationNs>(std::llround(value * kSecond)); }

class Reader {
 public:
  Reader(const FarmPlan& plan, const Locations& locations) : locations_(locations) {
    for (std::size_t i = 1; i < slice_rows::kReasons; ++i)
      reasons_.emplace_back(slice_rows::name(static_cast<slice_rows::HoldReason>(i)));
    for (const Role role : {Role::supervisor, Role::writer, Role::dcm, Role::readout})
      subjects_.emplace_back(name(role));
    for (const NodePlan& node : plan.nodes) {
      if (!node.masked) subjects_.push_back(node.name);
    }
  }

  control::Rule read(const v1::RuleSettings& settings, std::string path) {
    path_ = std::move(path);
    control::Rule rule;
    rule.name = settings.name();
    rule.of.assign(settings.of().begin(), settings.of().end());
    rule.value = settings.value();
    rule.for_ns = seconds(settings.for_s());
    rule.act = act_of(settings.do_());
    rule.again_ns = seconds(settings.again_s());
    rule.times_max = settings.times_max();
    if (!names_.insert(rule.name).second)
      error("name", ProblemKind::inconsistent, "there is a rule " + in_quotes(rule.name) + " already");
    for (int i = 0; i < settings.of_size(); ++i)
      check_known("of[" + std::to_string(i) + "]", settings.of(i), subjects_,
                  "neither a process of the farm nor a kind");
    if (read_condition(settings.when(), rule)) check_fit(rule);
    return rule;
  }

  Problems take_problems() { return std::move(problems_); }

 private:
  void error(const std::string& key, ProblemKind kind, std::string what) {
    const std::string whole = path_ + "." + key;
    if (problems_.size() < kProblemsMax)
      problems_.push_back({kind, Severity::error, locations_.of(whole), whole, std::move(what)});
  }

  bool check_known(const std::string& key, const std::string& text, const std::vector<std::string>& known,
                   const std::string& what) {
    if (std::find(known.begin(), known.end(), text) != known.end()) return true;
    error(key, ProblemKind::bad_value, in_quotes(text) + " is " + what + did_you_mean(nearest(text, known)));
    return false;
  }

  bool read_condition(const std::string& text, control::Rule& rule) {
    const auto word =
        std::find_if(kWords.begin(), kWords.end(), [&](const Word& one) { return one.text == text; });
    if (word != kWords.end()) {
      rule.when = word->condition;
      return true;
    }
    std::vector<std::string> known = reasons_;
    for (const Word& one : kWords) known.emplace_back(one.text);
    rule.when = control::Condition::reason;
    rule.reason = text;
    return check_known("when", text, known,
                       "not process_gone, process_error, run_seconds, livetime_below, rate_below, "
                       "no_triggers_s, or a reason such as WRITER_DISK_FULL (docs/operating.md)");
  }

  void check_fit(const control::Rule& rule) {
    using control::Act;
    using control::Condition;
    const bool is_share = rule.when == Condition::livetime_below || rule.when == Condition::rate_below;
    const bool of_run =
        is_share || rule.when == Condition::run_seconds || rule.when == Condition::no_triggers_s;
    if (of_run && !rule.of.empty())
      error("of", ProblemKind::inconsistent, "this condition applies to the run: remove it");
    if (of_run && rule.value <= 0)
      error("value", ProblemKind::missing_key, "needed by this condition, above 0");
    if (is_share && rule.value > 1)
      error("value", ProblemKind::out_of_range, print_number(rule.value) + " is above 1: it is a share");
    if (!of_run && rule.value != 0)
      error("value", ProblemKind::inconsistent, "this condition has no value: remove it");
    if (rule.act == Act::reset && rule.when != Condition::process_error)
      error("do", ProblemKind::inconsistent, "'reset' is for the condition process_error");
    if (rule.act == Act::restart && (of_run || rule.when == Condition::process_gone))
      error("do", ProblemKind::inconsistent,
            "'restart' needs a running process: use process_error, or a reason");
  }

  const Locations& locations_;
  std::string path_;
  std::vector<std::string> reasons_;
  std::vector<std::string> subjects_;
  std::set<std::string> names_;
  Problems problems_;
};

}  // namespace

Expected<std::vector<control::Rule>, Problems> read_rules(const v1::Farm& farm, const FarmPlan& plan,
                                                          const Locations& locations) {
  Reader reader(plan, locations);
  std::vector<control::Rule> rules;
  const auto& settings = farm.control().rules();
  for (int i = 0; i < settings.size(); ++i)
    rules.push_back(reader.read(settings[i], "control.rules[" + std::to_string(i) + "]"));
  if (Problems problems = reader.take_problems(); !problems.empty())
    return Unexpected<Problems>(std::move(problems));
  return rules;
}

}  // namespace weir::config
