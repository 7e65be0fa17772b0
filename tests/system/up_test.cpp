// `weir up`: keeps a farm's processes from run to run.
#include "farm_run.hpp"
#include "weir_catch.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

namespace {

using namespace weir;
using namespace weir::system_test;

// A farm that `weir up` keeps in this folder.
class KeptFarm {
 public:
  explicit KeptFarm(const TemporaryFolder& folder, const std::vector<std::string>& assignments = {})
      : folder_(folder) {
    std::vector<std::string> line{std::string(WEIR_BIN_DIR) + "/weir", "up",
                                  config_file("event-building.yaml")};
    std::vector<std::string> all{"run.out=" + (folder / "out"), "trigger.mode=rate", "trigger.rate_hz=500",
                                 "readout.count=2"};
    all.insert(all.end(), assignments.begin(), assignments.end());
    const std::vector<std::string> more = sets(all);
    line.insert(line.end(), more.begin(), more.end());
    process_ = std::make_unique<Process>(line, folder / "up.out", folder / "up.err");
    const std::string mark = "--connect ";
    if (!wait_until([&] { return out().find(" status\n") != std::string::npos; }, Seconds(30)))
      throw std::runtime_error("weir up does not say where run control is: " + out() + process_->err());
    const std::size_t from = out().find(mark) + mark.size();
    at_ = out().substr(from, out().find(' ', from) - from);
  }

  [[nodiscard]] std::string out() const { return process_->out(); }
  [[nodiscard]] Process& process() { return *process_; }
  void must(const std::vector<std::string>& words) const {
    std::vector<std::string> line{"ctl", "--connect", at_};
    line.insert(line.end(), words.begin(), words.end());
    const CommandEnd end = run_command(folder_, "weir", line);
    INFO(out() << end.out << end.err);
    REQUIRE(end.status == 0);
  }
  [[nodiscard]] pid_t pid_of(const std::string& node) const {
    for (const RunningProcess& process : processes_naming(folder_.path().string())) {
      const auto name = std::find(process.arguments.begin(), process.arguments.end(), "--name");
      if (name != process.arguments.end() && name + 1 != process.arguments.end() && *(name + 1) == node)
        return process.pid;
    }
    return 0;
  }

 private:
  const TemporaryFolder& folder_;
  std::unique_ptr<Process> process_;
  std::string at_;
};

}  // namespace

TEST_CASE("weir up starts again who ends without having been told to, and ends when the farm is off") {
  const TemporaryFolder folder;
  KeptFarm farm(folder);
  for (const char* command : {"init", "configure", "start"}) farm.must({command});
  const pid_t before = farm.pid_of("dcm-0");
  REQUIRE(before != 0);
  REQUIRE(::kill(before, SIGTERM) == 0);

  CHECK(wait_until([&] { return farm.pid_of("dcm-0") != before && farm.pid_of("dcm-0") != 0; }, Seconds(60)));
  CHECK_THAT(farm.out(), Catch::ContainsSubstring("dcm-0 ended with status 143: starts again"));
  farm.must({"stop"});
  farm.must({"off"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
  // Only the one: those that run control ended were told to.
  const std::string out = farm.out();
  INFO(out);
  CHECK(out.find("starts again") == out.rfind("starts again"));
  CHECK(processes_naming(folder.path().string()).empty());
}

TEST_CASE("weir up ends when the farm is off, although a process of it stands still") {
  const TemporaryFolder folder;
  KeptFarm farm(folder, {"control.silence_ms=500", "control.order_s=1"});
  for (const char* command : {"init", "configure", "reset"}) farm.must({command});
  const pid_t still = farm.pid_of("dcm-0");
  REQUIRE(still != 0);
  REQUIRE(::kill(still, SIGSTOP) == 0);
  farm.must({"off", "--no-wait"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
  CHECK_THAT(farm.out(), !Catch::ContainsSubstring("starts again"));
  CHECK(processes_naming(folder.path().string()).empty());
}

TEST_CASE(
    "a run of a kept farm stays in the folder that its link named when the run began, and the next follows "
    "it") {
  const TemporaryFolder folder;
  for (const char* name : {"first", "second"}) std::filesystem::create_directory(folder / name);
  const std::string link = folder / "current";
  std::filesystem::create_directory_symlink(folder / "first", link);
  KeptFarm farm(folder, {"run.out=" + link, "control.out=" + (folder / "control")});
  for (const char* command : {"init", "configure", "start"}) farm.must({command});
  const auto stored_in = [&](const std::string& name) {
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / name)) {
      if (entry.path().string().find("writer-0") != std::string::npos) bytes += entry.file_size();
    }
    return bytes;
  };
  REQUIRE(wait_until([&] { return stored_in("first") > 100'000; }, Seconds(30)));
  std::filesystem::create_directory_symlink(folder / "second", link + ".new");
  std::filesystem::rename(link + ".new", link);
  const pid_t before = farm.pid_of("writer-0");
  REQUIRE(::kill(before, SIGKILL) == 0);
  const auto grows_again = [&, at = stored_in("first")] {
    return farm.pid_of("writer-0") != before && stored_in("first") > at + 100'000;
  };
  CHECK(wait_until(grows_again, Seconds(60)));
  farm.must({"stop"});
  CHECK(stored_in("second") == 0);
  const boost::json::value record = boost::json::parse(read_file(folder / "control/run-000001-end.json"));
  CHECK(record.at("ledger_balanced").as_bool());
  for (const char* command : {"start", "stop"}) farm.must({command});
  CHECK(stored_in("second") > 0);
  farm.must({"off"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
}

TEST_CASE("a farm's logs have one form, whoever writes into them") {
  const TemporaryFolder folder;
  KeptFarm farm(folder, {"log.format=json"});
  for (const char* command : {"init", "configure", "start", "stop", "off"}) farm.must({command});
  REQUIRE(farm.process().wait(Seconds(60)) == 0);
  std::size_t lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out/log")) {
    INFO(entry.path());
    std::ifstream log(entry.path());
    for (std::string line; std::getline(log, line); ++lines) {
      INFO(line);
      CHECK_NOTHROW(boost::json::parse(line));
    }
  }
  CHECK(lines > 20);
}
