// Cases, farm and table of `weir bench filter-node`. Pure.
#include "units.hpp"
#include <weir/bench/filter_node.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weir::bench {
namespace {

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

// Returns "-" for a value that does not exist.
std::string or_dash(double value, int digits) {
  return value > 0 ? fmt::format("{:.{}f}", value, digits) : std::string("-");
}

json::value max_json(const FilterNodeResult& result) {
  return result.max_khz() > 0 ? json::value(result.max_khz()) : json::value();
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

const FilterNodePoint* FilterNodeResult::reference() const {
  const auto found = std::ranges::find(points, kFilterNodeKhz, &FilterNodePoint::input_khz);
  return found == points.end() ? nullptr : &*found;
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

std::string filter_node_lines(const std::vector<FilterNodeResult>& results) {
  std::string lines;
  for (const FilterNodeResult& result : results) {
    for (const FilterNodePoint& point : result.points) {
      json::object line{{"bench", "filter-node"},
                        {"node", result.node.label},
                        {"cpus", result.node.cpus},
                        {"filters", result.node.filters},
                        {"emulated", result.node.emulated},
                        {"input_khz", point.input_khz},
                        {"offered", point.offered},
                        {"thrown_away", point.thrown_away},
                        {"machine_cpu_s_per_s", hundredths(point.cpu)},
                        {"max_khz", max_json(result)},
                        {"paper_max_khz", result.node.paper_max_khz}};
      for (auto& [key, value] : cost_json(point.cost)) line[key] = value;
      line["paper"] = cost_json(result.node.paper);
      lines += json::serialize(line) + "\n";
    }
  }
  return lines;
}

std::string filter_node_table(const std::vector<FilterNodeResult>& results, const FilterNodeOptions& options,
                              const std::string& machine) {
  std::string text = fmt::format(
      "# CPU time of a filter node, table 5.2\n\n```sh\n{}\n```\nAt an input of {:.0f} kHz per module, {:g} "
      "s a "
      "run; the largest input without a thrown away slice. On {}.\n\n"
      "| CPUs x filters | filter, ms per slice: paper | here | % of real time: paper | here | transport, ms "
      "per "
      "slice: paper | here | % of real time: paper | here | largest input, kHz: paper | here |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      options.command, kFilterNodeKhz, options.seconds, machine);
  for (const FilterNodeResult& result : results) {
    const FilterNodePoint* const point = result.reference();
    if (point == nullptr) continue;
    const FilterNodeCost& paper = result.node.paper;
    const FilterNodeCost& here = point->cost;
    fmt::format_to(std::back_inserter(text),
                   "| {} | {} | {:.2f} | {} | {:.1f} | {} | {:.2f} | {} | {:.1f} | {} | {} |\n",
                   result.node.label, or_dash(paper.filter_ms, 1), here.filter_ms,
                   or_dash(paper.filter_percent, 0), here.filter_percent, or_dash(paper.transport_ms, 1),
                   here.transport_ms, or_dash(paper.transport_percent, 0), here.transport_percent,
                   or_dash(result.node.paper_max_khz, 0),
                   or_dash(result.node.emulated ? result.max_khz() : 0, 0));
  }
  text +=
      "\nThe paper: two nodes with one or two CPUs of 2002 and one or two filter processes each, beside a "
      "dispatcher process; "
      "slices of 10 ms of 5 LCMs, 60 kB at 70 kHz. Without a loss: 50, 70 and 100 kHz.\n\n"
      "Difference: transport takes a thread of the DCM a small part of the dispatcher's time, because a "
      "slice is "
      "received "
      "into the memory that the filter reads, so a second CPU gains little until a second filter uses it. "
      "Here one of "
      "the two "
      "nodes with every second slice, bound to CPUs of this machine; the filter `busy` takes the thesis' CPU "
      "time of "
      "287 ns per "
      "byte, and the last row has a filter of today.\n";
  return text;
}

}  // namespace weir::bench
