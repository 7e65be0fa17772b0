// Cases, farm and table of `weir bench filter-node`. Pure.
#include "units.hpp"
#include <weir/bench/conditions.hpp>
#include <weir/bench/filter_node.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weir::bench {
namespace {

constexpr double kMostPaperKhz = 100;  // of 2 x 2
constexpr double kFullLcms = 300;      // of the whole detector
constexpr double kCloseInput = 1.3;    // between the paper's largest input and ours

namespace json = boost::json;

constexpr std::uint32_t kModules = 5;                           // LCMs, each a readout
constexpr double kModuleBytesPerKhz = 12'000 / kFilterNodeKhz;  // slices of 60 kB at 70 kHz
constexpr double kNsPerByte = 287;           // 17.2 ms for 60 kB on a CPU of its own (table 5.1)
constexpr double kSlicesPerS = 50;           // every second slice of 10 ms: one of two nodes
constexpr std::uint32_t kSlicesWaiting = 8;  // and as many in the node

std::string emulated_text(double input_khz) {
  const auto bytes = static_cast<std::uint64_t>(std::lround(kModuleBytesPerKhz * input_khz));
  return fmt::format(
      "trigger: {{mode: rate, rate_hz: {0:g}}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: {1}, size_bytes_max: {1}}}\n"
      "filter: {{plugin: busy, parameters: {{microseconds: 0, nanoseconds_per_byte: {2:g}, reject: 1}}}}\n",
      kSlicesPerS, bytes, kNsPerByte);
}

std::string detector_text(double input_khz) {
  return fmt::format(
      "trigger: {{mode: rate, rate_hz: {:g}, slice_ms: 10}}\n"
      "source: {{kind: hits}}\n"
      "hits: {{strings: 1, floors_per_string: {}, modules_per_floor: 3, background_hz: {:.0f}, "
      "track_rate_hz: "
      "5}}\n"
      "filter: {{plugin: coincidence}}\n",
      kSlicesPerS, kModules, input_khz * 1000);
}

json::object cost_json(const FilterNodeCost& cost) {
  return {{"filter_ms", four_digits(cost.filter_ms)},
          {"filter_percent", four_digits(cost.filter_percent)},
          {"transport_ms", four_digits(cost.transport_ms)},
          {"transport_percent", four_digits(cost.transport_percent)}};
}

}  // namespace

const std::vector<FilterNodeCase>& filter_node_cases() {
  static const std::vector<FilterNodeCase> cases = {
      {.label = "1 x 1", .cpus = 1, .filters = 1, .paper = {20.2, 51, 7.5, 36}, .paper_max_khz = 50},
      {.label = "2 x 1", .cpus = 2, .filters = 1, .paper = {18.5, 94, 2.1, 11}, .paper_max_khz = 70},
      {.label = "2 x 2", .cpus = 2, .filters = 2, .paper = {18.3, 47, 2.8, 14}, .paper_max_khz = 100},
      {.label = "2 x 1, coincidence", .cpus = 2, .filters = 1, .emulated = false}};
  return cases;
}

double FilterNodeResult::max_khz() const {
  double most = 0;
  for (const FilterNodePoint& point : points) {
    if (point.thrown_away > 0) break;
    most = point.input_khz;
  }
  return most;
}

std::string FilterNodeResult::without_max() const {
  if (!node.emulated || points.empty() || max_khz() > 0) return {};
  const FilterNodePoint& lowest = points.front();
  return fmt::format(
      "no largest input: {} of {} slices were thrown away at {:.0f} kHz already, the lowest input, while all "
      "programs of this machine used {:.1f} CPUs: measure again on an idle machine",
      lowest.thrown_away, lowest.offered, lowest.input_khz, lowest.cpu);
}

bool raises(const FilterNodeResult& result) {
  if (!result.node.emulated || result.points.empty()) return false;
  const FilterNodePoint& last = result.points.back();
  if (last.input_khz >= kFilterNodeMostKhz) return false;
  return last.thrown_away == 0 || last.input_khz < kFilterNodeKhz;
}

std::string farm_text(const FilterNodeCase& node, double input_khz, const std::vector<std::uint32_t>& cpus) {
  return fmt::format(
      "farm: bench-filter-node\n"
      "{}"
      "supervisor: {{in_flight_max: {}, pending_max: {}}}\n"
      "readout: {{count: {}{}}}\n"
      "dcm: {{count: 1, credits: {}, processing_units: {}, cpus: [{}]}}\n"
      "writer: {{count: {}}}\n",
      node.emulated ? emulated_text(input_khz) : detector_text(input_khz), 2 * kSlicesWaiting, kSlicesWaiting,
      kModules, node.emulated ? ", sources_per_readout: 1" : "", kSlicesWaiting, node.filters,
      fmt::join(cpus, ", "), node.emulated ? 0 : 1);
}

Lines lines_of(const FilterNodeResult& result) {
  const bool known = result.max_khz() > 0;
  Lines lines;
  for (const FilterNodePoint& point : result.points) {
    Line& line = lines.emplace_back(Line{{"bench", "filter-node"},
                                         {"node", result.node.label},
                                         {"cpus", result.node.cpus},
                                         {"filters", result.node.filters},
                                         {"emulated", result.node.emulated},
                                         {"input_khz", point.input_khz},
                                         {"offered", point.offered},
                                         {"thrown_away", point.thrown_away},
                                         {"machine_cpu_s_per_s", hundredths(point.cpu)},
                                         {"other_share", result.other_share},
                                         {"max_khz", known ? json::value(result.max_khz()) : json::value()},
                                         {"paper_max_khz", result.node.paper_max_khz},
                                         {"paper", cost_json(result.node.paper)},
                                         {"_without_max", result.without_max()},
                                         {"_max_khz", result.node.emulated ? result.max_khz() : 0}});
    const json::object cost = cost_json(point.cost);
    line.insert(cost.begin(), cost.end());
  }
  return lines;
}

namespace {

// Of the largest inputs. Other programs on the same CPUs make them smaller, so a busy machine gets no
// verdict.
std::string input_verdicts(const Lines& lines) {
  std::string rows;
  std::string last;
  std::string full;
  for (const Line& line : lines) {
    const double paper_khz = number_of(line, "paper_max_khz");
    const std::string node = text_of(line, "node");
    if (paper_khz <= 0 || node == last) continue;
    last = node;
    const double khz = number_of(line, "_max_khz");
    const bool busy = number_of(line, "other_share") > kBusyShare || khz <= 0;
    const bool met = khz >= paper_khz / kCloseInput && khz <= paper_khz * kCloseInput;
    const auto verdict = [&](bool is_met, const std::string& paper, const std::string& criterion) {
      rows += verdict_row(!line.contains(kOtherShare) ? "no verdict: the load was not recorded"
                          : busy                      ? "no verdict: the machine was busy"
                          : is_met                    ? "met"
                                                      : "not met",
                          paper, criterion, khz > 0 ? fmt::format("{:g} kHz", khz) : "-");
    };
    verdict(met, fmt::format("Table 5.2, {}: {:g} kHz without overflow", node, paper_khz),
            fmt::format("within a factor of {:g}", kCloseInput));
    if (paper_khz < kMostPaperKhz) continue;
    // Each of the two nodes has every second slice.
    verdict(khz >= kFilterNodeKhz && khz < 2 * kFilterNodeKhz,
            "5.5.3: two 2-CPU nodes are just enough for 5 LCMs, 2 x 300/5 = 120 for the full detector",
            fmt::format("{:g} kHz, and less than {:g}, when one node would do", kFilterNodeKhz,
                        2 * kFilterNodeKhz));
    if (khz > 0)
      full = fmt::format(
          "\nThe full detector of 300 LCMs, if the work grows with the number of LCMs and the input: "
          "{:.0f} nodes like 2 x 2 (2 x 70 kHz / {:g} kHz x 300/5); the paper, 120: it multiplies the "
          "two nodes.\n",
          std::ceil(2 * kFilterNodeKhz / khz * kFullLcms / kModules), khz);
  }
  return verdict_table_head() + rows + full;
}

}  // namespace

std::string filter_node_page(const Lines& lines, const FilterNodeOptions& options,
                             const std::string& machine) {
  Lines reference;
  std::ranges::copy_if(lines, std::back_inserter(reference),
                       [](const Line& line) { return number_of(line, "input_khz") == kFilterNodeKhz; });
  return page_head(
             "CPU time of a filter node, table 5.2", options.output,
             fmt::format("At an input of {:.0f} kHz per module, {:g} s a run; the largest input without "
                         "a thrown away slice. On {}.",
                         kFilterNodeKhz, options.seconds, machine)) +
         table_of(reference, {text_column("CPUs x filters", "node"),
                              paper_column("filter, ms per slice: paper", "paper.filter_ms"),
                              number_column("here", "filter_ms", 2),
                              paper_column("% of real time: paper", "paper.filter_percent"),
                              number_column("here", "filter_percent", 1),
                              paper_column("transport, ms per slice: paper", "paper.transport_ms"),
                              number_column("here", "transport_ms", 2),
                              paper_column("% of real time: paper", "paper.transport_percent"),
                              number_column("here", "transport_percent", 1),
                              paper_column("largest input, kHz: paper", "paper_max_khz"),
                              paper_column("here", "_max_khz")}) +
         "\n" + input_verdicts(lines) +
         "\nThe paper (table 5.2, 5.5.3): two nodes with one or two Pentium III of 933 MHz (5.5.1) "
         "and one or two filter processes each, beside a dispatcher process; slices of 10 ms of 5 "
         "LCMs, 60 kB at 70 kHz. Its run of 1 x 1 failed at 70 kHz: 20.2 and 7.5 ms, 51 and 36 % are "
         "re-calculated there, and not to be compared with the others, as the thesis says. Its 51, 94 "
         "and 47 % are of dfilter in total (16.9, 19.0 and 19.1 ms), its milliseconds here of the "
         "filter algorithm.\n\nDifference: transport takes a thread of the DCM a small part of the "
         "dispatcher's time, because a slice is received into the memory that the filter reads, so a "
         "second CPU gains little until a second filter uses it. Here one of the two nodes with every "
         "second slice, bound to CPUs of this machine; the filter `busy` takes the CPU time of the "
         "thesis' table 5.1, 17.2 ms for 60 kB (287 ns per byte), and the last row has a filter of "
         "today.\n";
}

}  // namespace weir::bench
