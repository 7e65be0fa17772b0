#include "weir_catch.hpp"
#include <weir/bench/latency.hpp>
#include <weir/bench/scale.hpp>

#include <boost/json.hpp>

using namespace weir;
using namespace weir::bench;

TEST_CASE("numbers of processes and cores double up to all of them") {
  CHECK(doublings(1) == std::vector<std::uint32_t>{1});
  CHECK(doublings(8) == std::vector<std::uint32_t>{1, 2, 4, 8});
  CHECK(doublings(12) == std::vector<std::uint32_t>{1, 2, 4, 8, 12});
  CHECK(usable_cores() >= 1);
}

TEST_CASE("a scale point has the farm's rates, its ratio to the ceiling, and the process that limits it") {
  LoopbackRun farm;
  farm.rate = {1000, 1'024'000, 3, 0.1};
  farm.slices_per_s = 125;
  farm.loops = {{"readout-0", v1::ROLE_READOUT, {0.95, 0}},
                {"readout-1", v1::ROLE_READOUT, {0.5, 0}},
                {"dcm-0", v1::ROLE_DCM, {0.4, 0}},
                {"supervisor", v1::ROLE_SUPERVISOR, {0.1, 0}}};
  CeilingResult ceiling;
  ceiling.fragments_per_s = 2000;
  const Line line = line_of({2, 1, 4, 1024}, farm, ceiling);
  CHECK(line.at("slices_per_s").to_number<double>() == 125);
  CHECK(line.at("ratio").to_number<double>() == 0.5);
  CHECK(line.at("readout_share").to_number<double>() == 0.95);
  CHECK(line.at("dcm_share").to_number<double>() == 0.4);
  CHECK(line.at("supervisor_share").to_number<double>() == 0.1);
  CHECK_THAT(std::string(line.at("limit").as_string()),
             Catch::ContainsSubstring("readout-0: 95 % of a core"));
}

TEST_CASE("a latency point has the times from assignment and first request to the whole slice") {
  run_record::Percentiles build;
  build.p50 = 300;
  build.p99 = 900;
  run_record::Percentiles request;
  request.p50 = 100;
  const Line line = line_of({1000, 4, 1, 1024}, {999.5, request, build, 40}, 55.5);
  CHECK(number_of(line, "build_latency_us.p50") == 300);
  CHECK(number_of(line, "build_latency_us.p99") == 900);
  CHECK(number_of(line, "latency_us.p50") == 100);
  CHECK(number_of(line, "exchange_us") == 55.5);
  CHECK(number_of(line, "cpu_us_per_slice") == 40);
}
