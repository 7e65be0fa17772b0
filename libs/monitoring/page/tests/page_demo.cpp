// Serves the page of a simulated farm: weir-page-demo [PORT [READOUTS [DCMS]]]. Ends with SIGTERM or Ctrl-C.
#include "made_up_farm.hpp"
#include <weir/page/page.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

using namespace weir;
using namespace weir::page;

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
