// The policies against the load: lines of JSON, a table.
#include "output.hpp"
#include "units.hpp"
#include <weir/bench/assignment.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::bench {
namespace {

double percentile_ms(const AssignmentResult& result, double percent) {
  return static_cast<double>(result.latency_us.percentile(percent)) / kUsPerMs;
}

double max_ms(const AssignmentResult& result) {
  return static_cast<double>(result.latency_us.max()) / kUsPerMs;
}

// Share of the slices sent to destinations with one processor.
double share_of_slow(const AssignmentResult& result) {
  double share = 0;
  for (std::size_t i = 0; i < result.shares.size(); ++i) {
    if (result.settings.destinations[i].processors == 1) share += result.shares[i];
  }
  return share;
}

std::string table_of(const std::vector<AssignmentResult>& results, const AssignmentOptions& options) {
  std::string text = fmt::format(
      "# {}\n\n```sh\n{}\n```\nSimulated, {} s a point, seed {}: 5 workstations of 1 processor and 6 servers "
      "of 3, "
      "11.4 ms a slice, {} credits each; 100 % are {:.0f} slices/s.\n\n"
      "| policy | load, % | mean, ms | p50, ms | p99, ms | max, ms | to workstations, % | vetoed |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      options.name, options.command, options.seconds, options.seed, options.credits,
      capacity_hz(rcnp_case()));
  for (const AssignmentResult& result : results) {
    text += fmt::format("| {} | {:g} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {} |\n",
                        result.settings.policy, kPercent * result.settings.load, result.mean_ms,
                        percentile_ms(result, 50), percentile_ms(result, 99), max_ms(result),
                        kPercent * share_of_slow(result), result.vetoed);
  }
  return text;
}

}  // namespace

std::string to_json_line(const AssignmentResult& result) {
  boost::json::array shares;
  for (const double share : result.shares) shares.push_back(hundredths(kPercent * share));
  const boost::json::object line{{"bench", "assignment"},
                                 {"policy", result.settings.policy},
                                 {"load", result.settings.load},
                                 {"credits", result.settings.credits},
                                 {"seed", result.settings.seed},
                                 {"decided", result.decided},
                                 {"vetoed", result.vetoed},
                                 {"mean_ms", hundredths(result.mean_ms)},
                                 {"p50_ms", hundredths(percentile_ms(result, 50))},
                                 {"p90_ms", hundredths(percentile_ms(result, 90))},
                                 {"p99_ms", hundredths(percentile_ms(result, 99))},
                                 {"max_ms", hundredths(max_ms(result))},
                                 {"share_percent", std::move(shares)}};
  return run_record::one_line(line);
}

int run_assignment(const AssignmentOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  std::vector<AssignmentResult> results;
  std::string lines;
  for (const std::string& policy : options.policies) {
    for (const double load : options.loads) {
      AssignmentCase one = rcnp_case();
      one.policy = policy;
      one.load = load;
      one.credits = options.credits;
      one.seed = options.seed;
      one.seconds_ns = static_cast<DurationNs>(options.seconds * kSecond);
      auto result = simulate(one);
      if (!result) {
        fmt::print(err, "weir bench: {}\n", result.error());
        return 1;
      }
      const std::string line = to_json_line(*result);
      fmt::print(out, "{}\n", line);
      lines += line + "\n";
      results.push_back(std::move(*result));
    }
  }
  if (options.out.empty()) return 0;
  return write_output(options.out, options.name, lines, table_of(results, options), err);
}

}  // namespace weir::bench
