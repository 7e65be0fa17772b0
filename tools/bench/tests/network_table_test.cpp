#include "weir_catch.hpp"
#include <weir/bench/network.hpp>

#include <boost/json.hpp>

#include <string>

namespace weir::bench {
namespace {

namespace json = boost::json;
using Catch::Matchers::ContainsSubstring;

Lines lines_of(const NetworkOptions& options) {
  Lines lines;
  for (const NetworkPoint& point : expand(options)) {
    NetworkRun run;
    run.line = {{"after_1s", {{"share_of_theory", 0.5 + 0.001 * static_cast<double>(lines.size())}}}};
    lines.push_back(line_of(point, options, run, {}, {}));
  }
  return lines;
}

Line line_with(const metrics::ValueHistogram& latency_us, const std::string& arrivals) {
  const NetworkOptions options;
  return line_of(expand(options).front(), options, {}, latency_us, arrivals);
}

TEST_CASE("a line gives the number of slices that took longer, down to none, in steps of a fifth") {
  metrics::ValueHistogram latency_us;
  CHECK(line_with(latency_us, {}).at("took_longer").as_array().empty());
  latency_us.record(20'000, 99);
  latency_us.record(220'000);
  CHECK(line_with(latency_us, {}).at("took_longer") ==
        json::parse("[[20.0, 100.0], [20.48, 1.0], [221.2, 0.0]]"));
  latency_us.record(20'600, 10);  // too small a step to be reported
  latency_us.record(20'000, 900);
  CHECK(line_with(latency_us, {}).at("took_longer").as_array().size() == 4);
}

TEST_CASE("a line has the arrivals of a slow slice, if they were recorded") {
  CHECK_FALSE(line_with({}, {}).contains("arrivals"));
  CHECK(line_with({},
                  "slice,readout,us,bytes\n7,0,100.000,1000\n8,0,300.000,500\n8,1,500.000,1500\n"
                  "9,0,8000.000,500\n9,1,9000.000,1500\nnonsense\n")
            .at("arrivals") == json::parse("[[8.0, 0.5], [9.0, 2.0]]"));
  std::string many = "slice,readout,us,bytes\n";
  for (int us = 1; us <= 5000; ++us) many += "7,0," + std::to_string(us) + ",1000\n";
  const json::array told = line_with({}, many).at("arrivals").as_array();
  CHECK(told.size() < 502);
  CHECK(told.back() == json::parse("[5.0, 5000.0]"));
}

TEST_CASE("the table has a line per point and the command that made it") {
  NetworkOptions options;
  options.output.name = "test";
  options.output.command = "weir bench incast --windows 36000,72000";
  options.window_bytes = {36'000, 72'000};
  const std::string table = network_page(lines_of(options), options, "2 cores");
  CHECK_THAT(table, ContainsSubstring("weir bench incast --windows 36000,72000\n"));
  CHECK_THAT(table, ContainsSubstring("| 36 kB | 50.0 |"));
  CHECK_THAT(table, ContainsSubstring("| 72 kB | 50.1 |"));
}

TEST_CASE("points are labelled by the settings that differ among them") {
  NetworkOptions options;
  options.window_bytes = {36'000, 72'000};
  options.congestion = {"cubic", "bbr"};
  CHECK_THAT(network_page(lines_of(options), options, "2 cores"), ContainsSubstring("| 36 kB, bbr | 50.2 |"));
  options.window_bytes = {36'000};
  options.congestion = {"cubic"};
  CHECK_THAT(network_page(lines_of(options), options, "2 cores"),
             ContainsSubstring("8 readouts x 1 x 65536 B, 1 DCM, byte-credits of 36000 B"));
}

}  // namespace
}  // namespace weir::bench
