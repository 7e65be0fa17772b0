// Takes the reports of a farm in a lab while it runs.
#include "failover_run.hpp"

#include "farm_operator.hpp"
#include "lab_farm.hpp"
#include <weir/base/time.hpp>
#include <weir/clock/clock.hpp>

#include <future>

namespace weir::bench {
namespace {

constexpr double kLastReportsS = 0.5;

}  // namespace

Expected<run_record::Summary, std::string> watch_lab_run(const run::RunOptions& options,
                                                         const std::string& farm, double seconds,
                                                         FailoverTrace& trace) {
  const UtcNs utc_offset_ns = utc_now_ns() - monotonic_now_ns();
  auto run = std::async(std::launch::async, [&] { return summary_of_lab_run(options); });
  FarmOperator* watched = nullptr;
  FarmOperator watcher(control_of(farm, run), [&] {
    if (watched != nullptr) trace.take(watched->view());
  });
  watched = &watcher;
  watcher.wait_until([&] { return watcher.begin_s() > 0; }, "no report of the supervisor has come");
  watcher.run_to(watcher.begin_s() + seconds + kLastReportsS);
  auto summary = run.get();
  if (summary)
    trace.begin_at(static_cast<double>(summary->begin_utc_ns - utc_offset_ns) / static_cast<double>(kSecond));
  return summary;
}

}  // namespace weir::bench
