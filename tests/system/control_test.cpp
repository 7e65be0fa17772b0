// Farms whose processes keep running under run control.
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "skip.hpp"
#include "weir_catch.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace weir::system_test;

namespace {

const std::vector<std::string> kNodes = {"supervisor", "writer-0", "readout-0",
                                         "readout-1",  "dcm-0",    "dcm-1"};

constexpr const char* kIdleFarm = "trigger: {mode: rate, rate_hz: 1}\nreadout: {count: 2}\ndcm: {count: 2}\n";
constexpr const char* kBusyFarm =
    "trigger: {mode: rate, rate_hz: 500}\nreadout: {count: 2}\ndcm: {count: 2}\n";

// Returns the number of repetitions: the environment variable's value, or `usual`.
int times(const char* variable, int usual) {
  const char* asked = std::getenv(variable);
  return asked == nullptr ? usual : std::atoi(asked);
}

std::int64_t count(const boost::json::value& record, const char* key) {
  return record.at(key).to_number<std::int64_t>();
}

// Checks that the run lost nothing and reports no fault.
void check_untouched(const boost::json::value& record) {
  CHECK(record.at("ledger_balanced").as_bool());
  CHECK(record.at("faults").as_array().empty());
  CHECK(record.at("discarded").as_object().empty());
  CHECK(record.at("fragments").at("missing").as_object().empty());
  CHECK(count(record, "stored") == count(record, "triggered"));
  CHECK(count(record, "triggered") > 0);
}

}  // namespace

TEST_CASE("runs follow each other without a restart, and leave nothing behind") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, kIdleFarm, kNodes);
  auto& changing = const_cast<ControlledFarm&>(farm);
  farm.make_ready();
  const auto cycle = [&] {
    farm.must({"start"});
    farm.stop_good();
  };
  constexpr int kFirst = 3;  // so that everything allocated once exists
  for (int i = 0; i < kFirst; ++i) cycle();
  std::map<std::string, Holdings> before;
  for (const std::string& name : kNodes) before[name] = holdings_of(changing.node(name).pid());
  const Holdings control = holdings_of(changing.run_control().pid());
  const int cycles = times("WEIR_CONTROL_CYCLES", 10);
  for (int i = 0; i < cycles; ++i) cycle();
  for (const std::string& name : kNodes) {
    const Holdings after = holdings_of(changing.node(name).pid());
    INFO(name << " before " << before[name].rss_kb << " kB, after " << after.rss_kb << " kB");
    CHECK(after.descriptors <= before[name].descriptors + 1);
    CHECK(after.threads <= before[name].threads);
    CHECK(after.rss_kb < before[name].rss_kb + 8192);
  }
  const Holdings after = holdings_of(changing.run_control().pid());
  CHECK(after.descriptors <= control.descriptors + 2);  // the connection of the command that has just ended
  CHECK(after.threads == control.threads);
  CHECK(after.rss_kb < control.rss_kb + 8192);
  std::ifstream history(farm.out() + "/runs.jsonl");
  int runs = 0;
  for (std::string line; std::getline(history, line); ++runs) {
    CHECK(boost::json::parse(line).at("balanced").as_bool());
  }
  CHECK(runs == cycles + kFirst);
}

TEST_CASE("after the last run number no run begins, and the operator gets the remedy") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, kBusyFarm, kNodes);
  farm.make_ready();
  const CommandEnd refused = farm.ctl({"start", "4294967295"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Catch::ContainsSubstring("leaves no number for the next run"));
  farm.must({"start", "4294967294"});
  farm.stop_good();
  farm.must({"start"});
  farm.stop_good();
  check_untouched(farm.record(4294967295));
  const CommandEnd next = farm.ctl({"start"});
  CHECK(next.status == 1);
  CHECK_THAT(next.err, Catch::ContainsSubstring("run 4294967295 is the highest possible number"));
  CHECK_THAT(next.err, Catch::ContainsSubstring("control.out, and start run control anew"));
  CHECK(farm.state() == "ready");
}

TEST_CASE("what operators say about runs is in their records, which are listed, shown and compared") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, kBusyFarm, kNodes,
                            ", required_fields: [type, shifter], run_types: [physics, laser]");
  const auto runs = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"runs", "--in", farm.farm_file()});
    return run_command(folder, "weir", words);
  };
  farm.make_ready();
  const CommandEnd refused = farm.ctl({"start", "--type", "physics"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Catch::ContainsSubstring("this farm starts no run without shifter"));
  CHECK(runs({}).out.find("physics") == std::string::npos);
  farm.must(
      {"start", "--type", "physics", "--shifter", "Ann", "--comment", "first light", "--field", "hv=1200"});
  CHECK_THAT(runs({"--outcome", "open"}).out, Catch::ContainsSubstring("first light; hv=1200"));
  CHECK_THAT(runs({"--failed"}).out, Catch::ContainsSubstring("0 of 1 run\n"));
  farm.stop_good();
  farm.must({"start", "--type", "laser", "--shifter", "Bob"});
  farm.stop_good();
  CHECK_THAT(runs({"diff", "2"}).out, Catch::ContainsSubstring("run 1 -> run 2\n"));
  farm.must({"annotate", "1", "--quality", "bad", "--comment", "HV trip"});
  CHECK(runs({"annotate", "2", "--quality", "good"}).status == 0);
  const CommandEnd found = runs({"--quality", "bad", "--text", "trip", "--since", "1h", "--csv"});
  CHECK_THAT(found.out, Catch::ContainsSubstring(",first light; HV trip,1200,bad,Ann,physics\r\n"));
  CHECK(runs({"--type", "laser"}).out.find("first light") == std::string::npos);
  CHECK_THAT(runs({"show", "1"}).out, Catch::ContainsSubstring("comment=HV trip  quality=bad\n") &&
                                          Catch::ContainsSubstring("run-000001-end.json"));
  CHECK_THAT(runs({"diff", "1", "2"}).out, Catch::ContainsSubstring("physics -> laser\n"));
  CHECK_THAT(runs({"diff", "2"}).err, Catch::ContainsSubstring("has no good run before run 2"));
  CHECK_THAT(runs({"show", "9"}).err, Catch::ContainsSubstring("has no run 9"));
  CHECK_THAT(farm.ctl({"annotate", "9", "--quality", "bad"}).err,
             Catch::ContainsSubstring("run 9 has no record"));
}

TEST_CASE(
    "a hook refuses a start with its reason, another gets the end of the run, and a slow one delays no "
    "stop") {
  const TemporaryFolder folder;
  const std::string flag = folder / "go";
  const std::string end = folder / "end.json";
  const ControlledFarm farm(folder, kBusyFarm, kNodes,
                            ", hooks: [{name: voltage, at: [before-start], run: 'test -e " + flag +
                                " || { echo module 3 is off; exit 1; }'}, " +
                                "{name: book, at: [after-stop], run: 'cat >" + end + ".new && mv " + end +
                                ".new " + end +
                                "'}, {name: slow, at: [after-stop], run: sleep 1000, limit_s: 2000}]");
  farm.make_ready();
  const CommandEnd refused = farm.ctl({"start"});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Catch::ContainsSubstring("start refused by hook voltage: module 3 is off"));
  CHECK(farm.state() == "ready");
  CHECK_THAT(farm.ctl({"status"}).out,
             Catch::ContainsSubstring("warning: start refused: hook voltage: module 3 is off"));
  std::ofstream(flag) << "x";
  farm.must({"start", "--type", "laser"});
  farm.stop_good();
  farm.must({"start", "--type", "physics"});
  farm.stop_good();
  REQUIRE(wait_until([&] { return std::ifstream(end).good(); }, Seconds(20)));
  std::ifstream file(end);
  std::string line;
  REQUIRE(std::getline(file, line));
  const boost::json::value account = boost::json::parse(line);
  CHECK(account.at("end").at("outcome").as_string() == "good");
  CHECK(account.at("records").at("end").as_string().ends_with("-end.json"));
  CHECK(account.at("hook").as_string() == "book");
}

TEST_CASE("a hook refuses a weir run with its reason, and another gets the end of a run after its records") {
  const TemporaryFolder folder;
  const std::string flag = folder / "go";
  const std::string end = folder / "end.json";
  const std::string file = folder.write(
      "farm.yaml",
      kBusyFarm + std::string("control: {hooks: [{name: voltage, at: [before-start], run: 'test -e ") + flag +
          " || { echo module 3 is off; exit 1; }'}, " + "{name: slow, at: [after-start], run: sleep 1}, " +
          "{name: book, at: [after-stop], run: 'cat >" + end +
          "; test -s $WEIR_FOLDER/run-000002-end.json'}, " +
          "{name: broken, at: [after-stop], run: 'echo no logbook; exit 4'}]}\n");
  const auto run = [&] {
    return run_command(
        folder, "weir",
        {"run", file, "--slices", "50", "--out", folder / "out", "--quiet", "--type", "laser"});
  };
  const CommandEnd refused = run();
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err,
             Catch::ContainsSubstring("weir run: start refused by hook voltage: module 3 is off\n"));
  CHECK_FALSE(std::ifstream(end).good());
  std::ofstream(flag) << "x";
  const CommandEnd done = run();
  CHECK(done.status == 0);
  CHECK(done.err == "weir run: hook broken failed after-stop: exit status 4: no logbook\n");
  const boost::json::value account = boost::json::parse(read_file(end));
  CHECK(account.at("run").to_number<int>() == 2);
  CHECK(account.at("end").at("outcome").as_string() == "good");
  CHECK(account.at("fields").at("type").as_string() == "laser");
  CHECK(account.at("settings").at("run.slices").as_string() == "50");
  CHECK(read_file(folder / "out/hooks/slow.log").find("after-start, run 2: exit status 0") !=
        std::string::npos);
}

TEST_CASE(
    "a scan continues after a run that fails, resumes, and shows its progress; preflight finds the rest") {
  if (std::system("python3 -c 'import numpy, zmq, google.protobuf, yaml' 2> /dev/null || /usr/bin/python3 -c "
                  "'import numpy, zmq, google.protobuf, yaml' 2> /dev/null") != 0) {
    weir::skip_test("no python3 with pyzmq, protobuf and PyYAML here");
    return;
  }
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, kBusyFarm, kNodes);
  const std::string file = folder / "scan.yaml";
  const std::string good = folder / "good";
  std::ofstream(file) << "values: {dcm.credits: [4, 0, 8], hv: [1200]}\nslices: 50\nprepare: test "
                         "\"$WEIR_VALUE_DCM_CREDITS\" != 8 || "
                         "test -e " +
                             good + " || { echo tripped; exit 1; }\n";
  const auto scan = [&] { return run_command(folder, "weir", {"scan", file, "--farm", farm.farm_file()}); };
  const CommandEnd first = scan();
  INFO(first.out << first.err);
  CHECK(first.status == 1);
  CHECK_THAT(first.out, Catch::ContainsSubstring("dcm.credits=4 hv=1200  run 1: 50 of 50 stored; 2 left") &&
                            Catch::ContainsSubstring("dcm.credits=0 hv=1200  no run: FAILED: ") &&
                            Catch::ContainsSubstring("FAILED: prepare: tripped; 0 left"));
  CHECK_THAT(farm.ctl({"status"}).out, Catch::ContainsSubstring("scan.yaml: 3 of 3 runs, 2 failed; over"));
  std::ofstream(good) << "x";
  const CommandEnd second = scan();
  CHECK(second.status == 1);
  CHECK_THAT(second.out,
             Catch::ContainsSubstring("3 runs, 1 taken") &&
                 Catch::ContainsSubstring("dcm.credits=8 hv=1200  run 2: 50 of 50 stored; 0 left"));
  const CommandEnd runs =
      run_command(folder, "weir", {"runs", "--in", farm.farm_file(), "--text", "scan.yaml"});
  CHECK_THAT(runs.out, Catch::ContainsSubstring("hv=1200"));
  const CommandEnd fit = farm.ctl({"preflight"});
  INFO(fit.out);
  CHECK(fit.status == 0);
  CHECK_THAT(fit.out, Catch::ContainsSubstring("good     processes  all 6 connected") &&
                          Catch::ContainsSubstring("good     checksums  ") &&
                          Catch::ContainsSubstring("good     clocks     of 1 host within ") &&
                          Catch::ContainsSubstring("everywhere"));
}

TEST_CASE("run control logs in the format of the farm file, as the processes do") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, std::string(kIdleFarm) + "log: {format: json}\n", kNodes);
  farm.begin_run();
  farm.stop_good();
  for (const std::string& log : {farm.run_control().err(), farm.node("dcm-0").err()}) {
    std::istringstream in(log);
    int lines = 0;
    for (std::string line; std::getline(in, line); ++lines) {
      INFO(line);
      CHECK(boost::json::parse(line).at("level").is_string());
    }
    CHECK(lines > 0);
  }
}

TEST_CASE("killing run control in a run, and restarting it, affects no slice") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, kBusyFarm, kNodes);
  farm.make_ready();
  farm.must({"start"});
  for (int i = 0; i < times("WEIR_CONTROL_KILLS", 2); ++i) {
    farm.kill_run_control();
    CHECK(farm.ctl({"--timeout", "0.5", "status"}).status == 3);
    farm.start_run_control();
    REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(20)));
    CHECK(farm.state() == "running");
  }
  farm.stop_good();
  CHECK(farm.state() == "ready");
  check_untouched(farm.record(1));
}

TEST_CASE("a process that dies in a run is led back into it, the supervisor too") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, kBusyFarm, kNodes);
  farm.make_ready();
  farm.must({"start"});
  for (const std::string name : {"dcm-0", "supervisor", "writer-0", "readout-0"}) {
    farm.kill_node(name);
    REQUIRE(wait_until([&] { return farm.state_of(name) == "gone"; }, Seconds(20)));
    farm.start_node(name);
    INFO(name << "\n" << farm.logs());
    REQUIRE(wait_until([&] { return farm.state_of(name) == "running"; }, Seconds(20)));
  }
  farm.kill_node("dcm-1");
  farm.start_node("dcm-1");  // at once: run control sees that the pid no longer exists
  REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(20)));
  CHECK(farm.events().find("is here already") == std::string::npos);
  const CommandEnd stop = farm.ctl({"stop"});
  CHECK(stop.status == kStoppedWithFaults);
  CHECK_THAT(stop.err, Catch::ContainsSubstring("weir ctl: run 1 ended with faults: dcm-0 was lost"));
  const boost::json::value record = farm.record(1);
  CHECK(record.at("ledger_balanced").as_bool());
  CHECK(count(record, "stored") > 0);
}

TEST_CASE("a removed node stays out when the supervisor dies and resumes the run") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder,
                      "trigger: {mode: rate, rate_hz: 500}\n"
                      "readout: {count: 2}\n"
                      "dcm: {count: 2, processing_units: 1}\n"
                      "filter: {plugin: busy, parameters: {microseconds: 0, asleep: 20000}}\n",
                      kNodes);
  farm.begin_run();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(20)));
  farm.must({"remove", "dcm-1"});
  farm.kill_node("supervisor");
  farm.start_node("supervisor");
  INFO(farm.logs());
  REQUIRE(wait_until([&] { return farm.state_of("supervisor") == "running"; }, Seconds(30)));
  CHECK(wait_until([&] { return farm.state_of("dcm-1") != "running"; }, Seconds(30)));
  farm.stop_with_faults("supervisor");
  CHECK(farm.record(1).at("ledger_balanced").as_bool());
}

TEST_CASE("processes leave a run and rejoin it, any number of times") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, kBusyFarm, kNodes);
  farm.make_ready();
  farm.must({"start"});
  const int cycles = times("WEIR_CONTROL_CYCLES", 6);
  Holdings before;
  for (int i = 0; i < cycles; ++i) {
    if (i == 2) before = holdings_of(farm.node("supervisor").pid());
    const std::string name = i % 2 == 0 ? "dcm-1" : "readout-1";
    farm.must({"remove", name});
    INFO(name << "\n" << farm.logs());
    REQUIRE(wait_until([&] { return farm.state_of(name) == "ready"; }, Seconds(20)));
    farm.must({"add", name});
    REQUIRE(wait_until([&] { return farm.state_of(name) == "running"; }, Seconds(20)));
  }
  const Holdings after = holdings_of(farm.node("supervisor").pid());
  CHECK(after.descriptors <= before.descriptors + 2);
  CHECK(after.threads == before.threads);
  CHECK(after.rss_kb < before.rss_kb + 16'384);
  farm.stop_good();
  const boost::json::value record = farm.record(1);
  CHECK(record.at("ledger_balanced").as_bool());
  CHECK(record.at("discarded").as_object().empty());
}

TEST_CASE("a farm begins without an absent process, and includes it when it joins") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, kBusyFarm, {"supervisor", "writer-0", "readout-0", "readout-1", "dcm-0"},
                      ", init_s: 2, transient: [dcm-1]");
  farm.make_ready();
  farm.must({"start"});
  CHECK(farm.state() == "running");
  farm.start_node("dcm-1");
  REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(20)));
  farm.stop_good();
  check_untouched(farm.record(1));
}

TEST_CASE("a run of so many slices ends by itself, and a paused one makes none") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, kBusyFarm, kNodes);
  farm.make_ready();
  farm.must({"start", "--slices", "200"});
  farm.must({"pause"});
  CHECK(farm.state() == "paused");
  farm.must({"continue"});
  REQUIRE(wait_until([&] { return farm.state() == "ready"; }, Seconds(30)));
  const boost::json::value record = farm.record(1);
  CHECK(count(record, "triggered") == 200);
  CHECK(record.at("running_s").to_number<double>() > 0);
  CHECK(record.at("end").as_string() > record.at("begin").as_string());
}

TEST_CASE("an operator pauses, continues and ends the run of a weir run") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"trigger.mode=rate", "trigger.rate_hz=1000", "readout.count=2"}));
  REQUIRE(run.wait_for_data(300'000));
  const auto ctl = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"ctl", "--connect", run.control_at()});
    const CommandEnd end = run_command(folder, "weir", words);
    INFO(words.back() << ": " << end.err);
    CHECK(end.status == 0);
    return end;
  };
  ctl({"pause"});
  CHECK(ctl({"status"}).out.find("paused") != std::string::npos);
  ctl({"continue"});
  ctl({"stop", "--reason", "enough"});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.text("reason") == "enough");
  CHECK(end.summary.count("vetoed.paused") > 0);
}

TEST_CASE("processes of a weir run leave it and rejoin it without a fault") {
  const TemporaryFolder folder;
  FarmRun run(
      folder, config_file("event-building.yaml"),
      sets({"trigger.mode=rate", "trigger.rate_hz=500", "readout.count=2", "dcm.count=2", "writer.count=2"}));
  REQUIRE(run.wait_for_data(100'000));
  const std::vector<std::string> names = {"writer-1", "readout-1", "dcm-1"};
  const auto ctl = [&](const std::string& command) {
    std::vector<std::string> words = {"ctl", "--connect", run.control_at(), command};
    if (command != "stop") words.insert(words.end(), names.begin(), names.end());
    const CommandEnd end = run_command(folder, "weir", words);
    INFO(command << ": " << end.err);
    REQUIRE(end.status == 0);
  };
  const auto running = [&](const std::string& name) { return run.pid_of(name) != 0; };
  std::vector<pid_t> before;
  for (const std::string& name : names) before.push_back(run.pid_of(name));
  ctl("remove");
  REQUIRE(wait_until([&] { return std::none_of(names.begin(), names.end(), running); }, Seconds(30)));
  ctl("add");
  REQUIRE(wait_until([&] { return std::all_of(names.begin(), names.end(), running); }, Seconds(30)));
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(run.pid_of(names[i]) != before[i]);
  const auto all_take_part = [&] {
    const std::string status =
        run_command(folder, "weir", {"ctl", "--connect", run.control_at(), "status"}).out;
    return std::none_of(names.begin(), names.end(), [&](const std::string& name) {
      const std::size_t at = status.find("  " + name);
      return at == status.npos ||
             status.substr(at, status.find('\n', at) - at).find("running") == std::string::npos;
    });
  };
  REQUIRE(wait_until(all_take_part, Seconds(30)));
  const std::uint64_t bytes = run.data_bytes();
  REQUIRE(run.wait_for_data(bytes + 500'000));
  ctl("stop");
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
}

TEST_CASE("a weir run whose farm is reset ends and reports it") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"trigger.mode=rate", "trigger.rate_hz=1000"}));
  REQUIRE(run.wait_for_data(300'000));
  (void)run_command(folder, "weir", {"ctl", "--connect", run.control_at(), "--no-wait", "reset"});
  const FarmEnd end = run.finish(Seconds(30));
  INFO(describe(end));
  CHECK(end.status == 1);
  CHECK(end.err.find("reset") != std::string::npos);
}

TEST_CASE("a command out of place is refused with a reason, and a wrong setting changes nothing") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, kIdleFarm, kNodes);
  const CommandEnd early = farm.ctl({"start"});
  CHECK(early.status == 1);
  CHECK(early.err.find("the farm is idle: start is not possible now; possible commands: init, reset, off") !=
        std::string::npos);
  farm.must({"init"});
  const CommandEnd wrong = farm.ctl({"configure", "--set", "dcm.creditz=3"});
  CHECK(wrong.status == 1);
  CHECK(wrong.err.find("creditz") != std::string::npos);
  CHECK(farm.ctl({"configure", "--set", "dcm.count=3"}).status == 1);
  farm.must({"configure", "--set", "dcm.credits=3"});
  CHECK(farm.state() == "ready");
  CHECK(farm.ctl({"remove", "dcm-9"}).err.find("no process 'dcm-9'") != std::string::npos);
  farm.must({"off"});
}

TEST_CASE("with keys an operator commands, an observer reads, and a client without a key gets no answer") {
  const TemporaryFolder folder;
  const std::string keys = folder / "keys";
  REQUIRE(run_command(folder, "weir", {"keys", "new", keys}).status == 0);
  const ControlledFarm farm(folder, kIdleFarm, kNodes, ", keys: " + keys);
  farm.make_ready();
  CHECK(farm.ctl({"--as", "observer", "status"}).status == 0);
  const CommandEnd refused = farm.ctl({"--as", "observer", "start"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("cannot command") != std::string::npos);
  const CommandEnd stranger = run_command(
      folder, "weir",
      {"ctl", "--connect", "127.0.0.1:" + std::to_string(farm.port()), "--timeout", "1", "status"});
  CHECK(stranger.status == 3);
  farm.must({"start"});
  const auto tap = farm.tap("tap", {"--as", "observer", "--count", "1", "--json"});
  CHECK(tap->wait(Seconds(60)) == 0);
  const auto keyless = run_command(
      folder, "weir",
      {"tap", "--connect", "127.0.0.1:" + std::to_string(farm.port()), "--timeout", "1", "--count", "1"});
  CHECK(keyless.status != 0);
  farm.stop_good();
}
