#pragma once

#include <weir/bench/figure.hpp>

#include <string>

// The machine of a figure, its load, and the version of Weir.
namespace weir::bench {

// Share of the cores that other programs may withhold while something is judged.
inline constexpr double kBusyShare = 0.1;
// From this use of the cores on, by all programs together, the cores may limit a measurement.
inline constexpr double kSaturatedShare = 0.95;

// Keys of lines.
inline constexpr const char* kOtherShare = "other_share";
inline constexpr const char* kWithheldShare = "withheld_share";

struct RunConditions {
  std::string machine = {};  // processor, cores, kernel
  std::string commit = {};   // of the working tree with the executables; empty: none is there
  std::string date = {};     // of the first run
  double load = -1;          // average over the minute before the first run; below 0: not recorded
  // Share of the cores that other programs used right before a run, the largest; below 0: not recorded.
  double others = -1;
  // Share of the cores that a spinner on each, with this program's priority, did not get at these times, the
  // largest; below 0: not recorded.
  double withheld = -1;

  // Returns whether other programs took so much of the cores that a criterion says nothing.
  [[nodiscard]] bool is_busy() const;
  // Returns whether one of the two shares was recorded. Without it nothing can be judged.
  [[nodiscard]] bool is_known() const { return others >= 0 || withheld >= 0; }
  // Returns the number of cores in the machine's name; 0: not recorded.
  [[nodiscard]] unsigned cores() const;
};

// Returns the conditions now, with the machine's name and the commit; samples nothing.
[[nodiscard]] RunConditions conditions_now();
// Returns the conditions now as a phrase: "2 cores, Linux 6.1.0; load 0.31, commit 0123456789, 2026-11-27".
[[nodiscard]] std::string where_now();
// Returns the share of the cores that is in use, over a third of a second. Call it while the caller idles.
[[nodiscard]] double sample_busy_share();
// Samples both shares, and keeps the larger ones. Takes two thirds of a second, in which the cores are full.
void sample_others(RunConditions& conditions);
// Returns the abbreviated commit of the git tree around a folder; empty: none, or not readable.
[[nodiscard]] std::string commit_around(const std::string& folder);

// Adds the conditions to a line: "machine", "commit", "date", "load", "other_share", "withheld_share".
void add_to(Line& line, const RunConditions& conditions);
// Returns the conditions of lines: those of the first one, with the largest share of other programs.
[[nodiscard]] RunConditions conditions_of(const Lines& lines);
// Returns them as sentences.
[[nodiscard]] std::string text_of(const RunConditions& conditions);

}  // namespace weir::bench
