// Serves the page of a simulated farm: weir-page-demo [PORT [READOUTS [DCMS]]]. Ends with SIGTERM or Ctrl-C.
#include "made_up_farm.hpp"
#include <weir/clock/clock.hpp>
#include <weir/page/page.hpp>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::page;

namespace {

// A day's curve with a gap.
Expected<std::string, std::string> series(const RunQuery& query) {
  if (!query.contains("name"))
    return std::string(
        R"({"names": ["farm/live_share", "supervisor/weir_slices_triggered_total", "dcm/weir_slices_in_flight"]})");
  const double seconds = std::atof(query.at("seconds").c_str());
  const double step_ms = seconds * 1e3 / 400;
  const auto now = static_cast<double>(utc_now_ns() / kMillisecond);
  std::string points;
  for (int i = 0; i < 400; ++i) {
    if (i > 200 && i < 230) continue;
    points += (points.empty() ? "[" : ",[") +
              std::to_string(static_cast<std::int64_t>(now - (400 - i) * step_ms)) + "," +
              std::to_string(500 + 400 * std::sin(i / 40.0)) + "]";
  }
  return "{\"step_ms\": " + std::to_string(step_ms) + ", \"points\": [" + points + "]}";
}

Expected<std::string, std::string> trend(const RunQuery& query) {
  if (!query.contains("key")) return std::string(R"({"keys": ["latency_us.p99", "triggered"]})");
  std::string points;
  for (int run = 1; run <= 120; ++run)
    points += (run == 1 ? "{" : ",{") + std::string("\"run\":") + std::to_string(run) +
              ",\"value\":" + std::to_string(2000 + 40 * (run % 17)) + "}";
  return "{\"points\": [" + points + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);

  test::MadeUpFarm farm(static_cast<unsigned>(number(2, 8)), static_cast<unsigned>(number(3, 4)), 2);
  std::mutex mutex;
  PageSettings settings;
  settings.listen.port = static_cast<std::uint16_t>(number(1, 8080));
  settings.token = "made-up";
  settings.recorded_histograms = [](std::uint32_t run) { return test::MadeUpFarm::histograms(run, 120); };
  settings.documents["/api/series"] = [](const RunQuery& query) { return series(query); };
  settings.documents["/api/trend"] = [](const RunQuery& query) { return trend(query); };
  Page page(settings, [&](const RequestedCommand& command) {
    const std::lock_guard lock(mutex);
    return farm.command(command);
  });
  const auto step = [&] {
    const std::lock_guard lock(mutex);
    farm.step();
    page.show_histograms(test::MadeUpFarm::histograms(farm.farm().run, farm.seconds()));
    page.show_sources(test::MadeUpFarm::sources(farm.seconds()));
    Farm shown = farm.farm();
    shown.histograms = farm.seconds();
    shown.live_share = 0.987;
    shown.checks_run = shown.run;
    shown.checks = {{"size", "slice bytes", "good", control::Gravity::warning, ""},
                    {"shape", "charge", "not judged", control::Gravity::warning, "fewer than 1e+04 entries"},
                    {"dead-channels", "hits per module", "failed", control::Gravity::error,
                     "3 empty bins, at most 1 expected"}};
    page.update(shown);
    for (const LogLine& line : farm.logged()) page.log(line);
  };
  control::Alarm blocked;
  blocked.name = "disk fills";
  blocked.gravity = control::Gravity::warning;
  blocked.reason =
      "store-0 '/data/out' (writer-0, writer-1): 1.20 TB free (7 %), full in 1 h 50 min at 182 MB/s: move or "
      "delete files there, or let the next run write to another disk";
  blocked.since_utc = test::MadeUpFarm::kBeginUtcNs;
  control::Alarm lost = blocked;
  lost.name = "DCM lost";
  lost.reason = "dcm-3 (not heard for 40 s): the others build";
  lost.acked_by = "Ada";
  farm.set_alarms({blocked, lost});
  constexpr int kPast = 240;  // seconds of history in the plots
  for (int i = 0; i < kPast; ++i) step();
  std::printf("http://127.0.0.1:%u/ token made-up\n", static_cast<unsigned>(page.endpoint().port));
  std::fflush(stdout);
  const timespec second{1, 0};
  while (sigtimedwait(&ends, nullptr, &second) < 0) step();
  return 0;
}
