#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/records.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace weir::run_record {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("an annotation is a line beside the records, and reads back the same") {
  const test::TemporaryFolder folder;
  const std::string out = folder.path().string();
  folder.write("run-000007-begin.yaml", "run: 7\n");
  const Annotation one{
      7, 1'700'000'000'000'000'000, "Ann on daq-1", {{"quality", "bad"}, {"comment", "\"trip\"\n"}}};
  REQUIRE(add_annotation(out, one, {}).empty());
  REQUIRE(add_annotation(out, {7, 5, "", {{"hv", "1200"}}}, {}).empty());
  std::ifstream file(annotations_path(out));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(lines.size() == 2);
  const auto read = read_annotation(lines[0]);
  REQUIRE(read);
  CHECK(read->run == 7);
  CHECK(read->utc_ns == one.utc_ns);
  CHECK(read->by == "Ann on daq-1");
  CHECK(read->fields == RunFields{{"quality", "bad"}, {"comment", "\"trip\"\\n"}});
  CHECK(read_annotation(lines[1])->fields == RunFields{{"hv", "1200"}});
}

TEST_CASE("an annotation of an unknown run, without fields or with a wrong one is refused") {
  const test::TemporaryFolder folder;
  const std::string out = folder.path().string();
  folder.write("run-000007-begin.yaml", "run: 7\n");
  CHECK_THAT(add_annotation(out, {8, 1, "", {{"quality", "bad"}}}, {}),
             ContainsSubstring("run 8 has no record in"));
  CHECK_THAT(add_annotation(out, {7, 1, "", {}}, {}), ContainsSubstring("takes fields"));
  CHECK_THAT(add_annotation(out, {0, 1, "", {{"quality", "bad"}}}, {}), ContainsSubstring("number of a run"));
  CHECK_THAT(add_annotation(out, {7, 1, "", {{"quality", "fine"}}}, {}),
             ContainsSubstring("is not a quality"));
  CHECK_FALSE(std::filesystem::exists(annotations_path(out)));
}

TEST_CASE("other lines are passed over") {
  for (const char* line : {"", "{", "[]", "{\"run\": 3}", "{\"run\": 3, \"fields\": 4}"})
    CHECK_FALSE(read_annotation(line));
  const auto odd = read_annotation(R"({"run": -1.5, "fields": {"a": 3}})");
  REQUIRE(odd);
  CHECK(odd->fields == RunFields{{"a", ""}});
}

}  // namespace
}  // namespace weir::run_record
