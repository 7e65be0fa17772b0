// `weir up`: keeps a farm's processes from run to run.
#include "kept_farm.hpp"
#include "weir_catch.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

// A port that is free now, as are the two above it with great likelihood.
std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&at), length) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &length) == 0;
  ::close(socket);
  REQUIRE(bound);
  return ntohs(at.sin_port);
}

}  // namespace

TEST_CASE("weir up restarts a process that ends unasked, and ends when the farm is off") {
  const TemporaryFolder folder;
  KeptFarm farm(folder);
  for (const char* command : {"init", "configure", "start"}) farm.must({command});
  const pid_t before = farm.pid_of("dcm-0");
  REQUIRE(before != 0);
  REQUIRE(::kill(before, SIGTERM) == 0);

  CHECK(wait_until([&] { return farm.pid_of("dcm-0") != before && farm.pid_of("dcm-0") != 0; }, Seconds(60)));
  CHECK_THAT(farm.out(), Catch::ContainsSubstring("dcm-0 ended with status 143: restarting"));
  farm.stop_with_faults("dcm-0");
  farm.must({"off"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
  // Only one restart is logged: run control ended the other processes itself.
  const std::string out = farm.out();
  INFO(out);
  CHECK(out.find("restarting") == out.rfind("restarting"));
  CHECK(processes_naming(folder.path().string()).empty());
}

TEST_CASE("a farm in the background outlives the command that started it, until it is off") {
  const TemporaryFolder folder;
  const auto up = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"up", config_file("demo.yaml"), "--detach", "--set",
                                   "run.out=" + (folder / "out")};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(folder, "weir", words);
  };
  CHECK(up({"--set", "dcm.credits=0"}).status == 2);
  const CommandEnd started = up({});
  REQUIRE(started.status == 0);
  const std::size_t at = started.out.find("--connect ") + 10;
  REQUIRE(at > 10);
  const std::string control = started.out.substr(at, started.out.find(' ', at) - at);
  const auto ctl = [&](const std::string& word) {
    return run_command(folder, "weir", {"ctl", "--connect", control, word});
  };
  for (const char* word : {"init", "configure", "start", "stop"}) CHECK(ctl(word).status == 0);
  const CommandEnd second = up({});
  CHECK(second.status == 1);
  CHECK_THAT(second.err + second.out, Catch::ContainsSubstring("is in use"));
  CHECK(ctl("off").status == 0);
  CHECK(wait_until([&] { return processes_naming(folder.path().string()).empty(); }, Seconds(60)));
  CHECK(std::filesystem::exists(folder / "out/log/weir-up.log"));
}

TEST_CASE("weir up ends when the farm is off, even if one of its processes is frozen") {
  const TemporaryFolder folder;
  KeptFarm farm(folder, {"control.heartbeat_ms=150", "control.silence_ms=500", "control.order_s=1"});
  for (const char* command : {"init", "configure", "reset"}) farm.must({command});
  const pid_t still = farm.pid_of("dcm-0");
  REQUIRE(still != 0);
  REQUIRE(::kill(still, SIGSTOP) == 0);
  farm.must({"off", "--no-wait"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
  CHECK_THAT(farm.out(), !Catch::ContainsSubstring("restarting"));
  CHECK(processes_naming(folder.path().string()).empty());
}

TEST_CASE("weir up that is told to end does not wait for frozen processes until its limit") {
  const TemporaryFolder folder;
  KeptFarm farm(folder, {"readout.count=2"});
  farm.must({"init"});
  for (const char* name : {"readout-0", "readout-1"}) {
    const pid_t still = farm.pid_of(name);
    REQUIRE(still != 0);
    REQUIRE(::kill(still, SIGSTOP) == 0);
  }
  farm.process().send_signal(SIGTERM);
  CHECK(farm.process().wait(Seconds(45)) == 0);  // the limit is 60 s
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
  farm.stop_with_faults("writer-0");
  CHECK(stored_in("second") == 0);
  const boost::json::value record = boost::json::parse(read_file(folder / "control/run-000001-end.json"));
  CHECK(record.at("ledger_balanced").as_bool());
  CHECK_THAT(boost::json::serialize(record),
             Catch::ContainsSubstring("writer-0 died in the run: signal 9 (Killed)"));
  for (const char* command : {"start", "stop"}) farm.must({command});
  CHECK(stored_in("second") > 0);
  farm.must({"off"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
}

TEST_CASE(
    "run control that dies beside a broken farm file is restarted, and leads its farm and run as before") {
  const TemporaryFolder folder;
  const std::string file = folder / "farm.yaml";
  std::filesystem::copy_file(config_file("event-building.yaml"), file);
  KeptFarm farm(folder, {"control.heartbeat_ms=200"}, file);
  for (const char* command : {"init", "configure", "start"}) farm.must({command});
  const std::string good = read_file(file);
  const std::string bad =
      GENERATE("farm: [broken\n", "farm: event-building\nreadout: {count: 9}\nfilter: 7\n");
  std::ofstream(file) << bad;
  const auto control = [&] {
    for (const RunningProcess& process : processes_naming(folder.path().string())) {
      if (process.arguments.front().ends_with("weir-run-control")) return process.pid;
    }
    return pid_t{0};
  };
  const pid_t before = control();
  REQUIRE(before != 0);
  REQUIRE(::kill(before, SIGKILL) == 0);
  REQUIRE(wait_until([&] { return control() != 0 && control() != before; }, Seconds(60)));
  const auto leads = [&] {
    const CommandEnd end = farm.ctl({"--json", "status"});
    return end.status == 0 && boost::json::parse(end.out).at("state").as_string() == "running";
  };
  CHECK(wait_until(leads, Seconds(60)));
  CHECK_THAT(read_file(folder / "out/log/run-control.log"),
             Catch::ContainsSubstring("the farm file cannot be used"));
  farm.stop_good();
  CHECK_THAT(farm.ctl({"configure"}).err, Catch::ContainsSubstring("farm.yaml"));
  std::ofstream(file) << good;
  for (const char* command : {"configure", "start", "stop", "off"}) farm.must({command});
  CHECK(farm.process().wait(Seconds(60)) == 0);
  for (const char* run : {"1", "2"}) {
    const std::string record = read_file(folder / ("out/run-00000" + std::string(run) + "-end.json"));
    CHECK(boost::json::parse(record).at("ledger_balanced").as_bool());
  }
}

TEST_CASE(
    "a second session in the same folder is a new one without a restart, and all processes log in one "
    "format") {
  const TemporaryFolder folder;
  KeptFarm farm(folder, {"log.format=json"});
  for (const char* command : {"init", "configure", "start", "stop", "off"}) farm.must({command});
  REQUIRE(farm.process().wait(Seconds(60)) == 0);
  farm.start();
  for (const char* command : {"init", "configure", "start"}) farm.must({command});
  const CommandEnd status = farm.ctl({"status"});
  CHECK_THAT(status.out, Catch::ContainsSubstring("running  run 2"));
  CHECK_THAT(status.out, !Catch::ContainsSubstring("run control restarted"));
  for (const char* command : {"stop", "off"}) farm.must({command});
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

TEST_CASE("a second farm in the same folder is refused, and the first one's processes come back") {
  const TemporaryFolder folder;
  KeptFarm farm(folder);
  const CommandEnd second = run_command(
      folder, "weir", {"up", config_file("event-building.yaml"), "--set", "run.out=" + (folder / "out")});
  CHECK(second.status == 1);
  CHECK_THAT(second.err, Catch::ContainsSubstring("is in use by another farm of `weir up` (process " +
                                                  std::to_string(farm.process().pid())));
  for (const char* command : {"init", "configure", "start"}) farm.must({command});
  const pid_t before = farm.pid_of("dcm-0");
  REQUIRE(::kill(before, SIGKILL) == 0);
  CHECK(wait_until([&] { return farm.pid_of("dcm-0") != before && farm.pid_of("dcm-0") != 0; }, Seconds(60)));
  farm.stop_with_faults("dcm-0");
  farm.must({"off"});
  CHECK(farm.process().wait(Seconds(60)) == 0);
}

TEST_CASE(
    "off returns when the farm has ended: the next one begins at the same address, and keeps the logs") {
  const TemporaryFolder folder;
  const std::uint16_t port = free_port();
  KeptFarm farm(folder, {"control.listen=127.0.0.1:" + std::to_string(port)});
  for (int session = 1; session <= 2; ++session) {
    if (session > 1) farm.start();
    for (const char* command : {"init", "configure", "start", "off"}) farm.must({command});
    CHECK(farm.process().wait(Seconds(60)) == 0);
    CHECK_THAT(farm.out() + farm.process().err(), !Catch::ContainsSubstring("in use"));
  }
  std::map<std::string, int> logs;  // number of lines by process
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out/log")) {
    const std::string name = entry.path().filename().string();
    ++logs[name.substr(0, name.find('.'))];
    CHECK(std::filesystem::file_size(entry.path()) > 0);
  }
  CHECK(logs["supervisor"] == 2);
  CHECK(logs["dcm-0"] == 2);
  CHECK(logs["run-control"] == 2);
}

TEST_CASE("configure is refused with the plugin's reason, however its constructor fails, and then taken") {
  const TemporaryFolder folder;
  KeptFarm farm(folder, {"control.configure_s=8"});
  farm.must({"init"});
  const std::string dwells = "filter.plugin=" WEIR_SYSTEM_PLUGIN_DIR "/dwells.so";
  const struct {
    std::vector<std::string> sets;
    std::string why;
  } mistakes[] = {
      {{"filter.plugin=prescale", "filter.parameters.colour=red"},
       "--set filter.parameters.colour: filter 'prescale': unknown parameter 'colour'"},
      {{"filter.plugin=no-such-filter", "filter.parameters.colour="}, "filter.plugin: "},
      // Settings stay from one configure to the next.
      {{dwells, "filter.parameters.made_signal=11"}, "ends its process with signal 11"},
      {{dwells, "filter.parameters.made_s=600"}, "the plugin's trial did not end within 6 s"},
  };
  for (const auto& mistake : mistakes) {
    std::vector<std::string> words{"configure"};
    for (const std::string& one : mistake.sets) words.insert(words.end(), {"--set", one});
    const CommandEnd end = farm.ctl(words);
    INFO(end.out << end.err);
    CHECK(end.status == 1);
    CHECK_THAT(end.err, Catch::ContainsSubstring("configure is refused: dcm-") &&
                            Catch::ContainsSubstring(mistake.why));
    const boost::json::value view = farm.status();
    CHECK(view.at("state").as_string() == "standby");
    CHECK(view.at("health").as_array().front().at("word").as_string() == "configure refused");
  }
}

TEST_CASE("slow starts of filter workers leave their DCM in touch, and the run can be given up") {
  const TemporaryFolder folder;
  const std::string what = GENERATE("made_while", "begins_while");
  CAPTURE(what);
  const std::string hold = folder / "hold";
  KeptFarm farm(folder, {"dcm.count=1", "control.silence_ms=1000", "control.heartbeat_ms=100",
                         "filter.plugin=" WEIR_SYSTEM_PLUGIN_DIR "/dwells.so", "filter.isolation=worker",
                         "filter.parameters." + what + "=" + hold});
  farm.must({"init"});
  farm.must({"configure"});
  const auto begin = [&] {
    std::ofstream(hold) << "\n";
    auto start = farm.begin_ctl({"start"});
    REQUIRE(wait_until([&] { return read_file(hold).find("waits") != std::string::npos; }, Seconds(60)));
    return start;
  };
  {
    const auto start = begin();
    farm.must({"log-level", "debug", "dcm-0"});  // answered by the DCM's loop
    farm.must({"reset"});
    CHECK(farm.status().at("state").as_string() == "idle");
    std::filesystem::remove(hold);
  }
  farm.must({"init"});
  farm.must({"configure"});
  const auto start = begin();
  farm.must({"log-level", "info", "dcm-0"});
  std::filesystem::remove(hold);
  CHECK(start->wait(Seconds(60)) == 0);
  farm.stop_good();
  CHECK(farm.status().at("state").as_string() == "ready");
  CHECK_THAT(farm.out(), !Catch::ContainsSubstring("silent"));
}

TEST_CASE("weir soak takes a farm through runs with kills, and prints their ledgers") {
  const TemporaryFolder folder;
  KeptFarm farm(folder);
  const CommandEnd end = run_command(folder, "weir",
                                     {"soak", "--connect", farm.at(), "--hours", "0.0004", "--run-s", "1",
                                      "--kill-every-s", "0.3", "--pause-every-s", "0.7"});
  INFO(end.err);
  INFO(end.out);
  CHECK(end.status == 0);
  CHECK_THAT(end.out, Catch::ContainsSubstring("with a balanced ledger") &&
                          Catch::ContainsSubstring(" kill") && Catch::ContainsSubstring(" stored + ") &&
                          Catch::ContainsSubstring("no findings"));
  farm.must({"start"});
  CHECK(run_command(folder, "weir", {"soak", "--connect", farm.at()}).status == 2);  // in a run
  (void)farm.ctl({"stop"});
  farm.must({"off"});
}
