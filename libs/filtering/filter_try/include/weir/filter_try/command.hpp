#pragma once

#include <weir/filter_try/trial.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace weir::filter_try {

struct TryCommand {
  std::string plugin;                    // a name or a path
  std::string recording;                 // a run file, a run's folder or a replay folder
  std::uint32_t run = 0;                 // of a folder with several runs; 0: it has one
  std::vector<std::string> search_path;  // folders for plugin names
  std::string against;                   // a second plugin; empty: none
  TrialOptions trial;
  bool list = false;             // a line per slice
  bool json = false;             // JSON lines: one per slice with `list`, then one for the trial
  std::uint32_t lines_max = 20;  // of errors and disagreements; 0: all
};

constexpr int kTryFine = 0;
// The filter failed on a slice, the two plugins disagree, or a repeated slice got another decision.
constexpr int kTryFindings = 1;
constexpr int kTryUnable = 2;  // the plugin or the recording cannot be used

// `weir filter try`: results to `out`, errors to `err`; returns the exit status.
[[nodiscard]] int run_try_command(const TryCommand& command, std::ostream& out, std::ostream& err);

}  // namespace weir::filter_try
