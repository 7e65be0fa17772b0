// `weir bench filter` and `weir bench isolation` with small numbers.
#include "process.hpp"
#include "python_here.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace weir::system_test;
namespace json = boost::json;

std::vector<json::object> lines_of(const std::string& out) {
  std::istringstream text(out);
  std::vector<json::object> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line).as_object());
  return lines;
}

// One slice in 900 of 2,000 is bad. On a machine that runs other tests the rate is not judged.
void check_isolation(const std::string& language, const std::vector<std::string>& chosen) {
  const TemporaryFolder folder;
  std::vector<std::string> words{"bench",        "isolation",  "--slices", "2000",         "--every",
                                 "900",          "--language", language,   "--tolerance",  "0",
                                 "--timeout-ms", "800",        "--folder", folder / "runs"};
  for (const std::string& fault : chosen) words.insert(words.end(), {"--fault", fault});
  const CommandEnd end = run_command(folder, "weir", words);
  INFO(end.out << end.err);
  CHECK(end.status == 0);
  std::map<std::string, json::object> faults;
  for (const json::object& line : lines_of(end.out)) faults[line.at("fault").as_string().c_str()] = line;
  CHECK(faults.size() == chosen.size() + 1);
  for (const auto& [name, line] : faults) {
    CAPTURE(name);
    const bool costs_nothing = name == "none" || name == "leak" || name == "fork";
    CHECK(line.at("stored").to_number<int>() == 2000);
    CHECK(line.at("poison").to_number<int>() == (costs_nothing ? 0 : 2));
    CHECK(line.at("wrong").to_number<int>() == 0);
    CHECK(line.at("changed").to_number<int>() == 0);
    CHECK(line.at("balanced").as_bool());
    if (!costs_nothing) CHECK(line.at("restarts").to_number<int>() >= 2);
  }
  CHECK(!std::filesystem::exists(folder / "runs"));
}

}  // namespace

TEST_CASE("a filter is measured in the DCM's process, in a worker, and in Python") {
  const TemporaryFolder folder;
  const CommandEnd end =
      run_command(folder, "weir", {"bench", "filter", "--slices", "2000", "--rounds", "1"});
  INFO(end.out << end.err);
  REQUIRE(end.status == 0);
  const auto lines = lines_of(end.out);
  REQUIRE(lines.size() >= 3);
  const json::object& medians = lines.back();
  std::vector<std::string> ways{"in-process", "worker"};
  if (has_python()) ways.emplace_back("python");
  CHECK(lines.size() == ways.size() + 1);
  for (const std::string& way : ways) {
    CAPTURE(way);
    const json::object& figures = medians.at(way).as_object();
    CHECK(figures.at("slices_per_s").to_number<double>() > 0);
    CHECK(figures.at("cpu_ns_per_slice").to_number<double>() > 0);
    CHECK(figures.at("latency_us").to_number<double>() > 0);
  }
  CHECK(medians.at("in-process").at("cpu_ns_added").to_number<double>() == 0);
}

TEST_CASE("each fault in a worker costs its slices") {
  check_isolation("c++", {"crash", "abort", "exit", "hang"});
  check_isolation("c++", {"memory", "wild", "leak", "fork"});
}
// system_python_filters has the others.
TEST_CASE("each fault of a filter in Python costs its slices") {
  if (!has_python()) return;
  check_isolation("python", {"crash", "exit"});
  check_isolation("python", {"hang", "fork"});
}
