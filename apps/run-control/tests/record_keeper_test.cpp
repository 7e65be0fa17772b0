#include "../src/record_keeper.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

v1::RunOver over_of(std::uint32_t run) {
  v1::RunOver over;
  over.set_run(run);
  over.mutable_summary()->set_run(run);
  over.mutable_summary()->set_balanced(true);
  over.mutable_summary()->set_begin_utc_ns(run);
  over.mutable_summary()->set_reason("stopped");
  return over;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a record that the disk does not take is kept, and written as soon as it does") {
  bool has_room = false;
  int written = 0;
  RecordKeeper keeper("/");
  const auto write = [&]() -> std::string {
    if (!has_room) return "no room";
    ++written;
    return {};
  };
  CHECK(keeper.write("record 1", write) == "no room");
  CHECK(keeper.write("record 1", write) == "no room");  // in place of the first
  CHECK(keeper.write("record 2", write) == "no room");
  CHECK(keeper.state().unwritten == std::vector<std::string>{"record 1", "record 2"});
  CHECK(keeper.state().why == "no room");
  CHECK(keeper.look(kSecond, {}).empty());
  has_room = true;
  CHECK(keeper.look(kSecond + 1, {}).empty());  // not in each turn
  const auto events = keeper.look(2 * kSecond, {});
  REQUIRE(events.size() == 2);
  CHECK(events[0].text == "record 1 is written after all");
  CHECK(written == 2);
  CHECK(keeper.state().unwritten.empty());
  CHECK(keeper.write("record 3", write).empty());
}

TEST_CASE("of too many records that cannot be written the oldest is lost, with an error") {
  RecordKeeper keeper("/");
  for (std::size_t i = 0; i <= RecordKeeper::kKeptMax; ++i)
    (void)keeper.write("record " + std::to_string(i), [] { return std::string("no room"); });
  CHECK(keeper.state().unwritten.size() == RecordKeeper::kKeptMax);
  const auto events = keeper.look(kSecond, {});
  REQUIRE(events.size() == 1);
  CHECK(events[0].level == control::Level::error);
  CHECK_THAT(events[0].text, ContainsSubstring("record 0 is lost"));
}

TEST_CASE("an end record that cannot be written exists, with the line of its run, once there is room") {
  test::SmallFarm farm;
  const fs::path end = farm.folder.path() / "run-000003-end.json";
  const fs::path runs = farm.folder.path() / "runs.jsonl";
  for (const fs::path& obstacle : {end, runs}) {
    INFO(obstacle);
    const std::uint32_t run = obstacle == end ? 3 : 4;
    fs::remove_all(obstacle);
    fs::create_directory(obstacle);
    CHECK(farm.book.begin(RunNumber(run), farm.setup.of_run(RunNumber(run)), {}).empty());
    const auto events = farm.book.end(over_of(run), "small");
    REQUIRE(events.size() == 2);
    CHECK_THAT(events[0].text, ContainsSubstring("it is kept, and written when there is room"));
    CHECK_THAT(farm.book.runs().front().failure(), ContainsSubstring("cannot write"));
    REQUIRE(farm.book.records().unwritten.size() == 1);
    CHECK(farm.book.records().unwritten[0] == "the end record of run " + std::to_string(run));
    CHECK(farm.book.last_run(RunNumber(run))->balanced);  // the account is at hand
    fs::remove(obstacle);
    CHECK(farm.book.look(run * 10 * kSecond, {}).size() >= 1);
    CHECK(farm.book.records().unwritten.empty());
    CHECK(farm.book.runs().front().failure().empty());
    CHECK_THAT(text_of(runs), ContainsSubstring("\"run\":" + std::to_string(run)));
    CHECK(fs::is_regular_file(farm.folder.path() / ("run-00000" + std::to_string(run) + "-end.json")));
  }
}

TEST_CASE("a begin record that cannot be written follows as well") {
  test::SmallFarm farm;
  const fs::path begin = farm.folder.path() / "run-000003-begin.yaml";
  fs::create_directory(begin);
  CHECK_THAT(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}),
             ContainsSubstring("cannot write into"));
  fs::remove(begin);
  CHECK(farm.book.look(10 * kSecond, {}).size() == 1);
  CHECK(fs::is_regular_file(begin));
}

TEST_CASE("little room for records is reported once, and again after it was well") {
  RecordKeeper keeper("/data");
  CHECK(keeper.look(kSecond, {}).empty());  // unknown
  REQUIRE(keeper.look(2 * kSecond, 500'000).size() == 1);
  CHECK(keeper.state().free_bytes == 500'000);
  CHECK(keeper.look(3 * kSecond, 400'000).empty());
  CHECK(keeper.look(4 * kSecond, 5'000'000).empty());
  CHECK_FALSE(keeper.state().free_bytes);
  CHECK(keeper.look(5 * kSecond, 500'000).size() == 1);
}
