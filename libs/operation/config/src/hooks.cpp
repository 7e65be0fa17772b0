#include "field_value.hpp"
#include "yaml_tree.hpp"
#include <weir/config/hooks.hpp>
#include <weir/config/suggest.hpp>

#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace weir::config {
namespace {

constexpr std::size_t kHooksMax = 64;
constexpr double kRefusalSecondsMax = 60;  // an operator waits for it

std::vector<std::string> point_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < control::kHookPoints; ++i)
    names.emplace_back(control::name(static_cast<control::HookPoint>(i)));
  return names;
}

}  // namespace

Expected<std::vector<control::Hook>, Problems> read_hooks(const v1::Farm& farm, const Locations& locations) {
  Problems problems;
  std::vector<control::Hook> hooks;
  std::set<std::string> names;
  const auto& settings = farm.control().hooks();
  const auto error = [&](const std::string& key, ProblemKind kind, std::string what) {
    if (problems.size() < kProblemsMax)
      problems.push_back({kind, Severity::error, locations.of(key), key, std::move(what)});
  };
  if (static_cast<std::size_t>(settings.size()) > kHooksMax)
    error("control.hooks", ProblemKind::out_of_range,
          "a farm has at most " + std::to_string(kHooksMax) + " hooks");
  for (int i = 0; i < settings.size(); ++i) {
    const v1::HookSettings& one = settings[i];
    const std::string path = "control.hooks[" + std::to_string(i) + "]";
    control::Hook hook{one.name(),
                       {},
                       one.run(),
                       static_cast<DurationNs>(std::llround(one.limit_s() * kSecond)),
                       one.refuse_on_failure()};
    if (!names.insert(hook.name).second)
      error(path + ".name", ProblemKind::inconsistent,
            "there is a hook " + in_quotes(hook.name) + " already");
    if (one.at_size() == 0)
      error(path + ".at", ProblemKind::missing_key, "needed: points such as before-start or after-stop");
    for (int k = 0; k < one.at_size(); ++k) {
      const std::string key = path + ".at[" + std::to_string(k) + "]";
      const auto point = control::hook_point_of(one.at(k));
      if (!point) {
        error(key, ProblemKind::bad_value,
              in_quotes(one.at(k)) + " is not a point of a hook" +
                  did_you_mean(nearest(one.at(k), point_names())));
        continue;
      }
      hook.at.push_back(*point);
      if (control::may_refuse(*point) && one.limit_s() > kRefusalSecondsMax)
        error(path + ".limit_s", ProblemKind::out_of_range,
              print_number(one.limit_s()) + " is above " + print_number(kRefusalSecondsMax) +
                  ": an operator waits for a hook that may refuse");
    }
    hooks.push_back(std::move(hook));
  }
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return hooks;
}

}  // namespace weir::config
