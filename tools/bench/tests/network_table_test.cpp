#include "weir_catch.hpp"
#include <weir/bench/network.hpp>

#include <boost/json.hpp>

#include <string>

namespace weir::bench {
namespace {

namespace json = boost::json;
using Catch::Matchers::ContainsSubstring;

std::vector<NetworkResult> results_of(const NetworkOptions& options) {
  std::vector<NetworkResult> results;
  for (const NetworkPoint& point : expand(options)) {
    NetworkRun run;
    run.after_1s.share_of_theory = 0.5 + 0.001 * static_cast<double>(results.size());
    run.serialisation_us = 20'000;
    run.latency_us.record(20'000, 99);
    run.latency_us.record(220'000);
    results.push_back({point, {run}});
  }
  return results;
}

json::object line_of(const NetworkResult& result, const NetworkOptions& options) {
  return json::parse(to_json_line(result, options)).as_object();
}

TEST_CASE("a line gives the number of slices that took longer, down to none, in steps of a fifth") {
  const NetworkOptions options;
  auto results = results_of(options);
  CHECK(line_of(results[0], options).at("took_longer") == json::parse("[[20, 100], [20.48, 1], [221.2, 0]]"));
  results[0].runs[0].latency_us.record(20'600, 10);  // too small a step to be reported
  results[0].runs[0].latency_us.record(20'000, 900);
  CHECK(line_of(results[0], options).at("took_longer").as_array().size() == 4);
  results[0].runs[0].latency_us = {};
  CHECK(line_of(results[0], options).at("took_longer").as_array().empty());
}

TEST_CASE("a line has the arrivals of a slow slice, if they were recorded") {
  const NetworkOptions options;
  auto results = results_of(options);
  CHECK_FALSE(line_of(results[0], options).contains("arrivals"));
  results[0].runs[0].arrivals =
      "slice,readout,us,bytes\n7,0,100.000,1000\n8,0,300.000,500\n8,1,500.000,1500\n9,0,8000.000,500\n"
      "9,1,9000.000,1500\nnonsense\n";
  CHECK(line_of(results[0], options).at("arrivals") == json::parse("[[8, 0.5], [9, 2]]"));
  std::string& many = results[0].runs[0].arrivals;
  many = "slice,readout,us,bytes\n";
  for (int us = 1; us <= 5000; ++us) many += "7,0," + std::to_string(us) + ",1000\n";
  const json::array told = line_of(results[0], options).at("arrivals").as_array();
  CHECK(told.size() < 502);
  CHECK(told.back() == json::parse("[5, 5000]"));
}

TEST_CASE("the table has a line per point and the command that made it") {
  NetworkOptions options;
  options.name = "test";
  options.command = "weir bench incast --windows 36000,72000";
  options.window_bytes = {36'000, 72'000};
  const auto results = results_of(options);
  const std::string table = table_of(results, options, "2 cores");
  CHECK_THAT(table, ContainsSubstring("weir bench incast --windows 36000,72000\n"));
  CHECK_THAT(table, ContainsSubstring("| 36 kB | 50.0 |"));
  CHECK_THAT(table, ContainsSubstring("| 72 kB | 50.1 |"));
}

TEST_CASE("points are labelled by the settings that differ among them") {
  NetworkOptions options;
  options.window_bytes = {36'000, 72'000};
  options.congestion = {"cubic", "bbr"};
  CHECK_THAT(table_of(results_of(options), options, "2 cores"), ContainsSubstring("| 36 kB, bbr | 50.2 |"));
  options.window_bytes = {36'000};
  options.congestion = {"cubic"};
  CHECK_THAT(table_of(results_of(options), options, "2 cores"),
             ContainsSubstring("8 readouts x 1 x 65536 B, 1 DCM, byte-credits of 36000 B"));
}

}  // namespace
}  // namespace weir::bench
