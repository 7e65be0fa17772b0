#pragma once

#include <weir/histograms/layout.hpp>

#include <string>
#include <vector>

// A run's run-…-histograms.json, for Weir's own programs: this header is not installed.
namespace weir::files {

struct RecordedHistogram {
  histograms::Booking booking;
  std::vector<double> cells;
};

struct RecordedHistograms {
  std::vector<RecordedHistogram> all;
  std::vector<std::string> incomplete;  // DCMs that were lost with entries since their last report
};

// Throws std::exception on a document that is not one of a run's histograms.
[[nodiscard]] RecordedHistograms parse_recorded_histograms(const std::string& text);

}  // namespace weir::files
