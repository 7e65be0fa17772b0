// The policies against the load.
#include "units.hpp"
#include <weir/bench/assignment.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace weir::bench {
namespace {

// Share of the slices sent to destinations with one processor.
double share_of_slow(const AssignmentResult& result) {
  double share = 0;
  for (std::size_t i = 0; i < result.shares.size(); ++i) {
    if (result.settings.destinations[i].processors == 1) share += result.shares[i];
  }
  return share;
}

std::string assignment_page(const Lines& lines, const AssignmentOptions& options) {
  return page_head(
             options.output.name, options.output,
             fmt::format(
                 "Simulated, {} s a point, seed {}: 5 workstations of 1 processor and 6 servers of 3, 11.4 "
                 "ms "
                 "a slice, {} credits each; 100 % are {:.0f} slices/s. The paper gives neither this time nor "
                 "the credits, and its servers have 4 or 12 processors: all three were chosen for its 2 kHz "
                 "and its peak at 200 ms.",
                 options.seconds, options.seed, options.credits, capacity_hz(rcnp_case()))) +
         table_of(lines, {text_column("policy", "policy"), number_column("load, %", "load", 0, kPercent),
                          number_column("mean, ms", "mean_ms", 1), number_column("p50, ms", "p50_ms", 1),
                          number_column("p99, ms", "p99_ms", 1), number_column("max, ms", "max_ms", 1),
                          number_column("to workstations, %", "_to_workstations", 1, kPercent),
                          number_column("vetoed", "vetoed", 0)});
}

}  // namespace

Line line_of(const AssignmentResult& result) {
  boost::json::array shares;
  for (const double share : result.shares) shares.push_back(hundredths(kPercent * share));
  const auto percentile_ms = [&](double percent) {
    return hundredths(static_cast<double>(result.latency_us.percentile(percent)) / kUsPerMs);
  };
  return {{"bench", "assignment"},
          {"policy", result.settings.policy},
          {"load", result.settings.load},
          {"credits", result.settings.credits},
          {"seed", result.settings.seed},
          {"decided", result.decided},
          {"vetoed", result.vetoed},
          {"mean_ms", hundredths(result.mean_ms)},
          {"p50_ms", percentile_ms(50)},
          {"p90_ms", percentile_ms(90)},
          {"p99_ms", percentile_ms(99)},
          {"max_ms", hundredths(static_cast<double>(result.latency_us.max()) / kUsPerMs)},
          {"share_percent", std::move(shares)},
          {"_to_workstations", share_of_slow(result)}};
}

int run_assignment(const AssignmentOptions& options, std::FILE* out, std::FILE* err) {
  Figure figure;
  figure.bench = "assignment";
  figure.needs_all = true;
  for (const std::string& policy : options.policies) {
    for (const double load : options.loads) {
      const auto measure = [&options, policy, load]() -> Expected<Lines, std::string> {
        AssignmentCase one = rcnp_case();
        one.policy = policy;
        one.load = load;
        one.credits = options.credits;
        one.seed = options.seed;
        one.seconds_ns = static_cast<DurationNs>(options.seconds * kSecond);
        const auto result = simulate(one);
        if (!result) return Unexpected<std::string>(result.error());
        return Lines{line_of(*result)};
      };
      figure.groups.push_back({{policy, measure}});
    }
  }
  figure.page = [&](const Lines& lines) { return assignment_page(lines, options); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
