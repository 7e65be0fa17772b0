#include "weir_catch.hpp"
#include <weir/bench/ceiling.hpp>
#include <weir/bench/loopback.hpp>

#include <boost/json.hpp>

using namespace weir;
using namespace weir::bench;

TEST_CASE("a point's ratio is the median of the rounds' ratios, not the ratio of medians") {
  const auto round = [](double farm, double ceiling, double yardstick) {
    Round one;
    one.farm.fragments_per_s = farm;
    one.ceiling.fragments_per_s = ceiling;
    one.yardstick = Rate{yardstick, 0, 0, 0};
    one.tls = Rate{farm / 2, 0, 0, 0};
    return one;
  };
  Lines rounds;
  for (const Round& one : {round(10, 20, 20), round(30, 40, 50), round(90, 100, 50)})
    rounds.push_back(line_of({4, 3, 2, 1024, false}, one));
  const Line line = medians_of(rounds);
  CHECK(line.at("fragment_bytes").to_number<int>() == 1024);
  CHECK(line.at("dcms").to_number<int>() == 2);
  CHECK(line.at("readouts").to_number<int>() == 4);
  CHECK(line.at("sources_per_readout").to_number<int>() == 3);
  CHECK_FALSE(line.at("checksums").as_bool());
  CHECK(line.at("rounds").to_number<int>() == 3);
  CHECK(line.at("ratio").to_number<double>() == 0.75);
  CHECK(line.at("ceiling_to_yardstick").to_number<double>() == 1.0);
  CHECK(line.at("tls_to_plain").to_number<double>() == 0.5);
  CHECK(line.at("tls").at("fragments_per_s").to_number<double>() == 15);
  CHECK(line.at("weir").at("fragments_per_s").to_number<double>() == 30);
  CHECK(line.at("ceiling").at("fragments_per_s").to_number<double>() == 40);
}

TEST_CASE("the ceiling moves every byte that it counts, small and large") {
  const auto bytes = GENERATE(64U, 1024U, 100'000U, 1U << 20);
  CeilingSettings settings;
  settings.readouts = 2;
  settings.collectors = 2;
  settings.fragment_bytes = bytes;
  settings.seconds = 0.1;
  const auto result = measure_ceiling(settings);
  REQUIRE(result);
  CHECK(result->fragments_per_s > 0);
  CHECK(result->goodput_bytes_per_s == Approx(result->fragments_per_s * bytes));
  CHECK(result->system_calls_per_fragment > 0);
  CHECK(result->cpu_us_per_fragment > 0);
}

TEST_CASE("a reference program that cannot be run is named with its output") {
  const auto result = measure_yardstick("/bin/echo", {4, 1, 1, 64, true}, 0.1);
  REQUIRE_FALSE(result);
  CHECK_THAT(result.error(), Catch::ContainsSubstring("--collectors 1"));
}
