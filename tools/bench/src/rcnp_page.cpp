// Table, findings and lines of the RCNP emulation's figures. Pure.
#include "units.hpp"
#include <weir/bench/rcnp.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr double kNoise = 1.15;  // times of the same farm in two runs
constexpr double kLinear = 0.99;
constexpr double kSourceRateHz = 100'000;      // of figure 7b
constexpr double kSourceBytesPerSlice = 1000;  // 100 MB/s at that rate
constexpr double kBytesPerMb = 1e6;
constexpr double kBufferMbMax = 6;  // in the paper
constexpr std::uint32_t kPacked[] = {1, 10, 100};
constexpr double kSumNoise = 0.25;  // figure 9: "rather good agreement"
constexpr double kFullUs = 50'000;  // figure 10a: longer than any time without a queue
constexpr double kFullBinUs = 10'000;
constexpr double kFullFromMs = 180;
constexpr double kFullToMs = 220;
constexpr double kTableMeanMsMax = 20;
constexpr double kBuiltUs = 10'000;  // figure 15: the last processing of a slice that is built whole
constexpr double kBuiltBinUs = 1000;

std::string paper_verdict(bool met, const std::string& paper, const std::string& criterion,
                          const std::string& measured) {
  return verdict_text(met, paper + ". Criterion: " + criterion, measured);
}

// A list of verdicts begins after an empty line.
std::string with_verdicts(const std::string& text, const std::string& verdicts) {
  return text + (text.empty() || verdicts.empty() ? "" : "\n") + verdicts;
}

FittedLine line_of(const std::vector<RcnpResult>& results) {
  std::vector<double> x;
  std::vector<double> y;
  for (const RcnpResult& result : results) {
    x.push_back(result.point.x);
    y.push_back(result.cpu_ms());
  }
  return line_through(x, y);
}

std::string line_findings(const RcnpFigure& figure, const std::vector<RcnpResult>& results) {
  const FittedLine line = line_of(results);
  return with_verdicts(
      fmt::format("CPU time of a slice: {:.3f} ms + {:.1f} us for each of the {}, R^2 = {:.4f}.\n",
                  line.intercept, line.slope * kUsPerMs, figure.x, line.r_squared),
      paper_verdict(line.r_squared >= kLinear, "CPU time is linear in the number of " + figure.x,
                    fmt::format("R^2 at least {:g}", kLinear), fmt::format("{:.4f}", line.r_squared)));
}

std::string component_table(const RcnpResult& one) {
  const auto share = [&](double ms) { return kPercent * ms / one.cpu_ms(); };
  return fmt::format(
      "| component | paper: Winsock2 | DEC | zero copy | here |\n"
      "| --- | --- | --- | --- | --- |\n"
      "| T_dst, ms | 25 | 15 | 9 | {:.2f} |\n"
      "| algorithm | 6 % | 11 % | 18 % | {:.0f} % |\n"
      "| data copy; here with the rest of the filter | 12 % | 26 % | 33 % | {:.0f} % |\n"
      "| sent requests | 23 % | 17 % | 7 % | in transport |\n"
      "| responses | 26 % | 13 % | 3 % | in transport |\n"
      "| application, system calls | 33 % | 33 % | 38 % | in transport |\n"
      "| transport: sum of the last three | 82 % | 63 % | 48 % | {:.0f} % |\n",
      one.cpu_ms(), share(one.algorithm_ms), share(one.filter_ms - one.algorithm_ms),
      share(one.transport_ms));
}

std::string buffer_findings(const RcnpResult& one) {
  std::string text;
  double most_mb = 0;
  for (const std::uint32_t packed : kPacked) {
    const Occupancy buffer = occupancy_of(one.above, kSourceRateHz, packed, 1);
    const double mb = buffer.max_slices * kSourceBytesPerSlice / kBytesPerMb;
    most_mb = std::max(most_mb, mb);
    text += fmt::format(
        "At 100 kHz, decisions packed {} at a time: {:.0f} slices held on average, {:.0f} at most, {:.2f} "
        "MB.\n",
        packed, buffer.mean_slices, buffer.max_slices, mb);
  }
  return with_verdicts(
      text, paper_verdict(most_mb <= kBufferMbMax, "latencies like these need little memory in sources",
                          fmt::format("at most {:g} MB", kBufferMbMax), fmt::format("{:.2f} MB", most_mb)));
}

std::string size_findings(const std::vector<RcnpResult>& results) {
  const double growth = results.back().mean_ms / results.front().mean_ms;
  return paper_verdict(growth > 1, "the larger testbed has the longer latencies",
                       "its mean T_dec over that of the smaller one above 1 (1.58 there)",
                       fmt::format("{:.2f}", growth));
}

std::string sum_findings(const std::vector<RcnpResult>& results) {
  const std::vector<TimeAbove> sum = sum_of_draws(results.front().above, 10, 1);
  const double mean_ms = mean_us_of(sum) / kUsPerMs;
  const double off = mean_ms / results.back().mean_ms - 1;
  return with_verdicts(
      fmt::format(
          "Sum of ten draws: mean {:.3f} ms, p99 {:.3f} ms; measured: mean {:.3f} ms, p99 {:.3f} ms.\n",
          mean_ms, percentile_us_of(sum, 99) / kUsPerMs, results.back().mean_ms, results.back().p99_ms),
      paper_verdict(std::abs(off) <= kSumNoise, "the sum agrees rather well with the measurement",
                    fmt::format("means within {:.0f} %", kPercent * kSumNoise),
                    fmt::format("{:+.0f} %", kPercent * off)));
}

std::string unlike_findings(const std::vector<RcnpResult>& results) {
  std::string text;
  std::string verdicts;
  for (const RcnpResult& one : results) {
    const double peak_ms = peak_us_of(one.above, kFullUs, kFullBinUs) / kUsPerMs;
    const std::string peak = peak_ms > 0
                                 ? fmt::format("most of the slices above 50 ms near {:.0f} ms", peak_ms)
                                 : std::string("no slice above 50 ms");
    text += fmt::format("{}: mean {:.1f} ms, {}.\n", one.point.label, one.mean_ms, peak);
    if (&one == &results.front())
      verdicts += paper_verdict(peak_ms >= kFullFromMs && peak_ms <= kFullToMs,
                                "credits alone have a peak at 200 ms, of the full workstations",
                                fmt::format("peak at {:g} to {:g} ms", kFullFromMs, kFullToMs),
                                peak_ms > 0 ? fmt::format("{:.0f} ms", peak_ms) : "none");
    else
      verdicts += paper_verdict(one.mean_ms < kTableMeanMsMax, "the schedule table balances the load",
                                fmt::format("mean below {:g} ms", kTableMeanMsMax),
                                fmt::format("{:.1f} ms", one.mean_ms));
  }
  return with_verdicts(text, verdicts);
}

std::string building_findings(const std::vector<RcnpResult>& results) {
  std::string text = "Mean T_dec up to the last step:";
  for (const RcnpResult& one : results)
    text += fmt::format("{} {} {:.3f} ms", &one == &results.front() ? "" : ",", one.point.label,
                        one.selection_ms);
  // The same farm differs by this much from run to run.
  const auto is_above = [](const RcnpResult& one, const RcnpResult& other) {
    return one.selection_ms > kNoise * other.selection_ms;
  };
  const bool contradicted =
      results.size() == 3 && (is_above(results[0], results[1]) || is_above(results[0], results[2]) ||
                              is_above(results[1], results[2]));
  text += contradicted ? ": not the paper's order.\n" : ": the paper's order";
  if (!contradicted && results.size() == 3)
    text += fmt::format(", the split farm {} the selection alone and the single farm {} both.\n",
                        is_above(results[1], results[0]) ? "above" : "within noise of",
                        is_above(results[2], results[1]) ? "clearly above" : "within noise of");
  const RcnpResult& single = results.back();
  if (const double peak_us = peak_us_of(single.above, kBuiltUs, kBuiltBinUs); peak_us > 0)
    text += fmt::format("{}: most of the slices above {:g} ms near {:.1f} ms.\n", single.point.label,
                        kBuiltUs / kUsPerMs, peak_us / kUsPerMs);
  return text;
}

// Sentences below the table.
std::string findings(const RcnpFigure& figure, const std::vector<RcnpResult>& results) {
  if (!figure.x.empty()) return line_findings(figure, results);
  if (figure.id == "table1") return component_table(results.front());
  if (figure.id == "7") return buffer_findings(results.front());
  if (figure.id == "8") return size_findings(results);
  if (figure.id == "9") return sum_findings(results);
  if (figure.id == "10a") return unlike_findings(results);
  if (figure.id == "15") return building_findings(results);
  return {};
}

std::string others_text(const std::vector<RcnpResult>& results) {
  double most = 0;
  for (const RcnpResult& one : results) most = std::max(most, one.other_cores);
  return fmt::format("Other programs used at most {:.2f} of the cores meanwhile.", most);
}

}  // namespace

Line line_of(const RcnpFigure& figure, const RcnpResult& result) {
  json::array above;
  for (const TimeAbove& one : result.above) above.push_back(json::array{one.us, one.share});
  Line line{{"bench", "rcnp"},
            {"figure", figure.id},
            {"title", figure.title},
            {"x_label", figure.x},
            {"label", result.point.label},
            {"x", result.point.x},
            {"readouts", result.point.readouts},
            {"dcms", result.point.dcms},
            {"steps", result.point.steps},
            {"rate_hz", result.rate_hz},
            {"decision_mean_ms", result.mean_ms},
            {"decision_sigma_ms", result.sigma_ms},
            {"decision_p99_ms", result.p99_ms},
            {"decision_max_ms", result.max_ms},
            {"filter_cpu_ms", result.filter_ms},
            {"transport_cpu_ms", result.transport_ms},
            {"algorithm_ms", result.algorithm_ms},
            {"selection_mean_ms", result.selection_ms},
            {"other_cores", four_digits(result.other_cores)},
            {"decision_above_us", std::move(above)},
            {"_cpu_ms", result.cpu_ms()},
            {"_paper_mean_ms", result.point.paper_mean_ms},
            {"_paper_cpu_ms", result.point.paper_cpu_ms}};
  if (figure.id != "7") return line;
  json::array& buffers = line["buffers"].emplace_array();
  for (const std::uint32_t packed : kPacked) {
    const Occupancy buffer = occupancy_of(result.above, kSourceRateHz, packed, 1);
    buffers.push_back(json::object{{"packed", packed},
                                   {"mean_slices", four_digits(buffer.mean_slices)},
                                   {"max_slices", buffer.max_slices},
                                   {"slice_bytes", kSourceBytesPerSlice},
                                   {"sample_ms", four_digits(buffer.sample_ms)},
                                   {"slices", json::array(buffer.slices.begin(), buffer.slices.end())}});
  }
  return line;
}

std::string rcnp_page(const RcnpFigure& figure, const std::vector<RcnpResult>& results,
                      const RcnpOptions& options, const std::string& machine) {
  Lines lines;
  for (const RcnpResult& result : results) lines.push_back(line_of(figure, result));
  std::vector<Column> columns{text_column("farm", "label"), number_column("slices/s", "rate_hz", 1)};
  // The paper's values are in front of ours, if the figure has any.
  const auto add_measured = [&](const std::string& head, const char* key, const char* paper) {
    const bool known =
        std::ranges::any_of(lines, [&](const Line& line) { return number_of(line, paper) > 0; });
    if (known) columns.push_back(paper_column(head + ": paper", paper));
    columns.push_back(number_column(known ? "here" : head, key, 3));
  };
  add_measured("T_dec mean, ms", "decision_mean_ms", "_paper_mean_ms");
  columns.push_back(number_column("sigma, ms", "decision_sigma_ms", 3));
  columns.push_back(number_column("p99, ms", "decision_p99_ms", 3));
  columns.push_back(number_column("max, ms", "decision_max_ms", 3));
  add_measured("CPU, ms", "_cpu_ms", "_paper_cpu_ms");
  columns.push_back(number_column("filter, ms", "filter_cpu_ms", 3));
  columns.push_back(number_column("transport, ms", "transport_cpu_ms", 3));
  return page_head(fmt::format("RCNP emulation, {}{}", figure.id.size() <= 3 ? "figure " : "", figure.id),
                   options.output,
                   fmt::format("{}. On {}. {}", figure.title, machine, others_text(results))) +
         table_of(lines, columns) + "\n" + findings(figure, results) +
         fmt::format("\nThe paper: {}.\n\nDifference: {}.\n", figure.paper, figure.differs);
}

}  // namespace weir::bench
