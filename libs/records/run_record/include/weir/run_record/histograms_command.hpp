#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace weir::run_record {

struct HistogramsCommand {
  std::string run;   // a folder (its last run), a run's file, or its *-histograms.json
  std::string name;  // this histogram only; empty: all
  bool json = false;
  bool csv = false;
};

// Carries out `weir file histograms`: results to `out`, errors to `err`. Returns 0; 1 if no such histogram
// exists; 2 if the record cannot be read.
[[nodiscard]] int run_histograms_command(const HistogramsCommand& command, std::ostream& out,
                                         std::ostream& err);

// Returns the path of a run's histograms; nothing if the folder has none.
[[nodiscard]] std::optional<std::string> find_histograms(const std::string& run);

}  // namespace weir::run_record
