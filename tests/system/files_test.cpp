#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

std::string one_file(const TemporaryFolder& folder, const std::string& slices) {
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), {"--slices", slices});
  CHECK_BALANCED(end, 0);
  REQUIRE(end.summary.files().size() == 1);
  return end.summary.files().front();
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("a run file can be looked into slice by slice, and byte by byte") {
  const TemporaryFolder folder;
  const std::string file = one_file(folder, "300");

  const CommandEnd info = run_command(folder, "weir", {"file", "info", "--json", file});
  CHECK(info.status == 0);
  const auto facts = boost::json::parse(info.out);
  CHECK(facts.at("slices") == 300);
  CHECK(facts.at("closed") == true);
  CHECK(facts.at("farm") == "event-building");
  CHECK(facts.at("begin_of_run") == true);
  CHECK(facts.at("end_of_run") == true);

  const CommandEnd list = run_command(folder, "weir", {"file", "ls", "--json", file});
  CHECK(list.status == 0);
  CHECK(lines_of(list.out) == 300);
  const CommandEnd few = run_command(folder, "weir", {"file", "ls", "--lines", "5", file});
  CHECK(few.status == 0);
  CHECK(lines_of(few.out) >= 5);
  CHECK(lines_of(few.out) <= 7);

  const StoredRun run(folder / "out");
  std::string expected;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    if (slice.head().slice.value != 42) return;
    const ConstBytes bytes = slice.find(SourceId(7))->bytes;
    expected.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  const CommandEnd raw =
      run_command(folder, "weir", {"file", "dump", "--slice", "42", "--source", "7", "--raw", file});
  CHECK(raw.status == 0);
  CHECK(raw.out == expected);
  const CommandEnd dump = run_command(folder, "weir", {"file", "dump", "--slice", "42", file});
  CHECK(dump.status == 0);
  CHECK_THAT(dump.out, Catch::ContainsSubstring("42"));

  const CommandEnd absent = run_command(folder, "weir", {"file", "dump", "--slice", "4242", file});
  CHECK(absent.status == 1);
  CHECK_THAT(absent.err, Catch::ContainsSubstring("4242"));
}

TEST_CASE("verify finds a flipped byte and names its slice and source") {
  const TemporaryFolder folder;
  const std::string file = one_file(folder, "300");
  CHECK(run_command(folder, "weir", {"file", "verify", file}).status == 0);

  std::uint64_t at = 0;
  {
    const StoredRun run(folder / "out");
    const ConstBytes whole = run.files().front().bytes();
    run.for_each_slice([&](const storage::SliceRecordView& slice) {
      if (slice.head().slice.value != 137) return;
      for (std::uint32_t source = 1; source <= 16 && at == 0; ++source) {
        const ConstBytes bytes = slice.find(SourceId(source))->bytes;
        if (source >= 5 && bytes.size() > 3) at = static_cast<std::uint64_t>(bytes.data() - whole.data()) + 3;
      }
    });
  }
  REQUIRE(at > 0);
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(bytes.get() ^ 0x10);
  bytes.seekp(static_cast<std::streamoff>(at));
  bytes.put(byte);
  bytes.close();

  const CommandEnd verify = run_command(folder, "weir", {"file", "verify", "--json", file});
  CHECK(verify.status == 1);
  const auto report = boost::json::parse(verify.out);
  CHECK(report.at("sound") == false);
  REQUIRE(report.at("problems_total") == 1);
  const auto& problem = report.at("problems").at(0);
  CHECK(problem.at("slice") == "137");
  CHECK(problem.at("source").to_number<std::uint32_t>() >= 5);
  CHECK(problem.at("source").to_number<std::uint32_t>() <= 16);
}

TEST_CASE("a file of another format is refused with an error") {
  const TemporaryFolder folder;
  const std::string file = folder.write("other.weir", "something else\n");
  for (const char* verb : {"info", "ls", "verify"}) {
    const CommandEnd end = run_command(folder, "weir", {"file", verb, file});
    CHECK(end.status == 2);
    CHECK_THAT(end.err, Catch::ContainsSubstring("other.weir"));
  }
}

TEST_CASE("a device and a folder without run files are refused with the reason") {
  const TemporaryFolder folder;
  for (const auto& [path, reason] :
       {std::pair<std::string, std::string>("/dev/null", "it is a device, and run files are regular files"),
        {folder.path().string(), "no run files (*.weir, *.weir.part) in this folder"}}) {
    const CommandEnd end = run_command(folder, "weir", {"file", "ls", path});
    CHECK(end.status == 2);
    CHECK_THAT(end.err, Catch::ContainsSubstring(reason));
  }
}

TEST_CASE("the command for closed files is given each file's name and checksum") {
  const TemporaryFolder folder;
  const std::string list = folder / "closed.txt";
  std::vector<std::string> arguments =
      sets({"writer.file_bytes_max=1000000", "source.distribution=fixed", "writer.on_close=echo >> " + list});
  arguments.insert(arguments.end(), {"--slices", "300"});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 0);
  const auto& files = end.summary.json().at("files").as_array();
  REQUIRE(files.size() >= 5);
  const std::string told = read_file(list);
  CHECK(lines_of(told) == files.size());
  for (const auto& file : files) {
    const std::string line =
        std::string(file.at("path").as_string().c_str()) + " " + file.at("crc32c").as_string().c_str() + "\n";
    CHECK_THAT(told, Catch::ContainsSubstring(line));
  }
}

TEST_CASE("a command for closed files that fails is counted for every file, named, and a fault of the run") {
  const TemporaryFolder folder;
  // Either only the last file fails, when the run would be over, or each one fails.
  const bool last = GENERATE(true, false);
  CAPTURE(last);
  const std::string command = last ? "sleep 2; case \"$1\" in *-0000.weir) exit 7;; esac; :" : "false";
  std::vector<std::string> arguments =
      sets({last ? "writer.file_bytes_max=1GiB" : "writer.file_bytes_max=1000000",
            "source.distribution=fixed", "writer.on_close=" + command});
  arguments.insert(arguments.end(), {"--slices", "300"});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 3);
  const std::size_t files = end.summary.json().at("files").as_array().size();
  REQUIRE(files >= (last ? 1U : 5U));
  CHECK_THAT(end.out, Catch::ContainsSubstring(
                          "writer-0: writer.on_close: of the commands for closed files " +
                          std::to_string(files) + " failed (last: status " + (last ? "7" : "1") + ": "));
}

TEST_CASE("a missing program of writer.on_close is found before the run") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"),
                               sets({"writer.on_close=/nonexistent/archive --all", "run.slices=10"}));
  CHECK(end.status == 1);
  CHECK_THAT(end.err, Catch::ContainsSubstring("writer.on_close: no program '/nonexistent/archive' exists"));
  CHECK(StoredRun(folder / "out").file_count() == 0);
}

TEST_CASE("files that are full are followed by the next and all verify together") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = sets({"writer.file_bytes_max=1000000", "source.distribution=fixed"});
  arguments.insert(arguments.end(), {"--slices", "500"});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 0);
  const std::vector<std::string> files = end.summary.files();
  REQUIRE(files.size() >= 8);
  for (const std::string& file : files) CHECK(std::filesystem::file_size(file) <= 1'000'000);
  std::vector<std::string> verify{"file", "verify"};
  verify.insert(verify.end(), files.begin(), files.end());
  CHECK(run_command(folder, "weir", verify).status == 0);
  const StoredRun run(folder / "out");
  CHECK(run.ids().size() == 500);
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments == 500 * 16);
}

TEST_CASE("files are closed by time as well") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments =
      sets({"writer.file_seconds_max=0.5", "trigger.mode=rate", "trigger.rate_hz=200"});
  arguments.insert(arguments.end(), {"--duration", "2"});
  const FarmEnd end = run_farm(folder, config_file("event-building.yaml"), arguments);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.files().size() >= 3);
  CHECK(StoredRun(folder / "out").problems() == "");
}

TEST_CASE("a run can be replayed from its own run files, bit for bit") {
  const TemporaryFolder first;
  const std::string file = one_file(first, "200");
  const TemporaryFolder second;
  const FarmEnd end =
      run_farm(second, config_file("replay.yaml"),
               {"--slices", "200", "--set", "replay.path=" + file, "--set", "replay.loop=false"});
  CHECK_BALANCED(end, 0);
  std::map<std::uint64_t, std::vector<std::string>> bytes[2];
  std::map<std::uint64_t, std::pair<UtcNs, DurationNs>> heads[2];
  const auto read = [](const TemporaryFolder& folder, auto& slices, auto& times) {
    StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
      times[slice.head().slice.value] = {slice.head().trigger_time, slice.head().duration};
      for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
        const ConstBytes fragment = slice.fragment(i).bytes;
        slices[slice.head().slice.value].emplace_back(reinterpret_cast<const char*>(fragment.data()),
                                                      fragment.size());
      }
    });
  };
  read(first, bytes[0], heads[0]);
  read(second, bytes[1], heads[1]);
  CHECK(bytes[0].size() == 200);
  CHECK(heads[0] == heads[1]);
  CHECK((bytes[0] == bytes[1]));
}

TEST_CASE("the file of a killed writer is recovered into a closed one with all that was acknowledged") {
  const TemporaryFolder folder;
  FarmRun run(
      folder, config_file("event-building.yaml"),
      sets({"trigger.mode=rate", "trigger.rate_hz=1000", "run.restart=never", "run.drain_timeout_s=1"}));
  REQUIRE(run.wait_for_data(3'000'000));
  REQUIRE(run.send_signal("writer-0", SIGKILL));
  const FarmEnd end = run.finish();
  INFO(describe(end));
  CHECK(end.status == 1);  // no writer is left
  CHECK(end.summary.imbalance() == "");
  const std::string part = folder / "out/run-000001-writer-0-0000.weir.part";
  const std::string made = folder / "out/run-000001-writer-0-0000.weir";

  const CommandEnd unclosed = run_command(folder, "weir", {"file", "verify", part});
  CHECK(unclosed.status == 3);
  CHECK_THAT(unclosed.out, Catch::ContainsSubstring("sound, but not closed"));
  CHECK_THAT(unclosed.out, Catch::ContainsSubstring("weir file recover"));
  const CommandEnd recovered = run_command(folder, "weir", {"file", "recover", "--json", part});
  CHECK(recovered.status == 0);
  const auto report = boost::json::parse(recovered.out);
  CHECK(report.at("slices").to_number<std::uint64_t>() >= end.summary.count("stored"));
  CHECK(report.at("damaged") == 0);
  CHECK(run_command(folder, "weir", {"file", "verify", made}).status == 0);
  CHECK(run_command(folder, "weir", {"file", "recover", part}).status == 2);
  std::filesystem::remove(part);
  const StoredRun stored(folder / "out");
  CHECK(stored.problems() == "");
  CHECK(stored.ids().size() == report.at("slices").to_number<std::uint64_t>());
  CHECK(check_dummy_data(stored).wrong == "");
}

TEST_CASE("of two recoveries of one file at once, one makes it and the other is refused") {
  const TemporaryFolder folder;
  const std::string file = one_file(folder, "2000");
  const std::string part = folder / "torn.weir.part";
  std::filesystem::copy_file(file, part);
  std::filesystem::resize_file(part, std::filesystem::file_size(file) * 3 / 4);
  const std::vector<std::string> words = {"file", "recover", part};
  const TemporaryFolder other;
  auto one = std::async(std::launch::async, [&] { return run_command(folder, "weir", words); });
  const CommandEnd two = run_command(other, "weir", words);
  const CommandEnd first = one.get();
  CAPTURE(first.err, two.err);
  CHECK((first.status == 0) != (two.status == 0));
  CHECK_THAT(first.status == 0 ? two.err : first.err, Catch::ContainsSubstring("exists"));
  CHECK(run_command(folder, "weir", {"file", "verify", folder / "torn.weir"}).status == 0);
}
