#pragma once

#include <weir/filter_host/plugin.hpp>
#include <weir/filter_try/trial.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::filter_try {

// A slice on which two plugins decide differently.
struct Disagreement {
  SliceOutcome first;
  SliceOutcome second;
};
// Requires: both are outcomes of the same slices.
[[nodiscard]] std::vector<Disagreement> disagreements(const TrialResult& first, const TrialResult& second);

// Text for a terminal: verdicts, output, bytes requested, time per slice, memory, counters, histograms, and
// the first `lines_max` errors (0: all).
[[nodiscard]] std::string trial_text(const filter_host::FilterPlugin& plugin, const TrialResult& result,
                                     const TrialOptions& options, std::uint32_t lines_max);
[[nodiscard]] std::string disagreements_text(const std::vector<Disagreement>& slices,
                                             std::uint32_t lines_max);
// One line: "slice 17  accept  to default  2 events ..."
[[nodiscard]] std::string slice_text(const SliceOutcome& outcome);

// One JSON object without a line feed each. Ids are text: they may exceed 2^53.
[[nodiscard]] std::string slice_json(const SliceOutcome& outcome);
[[nodiscard]] std::string disagreement_json(const Disagreement& slice);
[[nodiscard]] std::string trial_json(const filter_host::FilterPlugin& plugin, const TrialResult& result);

}  // namespace weir::filter_try
