#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/control/quality.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace weir::control {
namespace {

using histograms::View;

constexpr double kSigmas = 3;
constexpr double kExpectedMin = 10;   // entries of a bin that may not be empty
constexpr double kJudgedShare = 0.5;  // of the reference's content, in bins that can be judged

// Three digits: a failure keeps its words while its figure grows slowly.
std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// The contents of all bins, without under- and overflow.
std::vector<double> bins_of(const View& view) {
  const histograms::Booking& booking = view.booking();
  const std::uint32_t rows = booking.has_y() ? booking.y.bins : 1;
  std::vector<double> bins;
  bins.reserve(std::size_t{booking.x.bins} * rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    for (std::uint32_t x = 1; x <= booking.x.bins; ++x)
      bins.push_back(view.content(x, booking.has_y() ? row + 1 : 0));
  }
  return bins;
}

double sum_of(const std::vector<double>& bins) {
  double sum = 0;
  for (const double one : bins) sum += one;
  return sum;
}

// The reference, scaled to the content of the histogram.
struct Prediction {
  std::vector<double> bins;
  double scale = 0;
};

Prediction predicted(const View& reference, double content) {
  Prediction made{bins_of(reference), 0};
  const double sum = sum_of(made.bins);
  made.scale = sum > 0 ? content / sum : 0;
  for (double& one : made.bins) one *= made.scale;
  return made;
}

QualityVerdict failed(std::string why) { return {QualityResult::failed, std::move(why)}; }
QualityVerdict unjudged(std::string why) { return {QualityResult::not_judged, std::move(why)}; }
const QualityVerdict kGood{QualityResult::good, {}};

QualityVerdict judge_mean(const QualityCheck& check, const View& view) {
  if (!check.mean_min && !check.mean_max) return kGood;
  if (!(view.total() > 0)) return unjudged("its weights add up to nothing");
  const double mean = view.mean_x();
  if (check.mean_min && !(mean >= *check.mean_min))
    return failed("mean " + figure(mean) + ", at least " + figure(*check.mean_min) + " is expected");
  if (check.mean_max && !(mean <= *check.mean_max))
    return failed("mean " + figure(mean) + ", at most " + figure(*check.mean_max) + " is expected");
  return kGood;
}

double used_entries(const View& view) { return view.entries() - view.unusable(); }

// Weights are taken as equal: a bin's entries are its content over the mean weight.
double mean_weight(const View& view) {
  const double used = used_entries(view);
  return used > 0 ? std::abs(view.total()) / used : 0;
}

QualityVerdict judge_empty(const QualityCheck& check, const View& view, const View* reference) {
  if (!check.empty_bins_max) return kGood;
  const std::vector<double> bins = bins_of(view);
  const double weight = mean_weight(view);
  Prediction expected;
  if (reference != nullptr) expected = predicted(*reference, sum_of(bins));
  std::size_t empty = 0;
  double judged = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (reference != nullptr && expected.bins[i] < kExpectedMin * weight) continue;
    if (reference != nullptr) judged += expected.bins[i];
    if (bins[i] == 0) ++empty;
  }
  if (empty > *check.empty_bins_max)
    return failed(counted(empty, "empty bin") + ", at most " + std::to_string(*check.empty_bins_max) +
                  " expected");
  if (reference != nullptr && !(judged > kJudgedShare * sum_of(expected.bins)))
    return unjudged("too few entries: less than 10 are expected in bins with most of the content");
  return kGood;
}

QualityVerdict judge_ratio(const QualityCheck& check, const View& view, const View& reference) {
  if (!check.ratio_max) return kGood;
  if (view.booking().kind == histograms::Kind::profile)
    return unjudged("a profile has no ratio: use its mean or empty bins");
  const std::vector<double> bins = bins_of(view);
  const Prediction expected = predicted(reference, sum_of(bins));
  const double weight = mean_weight(view);
  const double of_reference = mean_weight(reference) * expected.scale;
  double judged = 0;
  std::size_t off = 0;
  double worst = 0;
  std::size_t worst_bin = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double e = expected.bins[i];
    if (e <= 0) continue;
    const double error = kSigmas * std::sqrt(weight * std::max(bins[i], e) + of_reference * e);
    const double tolerance = *check.ratio_max * e;
    if (error > tolerance) continue;
    judged += e;
    const double beyond = std::abs(bins[i] - e) - tolerance - error;
    if (beyond <= 0) continue;
    ++off;
    if (std::abs(bins[i] / e - 1) > worst) {
      worst = std::abs(bins[i] / e - 1);
      worst_bin = i;
    }
  }
  if (off > 0) {
    const double ratio = bins[worst_bin] / expected.bins[worst_bin];
    const std::uint32_t x = static_cast<std::uint32_t>(worst_bin % view.booking().x.bins);
    return failed(counted(off, "bin") + " beyond " + figure(*check.ratio_max) + " of run " +
                  std::to_string(check.reference_run) + ", the worst at " + figure(view.booking().x.edge(x)) +
                  " with ratio " + figure(ratio));
  }
  const double all = sum_of(expected.bins);
  if (!(judged > kJudgedShare * all))
    return unjudged("too few entries for a ratio in bins with most of the content");
  return kGood;
}

// The entries, and whether the comparison is possible.
std::optional<QualityVerdict> judge_before(const QualityCheck& check, const View* histogram,
                                           const View* reference, DurationNs running_ns) {
  if (histogram == nullptr || used_entries(*histogram) < check.entries_min) {
    const std::string what = histogram == nullptr ? "no histogram '" + check.histogram + "'"
                                                  : "fewer than " + figure(check.entries_min) + " entries";
    if (check.entries_by_ns == 0 || running_ns < check.entries_by_ns) return unjudged(what);
    return failed(what + " after " + figure(static_cast<double>(check.entries_by_ns) / kSecond) + " s");
  }
  const bool compares = check.reference_run != 0;
  if (compares && reference == nullptr)
    return unjudged("run " + std::to_string(check.reference_run) + " has no histogram '" + check.histogram +
                    "'");
  if (compares && histogram->booking() != reference->booking())
    return unjudged("run " + std::to_string(check.reference_run) +
                    " has other bins: " + histograms::binning_text(reference->booking()));
  if (compares && used_entries(*reference) < check.entries_min)
    return unjudged("run " + std::to_string(check.reference_run) + " has fewer than " +
                    figure(check.entries_min) + " entries");
  return std::nullopt;
}

}  // namespace

std::string_view name(QualityResult result) {
  constexpr std::string_view kNames[] = {"good", "not judged", "failed"};
  return kNames[static_cast<std::size_t>(result)];
}

QualityVerdict judge(const QualityCheck& check, const View* histogram, const View* reference,
                     DurationNs running_ns) {
  if (auto before = judge_before(check, histogram, reference, running_ns)) return std::move(*before);
  WEIR_ASSERT(histogram != nullptr);
  std::vector<QualityVerdict> verdicts{
      judge_mean(check, *histogram),
      judge_empty(check, *histogram, check.reference_run == 0 ? nullptr : reference)};
  if (check.reference_run != 0) verdicts.push_back(judge_ratio(check, *histogram, *reference));
  const auto worst = std::ranges::max_element(verdicts, {}, &QualityVerdict::result);
  return *worst;
}

std::optional<std::string_view> quality_of(std::span<const QualityCheck> checks,
                                           std::span<const QualityVerdict> verdicts) {
  WEIR_ASSERT(checks.size() == verdicts.size());
  bool all_good = !checks.empty();
  bool any_failed = false;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const QualityResult result = verdicts[i].result;
    if (result != QualityResult::good) all_good = false;
    if (result != QualityResult::failed) continue;
    if (checks[i].gravity >= Gravity::error) return "bad";
    any_failed = true;
  }
  if (any_failed) return "questionable";
  return all_good ? std::optional<std::string_view>("good") : std::nullopt;
}

}  // namespace weir::control
