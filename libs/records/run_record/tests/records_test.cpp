#include "weir_catch.hpp"
#include <weir/run_record/records.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::run_record {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("the records of a run are beside its data, under its number") {
  const RecordPaths paths = record_paths("out", RunNumber(42));
  CHECK(paths.begin == "out/run-000042-begin.yaml");
  CHECK(paths.farm == "out/run-000042-farm.yaml");
  CHECK(paths.lab == "out/run-000042-lab.yaml");
  CHECK(paths.end == "out/run-000042-end.json");
  CHECK(paths.log == "out/log");
}

TEST_CASE("a run number that has files already is passed over") {
  CHECK(free_run_number(RunNumber(1), {}) == RunNumber(1));
  CHECK(free_run_number(RunNumber(1), {"run-000001-begin.yaml", "run-000002-writer-0-0000.weir"}) ==
        RunNumber(3));
  CHECK(free_run_number(RunNumber(5), {"run-000001-begin.yaml"}) == RunNumber(5));
  CHECK(free_run_number(RunNumber(1), {"run-1", "running-000001-x", "run-x", "log"}) == RunNumber(1));
}

TEST_CASE("after the last run number no other follows, and the error gives the remedy") {
  const RunNumber last(4294967295);
  CHECK(free_run_number(last, {}) == last);
  CHECK(free_run_number(last, {"run-4294967295-begin.yaml"}) == std::nullopt);
  const std::string folder = (std::filesystem::temp_directory_path() / "weir-last-run-test").string();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  CHECK(claim_free_run(folder, last, "farm", 1) == last);
  const auto next = claim_free_run(folder, last, "farm", 2);
  REQUIRE_FALSE(next);
  CHECK_THAT(next.error(), ContainsSubstring("run 4294967295 is the highest possible number") &&
                               ContainsSubstring(folder) && ContainsSubstring("take another folder"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("a record is written whole or not at all, and the file before it stays") {
  const std::string folder = (std::filesystem::temp_directory_path() / "weir-records-test").string();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/end.json";
  CHECK(write_file(path, "one"));
  std::filesystem::create_directory(path + ".writing");  // makes writing fail, like a full disk
  CHECK_FALSE(write_file(path, "two"));
  std::string text;
  CHECK(std::getline(std::ifstream(path), text));
  CHECK(text == "one");
  std::filesystem::remove_all(path + ".writing");
  CHECK(write_file(path, "three"));
  CHECK(std::getline(std::ifstream(path), text));
  CHECK(text == "three");
  CHECK(write_file("/dev/null", "no file"));
  CHECK_FALSE(write_file("/dev/full", "no file"));
  CHECK_FALSE(write_file(folder + "/none/end.json", "no folder"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("the begin-of-run record names versions, plugin, nodes, masks and every key") {
  v1::Farm farm;
  farm.set_farm("a \"quoted\" farm");
  farm.mutable_run()->set_number(7);
  config::FarmPlan plan;
  config::NodePlan readout;
  readout.name = "readout-0";
  readout.role = Role::readout;
  readout.sources = {SourceId(1), SourceId(2)};
  plan.nodes.push_back(readout);
  plan.masked = {SourceId(2)};
  v1::RunIdentity identity;
  v1::RunIdentity::Part& filter = *identity.add_parts();
  filter.set_kind("filter plugin");
  filter.set_name("accept-all");
  filter.set_path("/plugins/accept-all.so");
  filter.set_crc32c(0x12ab);
  v1::RunIdentity::Part& recording = *identity.add_parts();
  recording.set_kind("recording");
  recording.set_name("/data/one");
  recording.add_files()->set_name("index.json");
  const std::string record = begin_record({farm, plan}, 0, identity);
  CHECK_THAT(record,
             ContainsSubstring("run: 7\nfarm: \"a \\\"quoted\\\" farm\"\nbegin: 1970-01-01T00:00:00.000Z\n"));
  CHECK_THAT(record, ContainsSubstring("  filter_abi: 1\n  source_abi: 1\n"));
  CHECK_THAT(record,
             ContainsSubstring("\nfilter:\n  plugin: \"accept-all\"\n  path: \"/plugins/accept-all.so\"\n"));
  CHECK_THAT(record, ContainsSubstring("\n  crc32c: \"000012ab\"\n"));
  CHECK_THAT(record, ContainsSubstring("\nrecordings:\n  - path: \"/data/one\"\n"));
  CHECK_THAT(record, ContainsSubstring("      - {name: \"index.json\", bytes: 0, modified: 1970-01-01T"));
  CHECK_THAT(record, ContainsSubstring("  - name: \"readout-0\"\n    role: readout\n    sources: [1, 2]\n"));
  CHECK_THAT(record, ContainsSubstring("masked_sources: [2]\nconfiguration:\n"));
  CHECK_THAT(record, ContainsSubstring("\n    credits: 64\n"));
}

TEST_CASE("the begin record has the operator's fields, whatever their text is") {
  config::PlannedFarm planned;
  planned.farm.set_farm("small");
  const std::string text = begin_record(planned, 0, {}, {{"comment", "a \"b\": c\\"}, {"type", "physics"}});
  CHECK_THAT(text,
             ContainsSubstring("fields:\n  \"comment\": \"a \\\"b\\\": c\\\\\"\n  \"type\": \"physics\"\n"));
  CHECK_THAT(begin_record(planned, 0, {}), !ContainsSubstring("\nfields:"));
}

}  // namespace
}  // namespace weir::run_record
