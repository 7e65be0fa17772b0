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
  Output output{.name = "field"};
};

struct FieldPoint {
  const FieldCase* what = nullptr;
  bool busy = false;
  std::string shaper;
  std::uint64_t window_bytes = 0;  // 0: the shaper has no window
};

// Case by case, quiet before busy; the points of a group are measured in turn, round after round.
[[nodiscard]] std::vector<std::vector<FieldPoint>> expand(const FieldOptions& options);
[[nodiscard]] std::string shaper_text(const FieldPoint& point);  // "byte-credits 72 kB"
[[nodiscard]] std::string describe(const FieldPoint& point);
[[nodiscard]] std::string farm_text(const FieldPoint& point, const FieldOptions& options);
[[nodiscard]] std::string lab_text(const FieldPoint& point, const FieldOptions& options, unsigned cores);
// Returns the line of a round. Latency is relative to the narrowest place of the network.
[[nodiscard]] Line line_of(const FieldPoint& point, const FieldOptions& options, const NetworkRun& run);
// A section for each case.
[[nodiscard]] std::string field_page(const Lines& lines, const FieldOptions& options,
                                     const std::string& machine);

// Measures the shapers of a case in turn. Returns the exit status: 0, or 1 if a point failed.
[[nodiscard]] int run_field(const FieldOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
