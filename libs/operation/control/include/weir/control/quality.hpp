#pragma once

#include <weir/base/time.hpp>
#include <weir/control/health.hpp>
#include <weir/histograms/layout.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Checks of a filter's histograms, and the quality of a run that follows from them. Pure.
namespace weir::control {

struct QualityCheck {
  std::string name;
  std::string histogram;
  double entries_min = 0;        // with fewer it is not judged,
  DurationNs entries_by_ns = 0;  // but fails after this time of the run; 0: never
  std::optional<double> mean_min;
  std::optional<double> mean_max;
  std::optional<std::uint32_t> empty_bins_max;
  std::uint32_t reference_run = 0;  // 0: none
  std::optional<double> ratio_max;  // of a bin, its deviation from 1
  Gravity gravity = Gravity::warning;
};

enum class QualityResult : std::uint8_t { good, not_judged, failed };
[[nodiscard]] std::string_view name(QualityResult result);  // "good", "not judged", "failed"

struct QualityVerdict {
  QualityResult result = QualityResult::not_judged;
  std::string reason;  // of a failure, or why it is not judged
  bool operator==(const QualityVerdict&) const = default;
};

// Judges one check. `histogram`, `reference`: null if they do not exist. `running_ns`: since the run's begin.
// A check is good only if each of its conditions could be judged.
[[nodiscard]] QualityVerdict judge(const QualityCheck& check, const histograms::View* histogram,
                                   const histograms::View* reference, DurationNs running_ns);

// Returns the run's field `quality`: "bad", "questionable" or "good"; nullopt if no check failed and one was
// not judged. Requires: as many verdicts as checks.
[[nodiscard]] std::optional<std::string_view> quality_of(std::span<const QualityCheck> checks,
                                                         std::span<const QualityVerdict> verdicts);

}  // namespace weir::control
