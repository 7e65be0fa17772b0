#pragma once

#include <weir/bench/network.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Shapers in realistic networks, including unfavourable ones: `weir bench field`.
namespace weir::bench {

// A port that gets another rate in the middle of a run.
struct FieldChange {
  double at = 0;  // as a share of the run
  const char* host = "";
  const char* rate = "";
};

// A farm and its network. Keys are written as in the farm file and the lab file.
struct FieldCase {
  const char* name = "";
  const char* title = "";
  std::uint32_t readouts = 8;
  std::uint32_t dcms = 1;
  const char* source = "size_bytes: 65536";
  const char* lab = "";
  std::uint32_t credits = 16;
  double bound = 1;  // share of the DCM's port that the network before it lets through, for serialisation
  std::vector<FieldChange> changes = {};
};
[[nodiscard]] std::span<const FieldCase> field_cases();

struct FieldOptions {
  std::vector<std::string> cases;  // names; empty: all
  std::vector<std::string> shapers{"adaptive", "none", "byte-credits"};
  std::vector<std::uint64_t> window_bytes{32'000, 72'000, 144'000, 1'000'000};  // for byte-credits
  std::vector<std::string> loads{"quiet", "busy"};  // busy: a spinner for each core
  double seconds = 8;
  std::uint32_t rounds = 1;
  std::string out;  // folder for page and lines; empty: none
  std::string name = "field";
  std::string command;  // as it was typed
};

struct FieldPoint {
  const FieldCase* what = nullptr;
  bool busy = false;
  std::string shaper;
  std::uint64_t window_bytes = 0;  // 0: the shaper has no window
};

// A point with all its rounds.
struct FieldResult {
  FieldPoint point;
  std::vector<NetworkRun> runs;
};

// Medians over the rounds, each on its own.
struct FieldFigures {
  double share_of_theory = 0;         // after the first second, relative to the rate that the network allows
  double p99_over_serialisation = 0;  // 0: no slice was built after the first second
  double drops = 0;
  double drops_after_1s = 0;
  double retransmits_per_s = 0;
  double cpu_s_per_s = 0;          // of the farm
  double machine_cpu_s_per_s = 0;  // including spinners
};
[[nodiscard]] FieldFigures figures_of(const FieldResult& result);

// Case by case, quiet before busy; the points of a group are measured in turn, round after round.
[[nodiscard]] std::vector<std::vector<FieldPoint>> expand(const FieldOptions& options);
[[nodiscard]] std::string shaper_text(const FieldPoint& point);  // "byte-credits 72 kB"
[[nodiscard]] std::string describe(const FieldPoint& point);
[[nodiscard]] std::string farm_text(const FieldPoint& point, const FieldOptions& options);
[[nodiscard]] std::string lab_text(const FieldPoint& point, const FieldOptions& options, unsigned cores);
[[nodiscard]] std::string to_json_line(const FieldResult& result, const FieldOptions& options);
[[nodiscard]] std::string page_of(const std::vector<FieldResult>& results, const FieldOptions& options,
                                  const std::string& machine);

// Runs the whole benchmark: a JSON line per point to `out`, a sentence per point to `err`, and the output
// requested in the options. A failed point is skipped. Returns the exit status: 0, or 1 if one failed.
[[nodiscard]] int run_field(const FieldOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
