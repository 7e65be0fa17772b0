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
  const auto p99 = trend(database, "latency_us.p99", 100);
  REQUIRE(p99);
  REQUIRE(p99->size() == 4);
  CHECK(p99->front().run == 1);
  CHECK(p99->front().value == 100);
  CHECK(p99->back().run == 5);
  CHECK(p99->back().begin_utc_ns == test::RecordsFolder::kFirstBegin + 5 * kSecond);
  const auto newest = trend(database, "discarded.late", 2);
  REQUIRE(newest);
  REQUIRE(newest->size() == 2);
  CHECK(newest->front().run == 4);
  CHECK(trend(database, "outcome", 100)->empty());
  CHECK(trend(database, "none.at.all", 100)->empty());
  const auto keys = trend_keys(database);
  REQUIRE(keys);
  CHECK(*keys == std::vector<std::string>{"discarded.late", "latency_us.p99"});
}

}  // namespace
}  // namespace weir::run_database
