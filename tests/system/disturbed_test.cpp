// Tests of run files that are truncated, removed or replaced by another program during the run.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kMebi = 1U << 20;

// 2 MB a second.
FarmRun begin(const TemporaryFolder& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"trigger.mode=rate", "trigger.rate_hz=250",
                                       "supervisor.status_interval_ms=100", "readout.count=2"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  return {folder, config_file("event-building.yaml"), sets(assignments)};
}

std::string run_file(const FarmRun& run, int sequence, const std::string& suffix) {
  return run.out() + "/run-000001-writer-0-000" + std::to_string(sequence) + ".weir" + suffix;
}

FarmEnd end(FarmRun& run) {
  run.process().send_signal(SIGINT);
  return run.finish();
}

std::string line_of_disk(const FarmEnd& end) {
  const std::string& out = end.out;
  const std::size_t at = out.find("slices: stored = live on disk");
  return at == out.npos ? "" : out.substr(at, out.find('\n', at) - at);
}

// Checks that the live copies are exactly the ones a reader finds, and that the ledger names the lost ones.
void check_lost(const FarmRun& run, const FarmEnd& end) {
  INFO(describe(end));
  CHECK(end.status == 1);
  CHECK_FALSE(end.summary.balanced());
  CHECK_THAT(end.summary.imbalance(), Catch::ContainsSubstring("slices: stored = live on disk"));
  CHECK_THAT(end.out, Catch::ContainsSubstring("vanished from disk"));
  const StoredRun stored(run.out());
  const std::uint64_t there = stored.ids().size();
  CHECK(there < end.summary.count("stored"));
  CHECK_THAT(line_of_disk(end), Catch::ContainsSubstring(std::to_string(end.summary.count("stored") - there) +
                                                         " of writer-0 vanished from disk"));
  CHECK(check_dummy_data(stored).wrong == "");
}

void check_nothing_lost(const FarmRun& run, const FarmEnd& end, int status) {
  CHECK_BALANCED(end, status);
  const StoredRun stored(run.out());
  CHECK(stored.problems() == "");
  CHECK(stored.ids().size() == end.summary.count("stored"));
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK_THAT(line_of_disk(end), Catch::ContainsSubstring("size, name and index of"));
}

}  // namespace

TEST_CASE("an open run file that is truncated in the run is named with its loss, and the rest is stored") {
  const TemporaryFolder folder;
  FarmRun run = begin(folder);
  REQUIRE(run.wait_for_data(3 * kMebi));
  std::filesystem::resize_file(run_file(run, 0, ".part"), kMebi);
  REQUIRE(run.wait_for_log("writer-0", "resumed"));
  REQUIRE(run.wait_for_data(3 * kMebi));
  check_lost(run, end(run));
}

TEST_CASE("an open run file that is removed in the run gets its name again, without a loss") {
  const TemporaryFolder folder;
  FarmRun run = begin(folder);
  REQUIRE(run.wait_for_data(2 * kMebi));
  std::filesystem::remove(run_file(run, 0, ".part"));
  REQUIRE(run.wait_for_log("writer-0", "removed by another process"));
  REQUIRE(run.wait_for_log("writer-0", "resumed"));
  REQUIRE(run.wait_for_data(3 * kMebi));
  const FarmEnd ended = end(run);
  check_nothing_lost(run, ended, 3);
  CHECK_THAT(ended.out, Catch::ContainsSubstring("removed by another process"));
}

TEST_CASE("a file in place of an open run file is moved aside, and nothing is lost") {
  const TemporaryFolder folder;
  FarmRun run = begin(folder);
  REQUIRE(run.wait_for_data(2 * kMebi));
  std::ofstream(run.out() + "/mine") << "mine";
  std::filesystem::rename(run.out() + "/mine", run_file(run, 0, ".part"));
  REQUIRE(run.wait_for_log("writer-0", "replaced with another file"));
  REQUIRE(run.wait_for_log("writer-0", "resumed"));
  REQUIRE(run.wait_for_data(3 * kMebi));
  check_nothing_lost(run, end(run), 3);
  CHECK(read_file(run_file(run, 0, ".part.foreign")) == "mine");
}

TEST_CASE("closed run files that are cut, removed or replaced in the run unbalance its ledger by the loss") {
  const TemporaryFolder folder;
  FarmRun run = begin(folder, {"writer.file_bytes_max=1000000"});
  REQUIRE(run.wait_for_log("writer-0", "file closed path=" + run_file(run, 2, "")));
  std::filesystem::resize_file(run_file(run, 0, ""), 300'000);
  std::filesystem::remove(run_file(run, 1, ""));
  const FarmEnd ended = end(run);
  check_lost(run, ended);
  CHECK_THAT(ended.out, Catch::ContainsSubstring(run_file(run, 0, "") + ": it has 300000 bytes instead of") &&
                            Catch::ContainsSubstring(run_file(run, 1, "") + ": it is gone"));
}

TEST_CASE("closed run files passed to a command may leave, with a note in the ledger") {
  const TemporaryFolder folder;
  // The command gets the file and its checksum.
  FarmRun run = begin(folder, {"writer.file_bytes_max=1000000", "writer.on_close=rm -f"});
  REQUIRE(run.wait_for_log("writer-0", "file closed path=" + run_file(run, 2, "")));
  const FarmEnd ended = end(run);
  CHECK_BALANCED(ended, 0);
  CHECK_THAT(line_of_disk(ended), Catch::ContainsSubstring("of them moved away after on_close"));
}
