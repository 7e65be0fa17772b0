#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

namespace {

using namespace weir;
using namespace weir::system_test;

bool is_latency(const boost::json::value& value) {
  for (const char* key : {"p50", "p90", "p99", "p999", "max"}) {
    if (!value.is_object() || !value.as_object().contains(key) || !value.at(key).is_number()) return false;
  }
  return value.at("p50").to_number<std::uint64_t>() <= value.at("max").to_number<std::uint64_t>();
}

void check_kinds(const boost::json::object& summary) {
  for (const char* key : {"run", "offered", "triggered", "stored", "stored_incomplete", "rejected",
                          "slices_per_s", "fragments_per_s", "goodput_bytes_per_s", "retransmits",
                          "output_events", "bytes_in", "bytes_stored"}) {
    INFO(key);
    REQUIRE(summary.contains(key));
    CHECK(summary.at(key).is_number());
  }
  for (const char* key : {"vetoed", "discarded", "fragments"}) {
    INFO(key);
    REQUIRE(summary.contains(key));
    CHECK(summary.at(key).is_object());
  }
  for (const char* key : {"produced", "requested", "received", "late", "duplicate", "unknown"}) {
    INFO(key);
    CHECK(summary.at("fragments").at(key).is_number());
  }
  CHECK(summary.at("fragments").at("missing").is_object());
  for (const char* key : {"latency_us", "build_latency_us", "decision_latency_us"}) {
    INFO(key);
    REQUIRE(summary.contains(key));
    CHECK(is_latency(summary.at(key)));
  }
  CHECK(summary.at("ledger_balanced").is_bool());
}

}  // namespace

TEST_CASE("the demo farm finds tracks and its summary has every key of the right kind") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("demo.yaml"), {"--duration", "3", "--set", "hits.track_rate_hz=50"});
  CHECK_BALANCED(end, 0);
  const boost::json::object& summary = end.summary.json().as_object();
  check_kinds(summary);
  CHECK(end.summary.count("triggered") >= 100);
  CHECK(end.summary.count("triggered") == end.summary.count("stored") + end.summary.count("rejected"));
  CHECK(end.summary.count("output_events") >= 5);
  CHECK(end.summary.count("offered") == end.summary.count("triggered") + end.summary.count_all("vetoed"));
  CHECK(end.summary.count_all("fragments.missing") == 0);

  REQUIRE(summary.at("files").as_array().size() == 1);
  const auto& file = summary.at("files").as_array().front();
  CHECK(file.at("slices").to_number<std::uint64_t>() == end.summary.count("stored"));
  CHECK(file.at("bytes").to_number<std::uint64_t>() ==
        std::filesystem::file_size(end.summary.files().front()));

  // 5 readouts, 3 DCMs, a writer, a supervisor, run control.
  REQUIRE(summary.at("processes").as_array().size() == 11);
  for (const auto& process : summary.at("processes").as_array()) {
    CHECK(process.at("name").is_string());
    CHECK(process.at("role").is_string());
    CHECK(process.at("cpu_s").is_number());
    CHECK(process.at("rss_max_bytes").to_number<std::uint64_t>() > 1'000'000);
    CHECK(process.at("exit_status") == 0);
  }
  const StoredRun run(folder / "out");
  CHECK(run.problems() == "");
  std::uint64_t events = 0;
  run.for_each_slice([&](const storage::SliceRecordView& slice) { events += slice.event_count(); });
  CHECK(events == end.summary.count("output_events"));
}

TEST_CASE("the source that loses fragments is named in summary, record, log and file") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"),
                               {"--slices", "300", "--set", "source.faults=[{sources: [3], drop: 0.5}]"});
  CHECK(end.summary.balanced());
  const std::uint64_t missing = end.summary.count("fragments.missing.gap");
  CHECK(missing > 50);
  CHECK(missing == end.summary.count_all("fragments.missing"));
  CHECK(end.summary.count("sources.losing") == 1);
  const boost::json::array& rows = end.summary.json().at("sources").at("rows").as_array();
  REQUIRE(rows.size() > 1);
  CHECK(rows[0].at("source") == 3);
  CHECK(rows[0].at("missing").at("gap").to_number<std::uint64_t>() == missing);
  CHECK(rows[0].at("received").to_number<std::uint64_t>() == 300 - missing);
  std::uint64_t received = 0;
  for (const auto& row : rows) {
    received += row.at("received").to_number<std::uint64_t>();
    CHECK(row.at("last_seen_utc_ms").to_number<std::int64_t>() > 1'700'000'000'000);
  }
  CHECK(received == end.summary.count("fragments.received"));
  CHECK_THAT(end.out, Catch::ContainsSubstring("source 3 at readout-"));
  CHECK_THAT(read_file(folder / "out/log/supervisor.log"), Catch::ContainsSubstring("source 3 at readout-"));
  const CommandEnd info = run_command(folder, "weir", {"file", "info", end.summary.files().front()});
  CHECK(info.status == 0);
  CHECK_THAT(info.out, Catch::ContainsSubstring("source 3: "));
}

TEST_CASE("the printed summary has the run's result and the path of its file") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), {"--slices", "200"});
  CHECK_BALANCED(end, 0);
  REQUIRE(end.summary.files().size() == 1);
  CHECK_THAT(end.out, Catch::ContainsSubstring(end.summary.files().front()));
  CHECK_THAT(end.out, Catch::ContainsSubstring("triggered"));
  CHECK_THAT(end.out, Catch::ContainsSubstring("Ledger"));
}

TEST_CASE("a run leaves records of its beginning and its end beside the data, and its farm file runs again") {
  const TemporaryFolder folder;
  const FarmEnd first = run_farm(folder, config_file("event-building.yaml"), {"--slices", "100"});
  CHECK_BALANCED(first, 0);
  const std::string begin = read_file(folder / "out/run-000001-begin.yaml");
  CHECK_THAT(begin, Catch::ContainsSubstring("filter_abi: "));
  CHECK_THAT(begin, Catch::ContainsSubstring("accept-all"));
  const auto record = boost::json::parse(read_file(folder / "out/run-000001-end.json"));
  CHECK(record.at("ledger_balanced") == true);

  const FarmEnd again = run_farm(folder, folder / "out/run-000001-farm.yaml", {});
  CHECK_BALANCED(again, 0);
  CHECK(again.summary.count("stored") == 100);
  // Data of two runs never share a name.
  CHECK(again.summary.count("run") == 2);
  std::istringstream history(read_file(folder / "out/runs.jsonl"));
  std::vector<std::string> runs;
  for (std::string line; std::getline(history, line);) {
    const auto run = boost::json::parse(line);
    CHECK(run.at("outcome") == "good");
    CHECK(run.at("stored") == "100");
    runs.push_back(boost::json::serialize(run.at("run")));
  }
  CHECK(runs == std::vector<std::string>{"1", "2"});
  CHECK(StoredRun(folder / "out").file_count() == 2);
}
