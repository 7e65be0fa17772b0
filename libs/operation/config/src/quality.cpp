#include "field_value.hpp"
#include "yaml_tree.hpp"
#include <weir/config/durations.hpp>
#include <weir/config/quality.hpp>

#include <set>
#include <string>
#include <utility>

namespace weir::config {
namespace {

constexpr std::size_t kChecksMax = 256;

control::QualityCheck check_of(const v1::QualitySettings& from) {
  control::QualityCheck check;
  check.name = from.name();
  check.histogram = from.histogram();
  check.entries_min = static_cast<double>(from.entries_min());
  check.entries_by_ns = from_s(from.entries_by_s());
  if (from.has_mean_min()) check.mean_min = from.mean_min();
  if (from.has_mean_max()) check.mean_max = from.mean_max();
  if (from.has_empty_bins_max()) check.empty_bins_max = from.empty_bins_max();
  check.reference_run = from.reference_run();
  if (from.has_ratio_max()) check.ratio_max = from.ratio_max();
  if (from.severity() == v1::QualitySettings::SEVERITY_ERROR) check.gravity = control::Gravity::error;
  return check;
}

}  // namespace

Expected<std::vector<control::QualityCheck>, Problems> read_quality(const v1::Farm& farm,
                                                                    const Locations& locations) {
  Problems problems;
  std::vector<control::QualityCheck> checks;
  std::set<std::string> names;
  const auto& settings = farm.control().quality();
  const auto error = [&](const std::string& key, ProblemKind kind, std::string what) {
    if (problems.size() < kProblemsMax)
      problems.push_back({kind, Severity::error, locations.of(key), key, std::move(what)});
  };
  if (static_cast<std::size_t>(settings.size()) > kChecksMax)
    error("control.quality", ProblemKind::out_of_range,
          "a farm has at most " + std::to_string(kChecksMax) + " checks");
  for (int i = 0; i < settings.size(); ++i) {
    const v1::QualitySettings& one = settings[i];
    const std::string path = "control.quality[" + std::to_string(i) + "]";
    if (!names.insert(one.name()).second)
      error(path + ".name", ProblemKind::inconsistent,
            "there is a check " + in_quotes(one.name()) + " already");
    if (!one.has_mean_min() && !one.has_mean_max() && !one.has_empty_bins_max() && !one.has_ratio_max() &&
        one.entries_by_s() == 0)
      error(path + ".name", ProblemKind::missing_key,
            "a check has one or more of mean_min, mean_max, empty_bins_max, ratio_max, entries_by_s");
    if (one.has_mean_min() && one.has_mean_max() && one.mean_min() > one.mean_max())
      error(path + ".mean_min", ProblemKind::inconsistent, "above mean_max: no mean is good");
    if (one.has_ratio_max() && one.reference_run() == 0)
      error(path + ".reference_run", ProblemKind::missing_key, "needed by `ratio_max`");
    if (one.reference_run() != 0 && !one.has_ratio_max() && !one.has_empty_bins_max())
      error(path + ".ratio_max", ProblemKind::missing_key,
            "or `empty_bins_max` is needed: nothing else is compared with the reference");
    checks.push_back(check_of(one));
  }
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return checks;
}

}  // namespace weir::config
