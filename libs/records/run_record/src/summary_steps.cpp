#include "summary_steps.hpp"

#include <weir/reports/numbers.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace weir::run_record {
namespace {

// The step of a counter's label; the summary's place for it.
StepSummary* step_of(const std::string& label, const std::string& group, Summary& summary) {
  constexpr std::uint32_t kStepsMax = 1000;
  std::uint32_t step = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), step);
  if (error != std::errc{} || end != label.data() + label.size() || step >= kStepsMax) return nullptr;
  const auto is_wanted = [&](const StepSummary& one) { return one.group == group && one.step == step; };
  const auto found = std::ranges::find_if(summary.steps, is_wanted);
  if (found != summary.steps.end()) return &*found;
  StepSummary& added = summary.steps.emplace_back();
  added.group = group;
  added.step = step;
  return &added;
}

template <class Add>
void for_each_step(const Counts& counts, const std::string& group, Summary& summary, Add add) {
  for (const auto& [label, count] : counts) {
    if (StepSummary* step = step_of(label, group, summary)) add(*step, count);
  }
}

}  // namespace

void add_steps(const v1::Report& dcm, Summary& summary) {
  using Step = StepSummary;
  const auto note = dcm.notes().find("group");
  const std::string group = note == dcm.notes().end() ? std::string() : note->second;
  const auto number = [&](const Counts& counts, std::uint64_t Step::*sum) {
    for_each_step(counts, group, summary, [sum](Step& step, std::uint64_t count) { step.*sum += count; });
  };
  const auto time = [&](const Counts& counts, double Step::*sum) {
    for_each_step(counts, group, summary,
                  [sum](Step& step, std::uint64_t count) { step.*sum += static_cast<double>(count); });
  };
  number(reports::by_reason(dcm, "steps.slices."), &Step::slices);
  number(reports::by_reason(dcm, "steps.rejected."), &Step::rejected);
  number(reports::by_reason(dcm, "steps.bytes."), &Step::bytes);
  time(reports::by_reason(dcm, "steps.wait_us."), &Step::wait_us);
  time(reports::by_reason(dcm, "steps.process_us."), &Step::process_us);
  time(reports::by_reason(dcm, "steps.cpu_us."), &Step::cpu_us);
  if (reports::counter_of(dcm, "prefetch.fragments") > 0) {
    summary.prefetch["fragments"] += reports::counter_of(dcm, "prefetch.fragments");
    summary.prefetch["used"] += reports::counter_of(dcm, "prefetch.used");
    summary.prefetch["unused"] += reports::counter_of(dcm, "prefetch.unused");
    summary.prefetch["bytes"] += reports::counter_of(dcm, "prefetch.bytes");
    summary.prefetch["wasted_bytes"] += reports::counter_of(dcm, "prefetch.wasted_bytes");
  }
  if (reports::counter_of(dcm, "fetch.kept") + reports::counter_of(dcm, "fetch.slices") +
          reports::counter_of(dcm, "fetch.from_readouts") >
      0) {
    summary.fetch["kept"] += reports::counter_of(dcm, "fetch.kept");
    summary.fetch["kept_dropped"] += reports::counter_of(dcm, "fetch.kept_dropped");
    summary.fetch["fragments_sent"] += reports::counter_of(dcm, "fetch.fragments_sent");
    summary.fetch["slices"] += reports::counter_of(dcm, "fetch.slices");
    summary.fetch["fragments"] += reports::counter_of(dcm, "fetch.fragments");
    summary.fetch["unused"] += reports::counter_of(dcm, "fetch.unused");
    summary.fetch["bytes"] += reports::counter_of(dcm, "fetch.bytes");
    summary.fetch["from_readouts"] += reports::counter_of(dcm, "fetch.from_readouts");
  }

  CpuSummary own;
  own.dcm = dcm.name();
  own.slices = reports::counter_of(dcm, "dcm.assigned");
  own.filter_s = reports::gauge_of(dcm, "cpu.filter_s").value_or(0);
  own.transport_s = reports::gauge_of(dcm, "cpu.transport_s").value_or(0);
  own.seconds = summary.duration_s;
  summary.cpu.slices += own.slices;
  summary.cpu.filter_s += own.filter_s;
  summary.cpu.transport_s += own.transport_s;
  summary.cpu.seconds = summary.duration_s;
  summary.cpu_of_dcms.push_back(std::move(own));
}

void finish_steps(Summary& summary) {
  const auto place = [&](const StepSummary& step) {
    const auto group = std::ranges::find(summary.groups, step.group, &GroupSummary::name);
    return std::pair(group - summary.groups.begin(), step.step);
  };
  std::ranges::sort(summary.steps, std::less<>(), place);
  for (StepSummary& step : summary.steps) {
    const double slices = static_cast<double>(std::max<std::uint64_t>(1, step.slices));
    for (double* mean : {&step.wait_us, &step.process_us, &step.cpu_us}) *mean /= slices;
  }
}

DecisionTimes decision_times_of(const metrics::ValueHistogram& histogram) {
  DecisionTimes times;
  if (histogram.count() == 0) return times;
  const auto count = static_cast<double>(histogram.count());
  const Percentiles percentiles = percentiles_of(histogram);
  times.mean_us = percentiles.mean;
  times.sigma_us = percentiles.sigma;
  std::uint64_t below = 0;
  for (const auto& bucket : histogram.encode().buckets) {
    below += bucket.count;
    times.above.push_back({std::min(metrics::ValueHistogram::bucket_last(bucket.index), histogram.max()),
                           static_cast<double>(histogram.count() - below) / count});
  }
  return times;
}

}  // namespace weir::run_record
