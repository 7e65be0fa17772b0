#include "../src/history_keeper.hpp"
#include "../src/history_sampler.hpp"
#include "small_farm.hpp"
#include "weir_catch.hpp"
#include <weir/clock/clock.hpp>
#include <weir/reports/numbers.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

// Values of the last minutes, as the keeper's clock sees them.
void fill(HistoryKeeper& keeper, double value) {
  const UtcNs now = utc_now_ns();
  for (int i = 30; i > 0; --i) {
    const TimeNs at = (1000 - i) * 10 * kSecond;
    REQUIRE(keeper.is_due(at));
    keeper.take(at, now - i * 10 * kSecond, {{"farm/live_share", value}});
  }
}

}  // namespace

TEST_CASE("the history outlives its process, in a file of fixed size") {
  const ScratchFolder folder;
  const std::string path = folder.path().string();
  {
    HistoryKeeper keeper(path);
    fill(keeper, 0.25);
    CHECK(keeper.take_trouble().empty());
  }
  CHECK(std::filesystem::file_size(path + "/history.ring") <= history::HistoryRing::file_bytes());
  HistoryKeeper keeper(path);
  CHECK_THAT(keeper.find({}).value(), ContainsSubstring("\"farm/live_share\""));
  const auto curve = keeper.find({{"name", "farm/live_share"}, {"seconds", "3600"}});
  REQUIRE(curve);
  CHECK_THAT(*curve, ContainsSubstring("\"step_ms\": 10000") && ContainsSubstring("0.25]"));
  CHECK_THAT(keeper.find({{"name", "x"}, {"seconds", "-1"}}).error(),
             ContainsSubstring("is not a number of seconds"));
}

TEST_CASE("a file of another version is replaced, and a folder that cannot be written is named") {
  const ScratchFolder folder;
  const std::string path = folder.path().string();
  std::ofstream(path + "/history.ring") << "something else";
  {
    HistoryKeeper keeper(path);
    CHECK_THAT(keeper.take_trouble(), ContainsSubstring("a new one is begun"));
    fill(keeper, 1);
  }
  CHECK_THAT(HistoryKeeper(path).find({}).value(), ContainsSubstring("farm/live_share"));
  HistoryKeeper lost(path + "/nowhere");
  fill(lost, 1);
  std::string trouble;
  for (int i = 0; i < 1000 && trouble.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    trouble = lost.take_trouble();
  }
  CHECK_THAT(trouble, ContainsSubstring("cannot be written"));
  CHECK_FALSE(HistoryKeeper("").is_due(kSecond));
}

TEST_CASE("a series has the rate of a counter and the level of a gauge, by role") {
  test::SmallFarm farm;
  farm.join_all();
  farm.runs("dcm-0", 1);
  HistorySampler sampler;
  const auto sampled = [&](TimeNs now, std::uint64_t bytes) {
    v1::Report report;
    report.set_name("dcm-0");
    report.set_role(v1::ROLE_DCM);
    report.set_now_ns(now);
    reports::ReportCounters counters(report);
    counters["net.bytes_sent"] = bytes;
    reports::Gauges gauges(report);
    gauges["slices_in_flight"] = 7;
    farm.members.reported(farm.member("dcm-0"), report);
    return sampler.sample(farm.machine, farm.members, now);
  };
  auto values = sampled(kSecond, 1000);
  CHECK_FALSE(values.contains("dcm/weir_net_sent_bytes_total"));
  CHECK(values.at("dcm/weir_slices_in_flight") == 7);
  CHECK(values.at("farm/absent_processes") == 0);
  CHECK(sampled(11 * kSecond, 11'000).at("dcm/weir_net_sent_bytes_total") == 1000);
  CHECK_FALSE(sampled(12 * kSecond, 10).contains("dcm/weir_net_sent_bytes_total"));  // it was restarted
}
