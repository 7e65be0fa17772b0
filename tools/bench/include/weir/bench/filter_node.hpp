#pragma once

#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench filter-node`: the CPU time of a filter node per slice, and the largest input rate that it
// takes. Table 5.2 of the ANTARES thesis (antares-2002-data-transmission, section 5.5.3).
namespace weir::bench {

// Values of the table at an input of 70 kHz. Percentages are of real time: `filter_percent` of one filter,
// `transport_percent` of the node.
struct FilterNodeCost {
  double filter_ms = 0;  // per slice
  double filter_percent = 0;
  double transport_ms = 0;  // per slice
  double transport_percent = 0;
};

// A column of the table, measured at rising input rates.
struct FilterNodeCase {
  std::string label;          // CPUs of the node x filters
  std::uint32_t cpus = 1;     // that all threads of the DCM are bound to
  std::uint32_t filters = 1;  // processing units
  // The filter takes the thesis' CPU time for each byte. Otherwise it is the plugin `coincidence`, and only
  // the input of 70 kHz is measured.
  bool emulated = true;
  FilterNodeCost paper = {};  // zero: not in the thesis
  double paper_max_khz = 0;   // largest input without discarded data
};
[[nodiscard]] const std::vector<FilterNodeCase>& filter_node_cases();

constexpr double kFilterNodeKhz = 70;      // input of the table's costs
constexpr double kFilterNodeFromKhz = 40;  // first input of a case
constexpr double kFilterNodeStepKhz = 10;
constexpr double kFilterNodeMostKhz = 300;

// One run.
struct FilterNodePoint {
  double input_khz = 0;
  std::uint64_t offered = 0;      // slices
  std::uint64_t thrown_away = 0;  // of `offered`: vetoed or discarded
  FilterNodeCost cost;
  double cpu = 0;  // seconds of CPU per second, of the whole machine
};
struct FilterNodeResult {
  FilterNodeCase node;
  std::vector<FilterNodePoint> points;  // ascending
  double other_share = 0;               // of the cores, used by other programs before a run, at most

  // Returns the largest input without thrown away slices, below the first one with some; 0: none.
  [[nodiscard]] double max_khz() const;
  // Explains why the largest input is unknown; empty: it is known, or the case does not measure it.
  [[nodiscard]] std::string without_max() const;
};
// True if the input is to be raised once more: until slices are thrown away, and to 70 kHz at least.
[[nodiscard]] bool raises(const FilterNodeResult& result);

struct FilterNodeOptions {
  double seconds = 10;  // of each run
  Output output{.name = "filter-node"};
};

// `cpus`: numbers of the CPUs for the DCM.
[[nodiscard]] std::string farm_text(const FilterNodeCase& node, double input_khz,
                                    const std::vector<std::uint32_t>& cpus);
// Returns a line for each run.
[[nodiscard]] Lines lines_of(const FilterNodeResult& result);
[[nodiscard]] std::string filter_node_page(const Lines& lines, const FilterNodeOptions& options,
                                           const std::string& machine);

// 0: every case was measured, up to an input at which slices were thrown away, above the lowest one.
[[nodiscard]] int run_filter_node(const FilterNodeOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
