#include "records_folder.hpp"
#include "weir_catch.hpp"
#include <weir/run_database/run_trend.hpp>

#include <algorithm>
#include <string>

namespace weir::run_database {
namespace {

TEST_CASE("a number of the end records is a curve over the runs that have it") {
  const test::RecordsFolder records;
  for (std::uint32_t run = 1; run <= 5; ++run) {
    records.begin(run);
    records.end(run);
    if (run == 3) continue;  // its record is lost
    const std::string name = "run-00000" + std::to_string(run) + "-end.json";
    records.write(name, "{\"run\": " + std::to_string(run) +
                            ", \"latency_us\": {\"p99\": " + std::to_string(run * 100) +
                            "}, \"outcome\": \"good\", \"discarded.late\": " + std::to_string(run) + "}");
  }
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  RunTrend trend;
  const auto points = [&](const std::string& key, std::size_t count) {
    const auto answer = trend.find(database, key, count);
    REQUIRE(answer);
    CHECK(!answer->more);
    return answer->points;
  };
  const auto p99 = points("latency_us.p99", 100);
  REQUIRE(p99.size() == 4);
  CHECK(p99.front().run == 1);
  CHECK(p99.front().value == 100);
  CHECK(p99.back().run == 5);
  CHECK(p99.back().begin_utc_ns == test::RecordsFolder::kFirstBegin + 5 * kSecond);
  const auto newest = points("discarded.late", 2);
  REQUIRE(newest.size() == 2);
  CHECK(newest.front().run == 4);
  CHECK(points("outcome", 100).empty());
  CHECK(points("none.at.all", 100).empty());
  const auto keys = trend_keys(database);
  REQUIRE(keys);
  CHECK(*keys == std::vector<std::string>{"discarded.late", "latency_us.p99"});
}

TEST_CASE("a curve over many runs is read in pieces, and no record twice") {
  const test::RecordsFolder records;
  const auto name = [](std::uint32_t run) { return "run-0000" + std::to_string(run) + "-end.json"; };
  for (std::uint32_t run = 10; run < 80; ++run) {
    records.begin(run);
    records.end(run);
    records.write(name(run), "{\"stored\": " + std::to_string(run) + "}");
  }
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  RunTrend trend;
  std::vector<std::size_t> sizes;
  for (bool more = true; more;) {
    const auto answer = trend.find(database, "stored", 100);
    REQUIRE(answer);
    sizes.push_back(answer->points.size());
    more = answer->more;
    REQUIRE(sizes.size() < 10);
    CHECK(answer->points.back().run == 79);
    // A client that wants fewer runs loses none of the others.
    CHECK(trend.find(database, "stored", 5)->points.size() == 5);
  }
  CHECK(sizes == std::vector<std::size_t>{32, 64, 70});
  for (std::uint32_t run = 10; run < 80; ++run) records.write(name(run), "damaged");
  CHECK(trend.find(database, "stored", 100)->points.size() == 70);
}

}  // namespace
}  // namespace weir::run_database
