// `weir bench` with short points. Those in virtual networks need root; without it ctest shows SKIPPED.
#include "needs_root.hpp"
#include "process.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Catch::Matchers::ContainsSubstring;

using namespace weir::system_test;
namespace json = boost::json;

TEST_CASE("a point of incast is a line of JSON, with what its pictures are drawn of, and a table", "[.lab]") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  const CommandEnd end = run_command(folder, "weir",
                                     {"bench", "incast", "--rate", "50mbit", "--sizes", "16384", "--seconds",
                                      "3", "--trace", "5", "--out", out.string(), "--name", "short"});
  INFO(end.err);
  REQUIRE(end.status == 0);
  const json::object line = json::parse(end.out).as_object();
  CHECK(line.at("bench").as_string() == "incast");
  CHECK(line.at("readouts").to_number<int>() == 8);
  const double share = line.at("after_1s").at("share_of_theory").to_number<double>();
  CHECK(share > 0.3);
  CHECK(share < 1.05);
  CHECK(line.at("after_1s").at("p99_us").to_number<double>() > 0);
  CHECK(line.at("theoretical_goodput_bytes_per_s").to_number<double>() ==
        Approx(50e6 / 8 * 1448 / 1538).epsilon(0.01));
  CHECK(line.at("machine_cpu_s_per_s").to_number<double>() > 0);
  CHECK_THAT(read_file(out / "short.md"), ContainsSubstring("weir bench incast --rate 50mbit"));
  CHECK(json::parse(read_file(out / "short.jsonl")).is_object());
  CHECK(line.at("took_longer").as_array().size() > 1);
  CHECK(line.at("arrivals").as_array().size() >= 8);
}

TEST_CASE("a farm on one core and its latency at a low rate are measured beside the bare exchange") {
  const TemporaryFolder folder;
  const CommandEnd scale = run_command(folder, "weir",
                                       {"bench", "scale", "--processes", "1", "--cores", "1", "--sizes",
                                        "512", "--seconds", "0.5", "--rounds", "1"});
  INFO(scale.err);
  REQUIRE(scale.status == 0);
  const json::object farm = json::parse(scale.out).as_object();
  CHECK(farm.at("fragments_per_s").to_number<double>() > 0);
  CHECK(farm.at("ratio").to_number<double>() > 0);
  CHECK(farm.at("dcm_share").to_number<double>() > 0);

  const CommandEnd latency = run_command(
      folder, "weir", {"bench", "latency", "--rates", "500", "--seconds", "0.5", "--rounds", "1"});
  INFO(latency.err);
  REQUIRE(latency.status == 0);
  const json::object times = json::parse(latency.out).as_object();
  CHECK(times.at("slices_per_s").to_number<double>() > 250);
  CHECK(times.at("build_latency_us").at("p50").to_number<double>() >=
        times.at("latency_us").at("p50").to_number<double>());
  CHECK(times.at("exchange_us").to_number<double>() > 0);

  const CommandEnd many = run_command(folder, "weir", {"bench", "scale", "--cores", "100000"});
  CHECK(many.status == 1);
  CHECK_THAT(many.err, ContainsSubstring("--cores 100000: this machine lends 1 to "));
}

TEST_CASE("a case of the field is measured under each shaper, quiet and busy, and gets a page", "[.lab]") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  const CommandEnd end = run_command(folder, "weir",
                                     {"bench", "field", "--cases", "changing-port", "--shapers", "none",
                                      "--seconds", "3", "--out", out.string(), "--name", "short"});
  INFO(end.err);
  REQUIRE(end.status == 0);
  std::istringstream lines(end.out);
  std::vector<json::object> points;
  for (std::string line; std::getline(lines, line);) points.push_back(json::parse(line).as_object());
  REQUIRE(points.size() == 2);
  CHECK(points[0].at("load").as_string() == "quiet");
  CHECK(points[1].at("load").as_string() == "busy");
  for (const json::object& point : points) {
    CHECK(point.at("case").as_string() == "changing-port");
    CHECK(point.at("share_of_theory").to_number<double>() > 0);
    CHECK(point.at("cpu_s_per_s").to_number<double>() > 0);
  }
  CHECK_THAT(read_file(out / "short.md"), ContainsSubstring("## changing-port"));
}

}  // namespace
