// Tests of the command line's error messages, and of how it finds a farm.
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "weir_catch.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <thread>

using namespace weir::system_test;

namespace {

const std::vector<std::string> kNodes = {"supervisor", "writer-0", "readout-0", "dcm-0"};
constexpr const char* kFarm = "trigger: {mode: rate, rate_hz: 100}\nreadout: {count: 1}\ndcm: {count: 1}\n";

// An environment variable that is as it was, after.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::int64_t pid_in_status(const ControlledFarm& farm, const std::string& name) {
  const boost::json::value status = farm.status();
  for (const auto& node : status.at("nodes").as_array()) {
    if (node.at("name").as_string() == name) return node.at("pid").to_number<std::int64_t>();
  }
  return 0;
}

}  // namespace

TEST_CASE("an unknown command or option is rejected with a suggestion") {
  const TemporaryFolder folder;
  const struct {
    std::vector<std::string> words;
    std::string sentence;
  } mistakes[] = {
      {{"ctl", "strat"}, "unknown command 'strat': did you mean 'start'?"},
      {{"ctl", "--connect", "127.0.0.1:1", "strat"}, "unknown command 'strat': did you mean 'start'?"},
      {{"ctl"}, "which command? status"},
      {{"chekc", "x"}, "unknown command 'chekc': did you mean 'check'?"},
      {{"--verison"}, "unknown option '--verison': did you mean '--version'?"},
      {{"run", config_file("demo.yaml"), "--slices", "-3"}, "-3 is negative"},
      {{"emit", config_file("udp.yaml"), "--slices=-3"}, "-3 is negative"},
      {{"ctl", "start", "threshold scan"},
       "weir ctl start: run: 'threshold scan' is not a number in range; `weir ctl start --help` says more"},
      {{"ctl", "set"}, "weir ctl set: sets is missing"},
      {{"ctl", "status", "now"}, "weir ctl status: unexpected: now"},
      {{"ctl", "start", "--coment", "hello"}, "weir ctl start: unknown option '--coment'"},
      {{"ctl", "stop", "--reson", "x"}, "weir ctl stop: unknown option '--reson': did you mean '--reason'?"},
      {{"ctl", "--timeout", "0", "status"}, "--timeout: 0 is outside the range"},
      {{"ctl", "--as", "boss", "status"}, "--as: boss is none of {operator,observer}"},
  };
  for (const auto& mistake : mistakes) {
    const CommandEnd end = run_command(folder, "weir", mistake.words);
    INFO(mistake.words.back());
    CHECK(end.status == 2);
    CHECK_THAT(end.err, Catch::ContainsSubstring(mistake.sentence));
  }
  CHECK(run_command(folder, "weir", {"--version"}).status == 0);
  CHECK(run_command(folder, "weir", {"ctl", "--help"}).status == 0);
}

TEST_CASE("the help of an installed program names files that were installed") {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.path() / "bin");
  fs::create_directories(folder.path() / "share/doc/weir/docs");
  folder.write("share/doc/weir/docs/configuration.md", "");
  fs::copy_file(std::string(WEIR_BIN_DIR) + "/weir", folder.path() / "bin/weir");
  Process installed({folder / "bin/weir", "--help"}, folder / "out", folder / "err");
  CHECK(installed.wait(Seconds(20)) == 0);
  CHECK_THAT(installed.out(), Catch::ContainsSubstring(folder / "share/doc/weir/docs/configuration.md"));
  CHECK_THAT(installed.out(), Catch::ContainsSubstring(folder / "share/weir/configs/demo.yaml"));
  CHECK_THAT(run_command(folder, "weir", {"--help"}).out, Catch::ContainsSubstring(" configs/demo.yaml"));
}

TEST_CASE("a wrong --out or --connect of weir tap is a wrong command line, not an absent run control") {
  const TemporaryFolder folder;
  const std::string there = folder.write("there.weir", "something\n");
  CHECK(run_command(folder, "weir", {"tap", "--connect", "127.0.0.1:1", "--out", there}).status == 2);
  CHECK(run_command(folder, "weir", {"tap", "--connect", "nowhere"}).status == 2);
  CHECK(run_command(folder, "weir", {"tap", "--connect", "127.0.0.1:1", "--timeout", "0.3"}).status == 3);
}

TEST_CASE("a pipe is refused as a farm file and as a run file, at once") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(run_command(folder, "weir", {"check", pipe}).status == 2);
  CHECK(run_command(folder, "weir", {"file", "info", pipe}).status == 2);
}

TEST_CASE("too few open files are reported, with the number needed") {
  const TemporaryFolder folder;
  const std::string command = "ulimit -n 20; exec '" + std::string(WEIR_BIN_DIR) + "/weir' run '" +
                              config_file("event-building.yaml") + "' --out '" + (folder / "out") + "'";
  Process process({"/bin/sh", "-c", command}, folder / "sh.out", folder / "sh.err");
  CHECK(process.wait(Seconds(20)) == 2);
  CHECK_THAT(process.err(), Catch::ContainsSubstring("may open 20 files"));
}

TEST_CASE("a process that is to die with its parent dies immediately if that is already gone") {
  const TemporaryFolder folder;
  const std::string farm = config_file("event-building.yaml");
  for (const char* program : {"weir-writer", "weir-run-control"}) {
    std::vector<std::string> line{std::string(WEIR_BIN_DIR) + "/" + program, "--farm", farm,
                                  "--die-with-parent", "1"};  // not started by this test
    if (std::string(program) == "weir-writer") line.insert(line.end(), {"--name", "writer-0"});
    Process process(line, folder / "out", folder / "err");
    CHECK(process.wait(Seconds(20)) == 128 + SIGTERM);
  }
}

TEST_CASE("weir ctl finds the one farm of a user on this machine, and the one that WEIR_CONNECT names") {
  const TemporaryFolder folder;
  const Environment runtime("XDG_RUNTIME_DIR", folder.path().string());
  CHECK_THAT(run_command(folder, "weir", {"ctl", "status"}).err,
             Catch::ContainsSubstring("no run control of yours on this machine"));
  ControlledFarm farm(folder, kFarm, {});
  CHECK(run_command(folder, "weir", {"ctl", "status"}).status == 0);
  {
    const Environment connect("WEIR_CONNECT", "127.0.0.1:" + std::to_string(farm.port()));
    CHECK(run_command(folder, "weir", {"ctl", "status"}).status == 0);
    const Environment other("WEIR_CONNECT", "127.0.0.1:1");
    CHECK(run_command(folder, "weir", {"ctl", "--timeout", "0.5", "status"}).status == 3);
  }
  farm.kill_run_control();  // the note of the killed instance is ignored
  CHECK(run_command(folder, "weir", {"ctl", "status"}).status == 2);
  CHECK(std::filesystem::is_empty(folder.path() / "weir"));
}

TEST_CASE("alarms are printed for Prometheus and Alertmanager, whatever their names") {
  const TemporaryFolder folder;
  const std::string mail = folder / "mail";
  std::ofstream(mail)
      << "server smtp://mail.example.org:587\nfrom a@b\nto c@d e@f\nuser weir\npassword s3cret\n";
  const std::string farm = folder / "farm.yaml";
  std::ofstream(farm) << "farm: lab\ncontrol:\n  listen: 127.0.0.1:7700\n  alarms:\n    channels:\n"
                      << "      - {name: shift, mail: " << mail << "}\n"
                      << "      - {name: siren, do: 'true', from: error}\n"
                      << "      - {name: chat, webhook: /etc/weir/chat, format: slack}\n    rules:\n"
                      << "      - {name: 'disk \"fills\": (9)', raise_after_s: 0.5}\n"
                      << "      - {name: it's, metric: weir_slices_in_flight, above: 900}\n";
  const CommandEnd rules = run_command(folder, "weir", {"alarm", "rules", farm});
  CHECK(rules.status == 0);
  CHECK_THAT(rules.out, Catch::ContainsSubstring(R"x(finding!~"disk \"fills\": \\(9\\)|it''s"} > 0')x") &&
                            Catch::ContainsSubstring(R"x(finding="disk \"fills\": (9)"} > 0')x") &&
                            Catch::ContainsSubstring(
                                "for: 500ms\n        labels: {severity: '{{ $labels.severity }}'}") &&
                            Catch::ContainsSubstring("expr: 'weir_slices_in_flight > 900'"));
  const CommandEnd manager = run_command(folder, "weir", {"alarm", "alertmanager", farm});
  CHECK(manager.status == 0);
  CHECK_THAT(manager.out,
             Catch::ContainsSubstring(
                 "to: 'c@d, e@f'\n        from: 'a@b'\n        smarthost: 'mail.example.org:587'") &&
                 Catch::ContainsSubstring(
                     "receiver: 'siren'\n      continue: true\n      matchers: ['severity=\"error\"']") &&
                 Catch::ContainsSubstring("api_url_file: '/etc/weir/chat'"));
  CHECK(manager.out.find("s3cret") == std::string::npos);
}

TEST_CASE("a wrong option of weir ctl is named before a farm is looked for") {
  const TemporaryFolder folder;
  const CommandEnd end =
      run_command(folder, "weir", {"ctl", "start", "--field", "target", "--connect", "127.0.0.1:1"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("'target' is not a field"));
}

TEST_CASE("weir ctl kill signals the processes that are named, and their pids are in the status") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, kFarm, kNodes);
  farm.begin_run();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "running"; }, Seconds(20)));
  CHECK(pid_in_status(farm, "dcm-0") == farm.node("dcm-0").pid());
  CHECK_THAT(farm.ctl({"status"}).out, Catch::ContainsSubstring(std::to_string(farm.node("dcm-0").pid())));

  CHECK_THAT(farm.ctl({"kill", "dcm-9"}).err, Catch::ContainsSubstring("no process 'dcm-9'"));
  CHECK_THAT(farm.ctl({"kill", "--signal", "FOO", "dcm-0"}).err, Catch::ContainsSubstring("'FOO' is none"));
  farm.must({"kill", "--signal", "TERM", "readout-0"});
  CHECK(farm.node("readout-0").wait(Seconds(10)) == 128 + SIGTERM);
  farm.must({"kill", "dcm-0"});
  CHECK(farm.node("dcm-0").wait(Seconds(10)) == -SIGKILL);
  CHECK_THAT(farm.ctl({"kill", "dcm-0"}).err, Catch::ContainsSubstring("no longer exists"));
  CHECK_THAT(farm.events(), Catch::ContainsSubstring("got SIGKILL from an operator"));
  farm.start_node("dcm-0");
  farm.start_node("readout-0");
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "running"; }, Seconds(20)));
  farm.stop_with_faults("was lost");
}

TEST_CASE("a normal stop causes no warning, and run control's lines name their run") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, kFarm, kNodes);
  farm.begin_run();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "running"; }, Seconds(20)));
  farm.stop_good();
  CHECK_THAT(farm.node("dcm-0").err(), !Catch::ContainsSubstring("level=warn"));
  CHECK_THAT(farm.run_control().err(), Catch::ContainsSubstring("run=1 run 1 is over"));
}

TEST_CASE("weir run waits for slowly starting processes as long as run control does") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"run.slices=200", "readout.count=2", "trigger.mode=rate", "trigger.rate_hz=50"}));
  REQUIRE(wait_until([&] { return run.send_signal("readout-1", SIGSTOP); }, Seconds(10)));
  std::this_thread::sleep_for(std::chrono::seconds(12));
  REQUIRE(run.send_signal("readout-1", SIGCONT));
  const FarmEnd end = run.finish();
  INFO(end.err);
  CHECK(end.status == 0);
}

TEST_CASE("a demo names no file of the folder that it removes") {
  const TemporaryFolder folder;
  const CommandEnd end = run_command(folder, "weir", {"demo", "--duration", "0.5"});
  CHECK(end.status == 0);
  CHECK_THAT(end.out, Catch::ContainsSubstring("stored"));
  CHECK_THAT(end.out, Catch::ContainsSubstring("and its files are removed"));
  CHECK_THAT(end.out, !Catch::ContainsSubstring(".weir"));
}
