// Table, findings and lines of the RCNP emulation's figures. Pure.
#include "units.hpp"
#include <weir/bench/conditions.hpp>
#include <weir/bench/rcnp.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr double kLinear = 0.99;
constexpr double kSourceRateHz = 100'000;      // of figure 7b
constexpr double kSourceBytesPerSlice = 1000;  // 100 MB/s at that rate
constexpr double kBytesPerMb = 1e6;
constexpr double kBufferMbMax = 6;  // in the paper, with a mean latency of 52 ms
constexpr double kBufferMeanMs = 52;
constexpr std::uint32_t kPacked[] = {1, 10, 100};
constexpr double kSumNoise = 0.25;  // figure 9: "rather good agreement"
constexpr double kSameTime = 1.1;
constexpr double kOccupancy = 0.5;  // of processors, in the paper's estimate
constexpr double kClose = 1.3;      // a mean that the paper states
constexpr double kFullUs = 50'000;  // figure 10a: longer than any time without a queue
constexpr double kFullBinUs = 10'000;
constexpr double kFullFromMs = 180;
constexpr double kFullToMs = 220;
constexpr double kBuiltUs = 10'000;  // figure 15: the last processing of a slice that is built whole
constexpr double kBuiltBinUs = 1000;

// A statement of the paper, and one run. `fixed`: a verdict without a criterion.
struct RcnpVerdict {
  bool met = false;
  std::string paper;  // with the section
  std::string criterion = {};
  std::string measured = {};
  std::string fixed = {};
};
struct Findings {
  std::string text = {};
  std::vector<RcnpVerdict> verdicts = {};
};
RcnpVerdict cannot(const std::string& paper, const std::string& why) {
  return {false, paper, "-", "-", "cannot appear here, because " + why};
}
constexpr const char* kOtherProcessors = "the paper's processors had 300 to 437 MHz (II, V.A)";

FittedLine line_of(const std::vector<RcnpResult>& results) {
  std::vector<double> x;
  std::vector<double> y;
  for (const RcnpResult& result : results) {
    x.push_back(result.point.x);
    y.push_back(result.cpu_ms());
  }
  return line_through(x, y);
}

Findings line_findings(const RcnpFigure& figure, const std::vector<RcnpResult>& results) {
  const FittedLine line = line_of(results);
  const bool steps = figure.id == "steps";
  Findings findings{
      fmt::format("CPU time of a slice: {:.3f} ms + {:.1f} us for each of the {}, R^2 = {:.4f}.\n",
                  line.intercept, line.slope * kUsPerMs, figure.x, line.r_squared),
      {{line.r_squared >= kLinear,
        steps ? "VI.A: T_dst scales linearly with the number of steps"
              : "V.B, Figure 5: the time grows linearly",
        fmt::format("R^2 at least {:g}", kLinear), fmt::format("{:.4f}", line.r_squared)}}};
  if (steps) findings.verdicts.push_back(cannot("VI.A: 800 us per step", kOtherProcessors));
  return findings;
}

std::string component_rows(const RcnpResult& one) {
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

Findings component_findings(const RcnpResult& one) {
  const double processors = kSourceRateHz * one.cpu_ms() / kUsPerMs / kOccupancy;
  return {
      component_rows(one) +
          fmt::format(
              "\nAt 100 kHz, with processors that are busy half of the time: {:.0f} processors; the paper: "
              "about 1800, which is 9 ms, the zero copy library's, at 100 kHz, twice.\n",
              processors),
      {cannot("VI.A: the algorithm has at most 20 % of the CPU time, on the best platform",
              "the algorithm takes 100 us a step on any processor, and only the rest becomes faster"),
       cannot("Table 1: 25, 15 and 9 ms", kOtherProcessors),
       cannot("VI.A: about 1800 processors at 100 kHz, at 50 % occupancy", kOtherProcessors)}};
}

Findings system_findings(const std::vector<RcnpResult>& results) {
  const double growth = results.back().cpu_ms() / results.front().cpu_ms();
  return {{},
          {{growth <= kSameTime,
            "V.B: with the zero copy library the time does not depend on whether the system has 6 or 19 "
            "sources",
            fmt::format("at most {:g} times the CPU time", kSameTime), fmt::format("{:.2f} times", growth)}}};
}

Findings buffer_findings(const RcnpResult& one) {
  Findings findings;
  double most_mb = 0;
  for (const std::uint32_t packed : kPacked) {
    const Occupancy buffer = occupancy_of(one.above, kSourceRateHz, packed, 1);
    const double mb = buffer.max_slices * kSourceBytesPerSlice / kBytesPerMb;
    most_mb = std::max(most_mb, mb);
    findings.text += fmt::format(
        "At 100 kHz, decisions packed {} at a time: {:.0f} slices held on average, {:.0f} at most, {:.2f} "
        "MB.\n",
        packed, buffer.mean_slices, buffer.max_slices, mb);
  }
  const double limit_mb = kBufferMbMax * one.mean_ms / kBufferMeanMs;
  findings.verdicts = {
      {most_mb <= limit_mb,
       "VI.B, Figure 7b: at most about 6 MB of buffer for each link, at 100 kHz and 100 MB/s (1.15 "
       "times what arrives in the mean latency of 52 ms)",
       fmt::format("at most {:.2f} MB, 1.15 times {:.1f} ms", limit_mb, one.mean_ms),
       fmt::format("{:.2f} MB", most_mb)},
      cannot("VI.B: the average latency is 52 ms, at 15 ms of CPU per event", kOtherProcessors)};
  return findings;
}

Findings size_findings(const std::vector<RcnpResult>& results) {
  const double growth = results.back().mean_ms / results.front().mean_ms;
  return {{},
          {{growth > 1.1,
            "VI.C, Figure 8: on average 2.4 ms for the small and 3.8 ms for the larger system (1.58 times)",
            "at least 1.1 times", fmt::format("{:.2f} times", growth)}}};
}

// The paper compares distributions.
Findings sum_findings(const std::vector<RcnpResult>& results) {
  const std::vector<TimeAbove> sum = sum_of_draws(results.front().above, 10, 1);
  Findings findings;
  double most = 0;
  for (const double percent : {50.0, 90.0, 99.0}) {
    const double drawn_ms = percentile_us_of(sum, percent) / kUsPerMs;
    const double real_ms = percentile_us_of(results.back().above, percent) / kUsPerMs;
    most = std::max(most, std::abs(drawn_ms / real_ms - 1));
    findings.text += fmt::format("{}{:g} % of the times: sum of ten draws {:.1f} ms, measured {:.1f} ms",
                                 findings.text.empty() ? "" : "; ", percent, drawn_ms, real_ms);
  }
  findings.text +=
      fmt::format("; means {:.1f} and {:.1f} ms.\n", mean_us_of(sum) / kUsPerMs, results.back().mean_ms);
  findings.verdicts = {{most <= kSumNoise,
                        "VI.D, Figure 9: simulated and measured profiles agree rather well",
                        fmt::format("50, 90 and 99 % of the times within {:.0f} %", kPercent * kSumNoise),
                        fmt::format("{:.0f} % at most", kPercent * most)}};
  return findings;
}

Findings unlike_findings(const std::vector<RcnpResult>& results) {
  Findings findings;
  for (const RcnpResult& one : results) {
    const double peak_ms = peak_us_of(one.above, kFullUs, kFullBinUs) / kUsPerMs;
    const std::string peak = peak_ms > 0
                                 ? fmt::format("most of the slices above 50 ms near {:.0f} ms", peak_ms)
                                 : std::string("no slice above 50 ms");
    findings.text += fmt::format("{}: mean {:.1f} ms, {}.\n", one.point.label, one.mean_ms, peak);
    const bool credits = &one == &results.front();
    const double paper_ms = one.point.paper_mean_ms;
    findings.verdicts.push_back({one.mean_ms >= paper_ms / kClose && one.mean_ms <= paper_ms * kClose,
                                 credits ? "VI.E: with credits alone T_dec is 75 ms on average"
                                         : "VI.E: with a schedule table T_dec is reduced to 14 ms",
                                 fmt::format("within a factor of {:g}", kClose),
                                 fmt::format("{:.1f} ms", one.mean_ms)});
    if (credits)
      findings.verdicts.push_back({peak_ms >= kFullFromMs && peak_ms <= kFullToMs,
                                   "VI.E, Figure 10a: a peak at 200 ms, of the saturated workstations",
                                   fmt::format("peak from {:g} to {:g} ms", kFullFromMs, kFullToMs),
                                   peak_ms > 0 ? fmt::format("{:.0f} ms", peak_ms) : "none"});
  }
  return findings;
}

Findings building_findings(const std::vector<RcnpResult>& results) {
  Findings findings{"Mean T_dec up to the last step:", {}};
  for (const RcnpResult& one : results)
    findings.text += fmt::format("{} {} {:.3f} ms", &one == &results.front() ? "" : ",", one.point.label,
                                 one.selection_ms);
  findings.text += ".\n";
  const auto grows = [&](std::size_t from, const char* paper) {
    const double growth = results[from + 1].selection_ms / results[from].selection_ms;
    findings.verdicts.push_back(
        {growth >= 1.05, paper, "at least 1.05 times", fmt::format("{:.2f} times", growth)});
  };
  if (results.size() == 3) {
    grows(0,
          "VI.G, Figure 15b: event building in the other farm raises the average T_dec (EB in EFT over "
          "no EB); there by its traffic, here by the CPU that both groups share");
    grows(1, "VI.G: a single farm raises it further (EB in SEL over EB in EFT)");
  }
  const RcnpResult& single = results.back();
  if (const double peak_us = peak_us_of(single.above, kBuiltUs, kBuiltBinUs); peak_us > 0)
    findings.text += fmt::format("{}: most of the slices above {:g} ms near {:.1f} ms.\n", single.point.label,
                                 kBuiltUs / kUsPerMs, peak_us / kUsPerMs);
  findings.verdicts.push_back(
      cannot("VI.G, Figure 15a: a peak around 20 ms, 6.6 for the steps, 4.3 for 44 kB at 80 Mb/s and 10",
             "no link of 155 Mb/s is between these processes"));
  findings.verdicts.push_back({false, "VI.G, Figure 15a: another peak around 200 ms", "-", "-",
                               "open in the paper: it has no clear explanation"});
  findings.verdicts.push_back({false, "Figure 14: the reject rates of the steps", "-", "-",
                               "open in the paper: the text gives none; half of the slices here"});
  return findings;
}

// Sentences below the table, and verdicts, of one run.
Findings findings_of(const RcnpFigure& figure, const std::vector<RcnpResult>& results) {
  if (!figure.x.empty()) return line_findings(figure, results);
  if (figure.id == "sources") return system_findings(results);
  if (figure.id == "table1") return component_findings(results.front());
  if (figure.id == "7") return buffer_findings(results.front());
  if (figure.id == "8") return size_findings(results);
  if (figure.id == "9") return sum_findings(results);
  if (figure.id == "10a") return unlike_findings(results);
  if (figure.id == "15") return building_findings(results);
  return {};
}

std::string verdict_of(const std::vector<Findings>& runs, std::size_t number, bool busy) {
  const RcnpVerdict& first = runs.front().verdicts[number];
  if (!first.fixed.empty()) return first.fixed;
  if (busy) return "no verdict: the machine was busy";
  const auto met = std::ranges::count_if(runs, [&](const Findings& run) { return run.verdicts[number].met; });
  if (met == std::ranges::ssize(runs)) return "met";
  return met == 0 ? "not met" : "not met: the runs differ";
}

std::string findings(const RcnpFigure& figure, const std::vector<RcnpResult>& results) {
  std::vector<Findings> runs;
  bool busy = false;
  for (std::uint32_t run = 1; run <= results.back().run; ++run) {
    std::vector<RcnpResult> its;
    for (const RcnpResult& one : results) {
      if (one.run == run) its.push_back(one);
      busy = busy || one.other_cores > kBusyShare * std::max(1U, std::thread::hardware_concurrency());
    }
    if (its.size() == results.size() / results.back().run) runs.push_back(findings_of(figure, its));
  }
  std::string text;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].text.empty()) continue;
    text += (runs.size() > 1 ? fmt::format("Run {}:\n\n", run + 1) : std::string()) + runs[run].text + "\n";
  }
  bool differ = false;
  std::string rows;
  for (std::size_t number = 0; number < runs.front().verdicts.size(); ++number) {
    std::string measured;
    for (const Findings& run : runs)
      measured += (measured.empty() ? "" : "; ") + run.verdicts[number].measured;
    const RcnpVerdict& first = runs.front().verdicts[number];
    const std::string verdict = verdict_of(runs, number, busy);
    differ = differ || verdict.ends_with("differ");
    rows += verdict_row(verdict, first.paper, first.criterion, first.fixed.empty() ? measured : "-");
  }
  const std::string agree = runs.size() < 2 ? "A single run: whether its shape repeats is not known."
                            : differ        ? "The shape differed between the runs."
                                            : fmt::format("{} runs, with the same shape.", runs.size());
  return text + "## Statements of the paper\n\n" + agree + "\n\n" + verdict_table_head() + rows;
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
            {"_run", result.run},
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
  std::vector<Column> columns{text_column("farm", "label")};
  if (results.back().run > 1) columns.push_back(number_column("run", "_run", 0));
  columns.push_back(number_column("slices/s", "rate_hz", 1));
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
                   options.output, fmt::format("{}. {} {}", figure.title, machine, others_text(results))) +
         table_of(lines, columns) + "\n" + findings(figure, results) +
         fmt::format("\nThe paper: {}.\n\nDifference: {}.\n", figure.paper, figure.differs);
}

}  // namespace weir::bench
