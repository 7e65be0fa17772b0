// Tests that a record identifies the farm, the plugins and the recordings of a run by checksum, as its
// processes report them, and that processes with other files are rejected.
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/config/farm_file.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::ContainsSubstring;
namespace fs = std::filesystem;

const std::vector<std::string> kNodes = {"supervisor", "writer-0", "readout-0", "dcm-0", "dcm-1"};
const fs::path kPlugins = WEIR_PLUGIN_DIR;

// Replaces the file by a rename: a process that has mapped the old one keeps it.
void put_plugin(const std::string& name, const std::string& at) {
  fs::copy_file(kPlugins / (name + ".so"), at + ".new", fs::copy_options::overwrite_existing);
  fs::rename(at + ".new", at);
}

std::string checksum(const std::string& bytes) {
  return fmt::format("{:08x}", crc32c({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}));
}

std::string record_file(const std::string& out, std::uint32_t run, const std::string& what) {
  return fmt::format("{}/run-{:06}-{}.yaml", out, run, what);
}

// Returns the farm's checksum from the begin-of-run record.
std::string recorded_farm(const std::string& out, std::uint32_t run) {
  const std::string text = read_file(record_file(out, run, "begin"));
  const std::string mark = "farm_file: {bytes: ";
  const std::size_t at = text.find("crc32c: \"", text.find(mark));
  return text.substr(at + 9, 8);
}

// Checksums that processes report for one kind of part, by process.
std::map<std::string, std::set<std::string>> ran(const boost::json::value& end_record,
                                                 const std::string& kind) {
  std::map<std::string, std::set<std::string>> found;
  for (const auto& part : end_record.at("ran").as_array()) {
    if (part.at("kind").as_string() == kind)
      found[std::string(part.at("process").as_string())].insert(std::string(part.at("crc32c").as_string()));
  }
  return found;
}

// Every process reports the farm of the record, and every DCM the filter of the record.
void check_records(const std::string& out, std::uint32_t run, const boost::json::value& end_record,
                   const std::vector<std::string>& nodes) {
  const std::string farm_text = read_file(record_file(out, run, "farm"));
  const std::string farm_crc = checksum(farm_text.substr(farm_text.find('\n') + 1));
  CHECK(recorded_farm(out, run) == farm_crc);
  const auto farms = ran(end_record, "farm");
  for (const std::string& node : nodes) {
    INFO(node << " in " << boost::json::serialize(end_record.at("ran")));
    REQUIRE(farms.contains(node));
    CHECK(farms.at(node) == std::set<std::string>{farm_crc});
  }
  const std::string begin = read_file(record_file(out, run, "begin"));
  std::set<std::string> filters;
  for (const auto& [process, checksums] : ran(end_record, "filter plugin"))
    filters.insert(checksums.begin(), checksums.end());
  REQUIRE(filters.size() == 1);
  CHECK_THAT(begin, ContainsSubstring("  crc32c: \"" + *filters.begin() + "\""));
}

std::string busy_farm(const std::string& filter) {
  return "trigger: {mode: rate, rate_hz: 300}\ndcm: {count: 2, credits: 8}\nfilter: {plugin: '" + filter +
         "'}\n";
}

std::string reason_of(const ControlledFarm& farm, const std::string& node) {
  const boost::json::value status = farm.status();
  for (const auto& one : status.at("nodes").as_array()) {
    if (one.at("name").as_string() == node) return std::string(one.at("state").at("reason").as_string());
  }
  return {};
}

}  // namespace

TEST_CASE(
    "a DCM that is restarted with another filter on disk takes no part, and the run continues with one "
    "filter") {
  const TemporaryFolder folder;
  const std::string filter = folder / "filter.so";
  put_plugin("accept-all", filter);
  ControlledFarm farm(folder, busy_farm(filter), kNodes);
  farm.begin_run();
  put_plugin("prescale", filter);
  farm.kill_node("dcm-0");
  farm.start_node("dcm-0");
  const std::string sentence = fmt::format("filter plugin '{0}' has checksum {1}, and the run began with {2}",
                                           filter, checksum(read_file(kPlugins / "prescale.so")),
                                           checksum(read_file(kPlugins / "accept-all.so")));
  INFO(farm.logs());
  REQUIRE(
      wait_until([&] { return reason_of(farm, "dcm-0").find(sentence) != std::string::npos; }, Seconds(30)));
  CHECK(farm.state() == "running");
  CHECK(farm.state_of("dcm-1") == "running");
  CHECK_THAT(farm.events(), ContainsSubstring("dcm-0: " + sentence));
  CHECK_THAT(farm.ctl({"status"}).out, ContainsSubstring(sentence));

  put_plugin("accept-all", filter);
  farm.kill_node("dcm-0");
  farm.start_node("dcm-0");
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "running"; }, Seconds(30)));
  farm.stop_with_faults("dcm-0");
  const boost::json::value record = farm.record(1);
  CHECK(record.at("ledger_balanced").as_bool());
  check_records(farm.out(), 1, record, kNodes);
  CHECK_THAT(boost::json::serialize(record.at("faults")),
             ContainsSubstring("dcm-0 took no part: filter plugin"));
  CHECK(boost::json::parse(read_file(farm.out() + "/runs.jsonl")).at("faults").as_bool());
}

TEST_CASE(
    "another filter that refuses the parameters is refused by its checksum, and holds neither stop nor "
    "start") {
  const TemporaryFolder folder;
  const std::string filter = folder / "filter.so";
  put_plugin("prescale", filter);
  std::string yaml = busy_farm(filter);
  yaml.insert(yaml.rfind('}'), ", parameters: {n: 5}");
  ControlledFarm farm(folder, yaml, kNodes);
  farm.begin_run();
  put_plugin("accept-all", filter);
  farm.kill_node("dcm-0");
  farm.start_node("dcm-0");
  const std::string sentence = fmt::format("filter plugin '{0}' has checksum {1}, and the run began with {2}",
                                           filter, checksum(read_file(kPlugins / "accept-all.so")),
                                           checksum(read_file(kPlugins / "prescale.so")));
  INFO(farm.logs());
  REQUIRE(
      wait_until([&] { return reason_of(farm, "dcm-0").find(sentence) != std::string::npos; }, Seconds(30)));
  CHECK_THAT(farm.events(), ContainsSubstring("dcm-0: " + sentence));
  farm.stop_with_faults("dcm-0");
  CHECK_THAT(boost::json::serialize(farm.record(1).at("faults")),
             ContainsSubstring("dcm-0 took no part: filter plugin"));
  // A process that refuses the next run's start does not hold it up: it is known by then.
  const auto begun = std::chrono::steady_clock::now();
  (void)farm.ctl({"start"});
  CHECK(std::chrono::steady_clock::now() - begun < Seconds(20));
  farm.must({"reset"});
  // With the file back it is led into the next run.
  put_plugin("prescale", filter);
  farm.begin_run();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "running"; }, Seconds(30)));
  farm.stop_good();
}

TEST_CASE(
    "the run after a plugin was replaced is decided by the new file, in processes that had the old one") {
  const TemporaryFolder folder;
  const std::string filter = folder / "filter.so";
  put_plugin("prescale", filter);
  ControlledFarm farm(folder, busy_farm(filter), kNodes);
  for (const std::string name : {"prescale", "accept-all", "prescale", "accept-all"}) {
    put_plugin(name, filter);
    if (farm.state() == "ready") {
      farm.must({"configure"});
      farm.must({"start"});
    } else {
      farm.begin_run();
    }
    const auto triggered = [&] {
      const std::string text = farm.ctl({"status"}).out;
      const std::size_t at = text.find(" triggered");
      return at == std::string::npos ? 0 : std::stoi(text.substr(text.rfind(' ', at - 1) + 1));
    };
    REQUIRE(wait_until([&] { return triggered() > 50; }, Seconds(30)));
    farm.stop_good();
    const std::uint32_t run = static_cast<std::uint32_t>(farm.status().at("run").to_number<int>());
    const boost::json::value record = farm.record(run);
    INFO(run << " " << name);
    CHECK((record.at("rejected").to_number<int>() == 0) == (name == "accept-all"));
  }
}

TEST_CASE("weir run ends with status 3 if a restarted process would have run another filter") {
  const TemporaryFolder folder;
  const std::string filter = folder / "filter.so";
  put_plugin("accept-all", filter);
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"trigger.mode=rate", "trigger.rate_hz=500", "readout.count=2", "dcm.count=2",
                    "filter.plugin=" + filter, "run.restarts_max=1"}));
  REQUIRE(run.wait_for_data(100'000));
  put_plugin("prescale", filter);
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  REQUIRE(run.wait_for_log("dcm-0", "and the run began with"));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK_THAT(boost::json::serialize(end.summary.json().at("faults")),
             ContainsSubstring("and the run began with"));
  check_records(run.out(), 1, end.summary.json(),
                {"supervisor", "writer-0", "readout-0", "readout-1", "dcm-1"});
}

TEST_CASE("a worker that dies after its plugin was replaced is replaced by one with the run's plugin") {
  const TemporaryFolder folder;
  const std::string filter = folder / "filter.so";
  put_plugin("accept-all", filter);
  FarmRun run(folder, config_file("event-building.yaml"),
              sets({"trigger.mode=rate", "trigger.rate_hz=500", "readout.count=2", "dcm.count=2",
                    "filter.plugin=" + filter, "filter.isolation=worker", "filter.workers.count=1",
                    "filter.workers.spare=0", "filter.workers.start_timeout_ms=20000",
                    "supervisor.lease_ms=120000"}));
  REQUIRE(run.wait_for_data(100'000));
  put_plugin("prescale", filter);
  const pid_t dcm = run.pid_of("dcm-0");
  const auto child = [dcm] {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", dcm));
    pid_t worker = 0;
    children >> worker;
    return worker;
  };
  const pid_t worker = child();
  REQUIRE((worker > 0 && ::kill(worker, SIGKILL) == 0));
  REQUIRE(wait_until([&] { return child() != worker && child() > 0; }, Seconds(30)));
  const std::uint64_t before = run.data_bytes();
  REQUIRE(wait_until([&] { return run.data_bytes() > before + 100'000; }, Seconds(30)));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.json().at("faults").as_array().empty());
  CHECK(end.summary.count("filter_workers.restarts") == 1);
  CHECK(end.summary.count("rejected") == 0);
  check_records(run.out(), 1, end.summary.json(),
                {"supervisor", "writer-0", "readout-0", "readout-1", "dcm-0", "dcm-1"});
}

TEST_CASE("a readout that is restarted takes no part if its recording has other bytes than the run's") {
  const TemporaryFolder folder;
  const std::string data = folder / "data.bin";
  std::ofstream(data) << "abcdefabcdefABCDEFABCDEF";
  folder.write("index.json",
               R"({"hit_bytes": 6, "slices": [{"slice": 0, "utc_s": 1, "utc_ns": 0, "file": "data.bin",
    "bytes": 24, "fragments": [{"source": 1, "offset": 0, "hits": 2}, {"source": 2, "offset": 12, "hits": 2}]}]})");
  ControlledFarm farm(folder,
                      "trigger: {mode: rate, rate_hz: 200}\nsource: {kind: replay}\nreplay: {path: '" +
                          folder.path().string() + "'}\nreadout: {count: 1}\ndcm: {count: 2}\n",
                      kNodes);
  farm.begin_run();
  std::ofstream(data) << "abcdefabcdefABCDEFABCDEf";
  farm.kill_node("readout-0");
  farm.start_node("readout-0");
  INFO(farm.logs());
  REQUIRE(wait_until([&] { return reason_of(farm, "readout-0").find("recording '") != std::string::npos; },
                     Seconds(30)));
  CHECK_THAT(reason_of(farm, "readout-0"), ContainsSubstring("and the run began with"));
  std::ofstream(data) << "abcdefabcdefABCDEFABCDEF";
  farm.kill_node("readout-0");
  farm.start_node("readout-0");
  REQUIRE(wait_until([&] { return farm.state_of("readout-0") == "running"; }, Seconds(30)));
  farm.stop_with_faults("readout-0");
  check_records(farm.out(), 1, farm.record(1), kNodes);
  const std::string begin = read_file(record_file(farm.out(), 1, "begin"));
  CHECK_THAT(begin, ContainsSubstring("recordings:\n  - path: \"" + folder.path().string() + "\""));
  CHECK_THAT(begin, ContainsSubstring("{name: \"data.bin\", bytes: 24, modified: ") &&
                        ContainsSubstring(checksum("abcdefabcdefABCDEFABCDEF")));
}

TEST_CASE(
    "editing the farm file neither keeps a process out of the current run nor changes the run's setti") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, busy_farm("accept-all"), kNodes);
  farm.begin_run();
  std::string text = read_file(farm.farm_file());
  text.replace(text.find("credits: 8"), 10, "credits: 3");
  std::ofstream(farm.farm_file()) << text;
  for (const std::string name : {"dcm-0", "writer-0", "readout-0", "supervisor"}) {
    farm.kill_node(name);
    REQUIRE(wait_until([&] { return farm.state_of(name) == "gone"; }, Seconds(30)));
    farm.start_node(name);
    INFO(name << "\n" << farm.logs());
    REQUIRE(wait_until([&] { return farm.state_of(name) == "running"; }, Seconds(30)));
  }
  farm.kill_run_control();
  farm.start_run_control();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(30)));
  farm.kill_node("dcm-1");
  farm.start_node("dcm-1");
  REQUIRE(wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(30)));
  farm.stop_with_faults("was lost");
  check_records(farm.out(), 1, farm.record(1), kNodes);
  CHECK_THAT(read_file(record_file(farm.out(), 1, "farm")), ContainsSubstring("credits: 8"));
  farm.must({"configure"});
  farm.must({"start"});
  farm.stop_good();
  CHECK_THAT(read_file(record_file(farm.out(), 2, "farm")), ContainsSubstring("credits: 3"));
}

TEST_CASE("sources of a recording that is overwritten in mid-run are named, and the run ends with status 3") {
  const TemporaryFolder folder;
  const std::vector<std::string> sources =
      sets({"readout.count=1", "readout.sources_per_readout=2", "source.distribution=fixed"});
  std::vector<std::string> recorded = sources;
  recorded.insert(recorded.end(), {"--slices", "300"});
  FarmRun recording(folder, config_file("event-building.yaml"), recorded, folder / "recording");
  const FarmEnd record = recording.finish();
  CHECK_BALANCED(record, 0);
  REQUIRE(record.summary.files().size() == 1);

  std::vector<std::string> replayed =
      sets({"trigger.mode=rate", "trigger.rate_hz=500", "readout.count=1", "readout.sources_per_readout=2",
            "replay.path=" + (folder / "recording")});
  FarmRun run(folder, config_file("replay.yaml"), replayed);
  REQUIRE(run.wait_for_data(100'000));
  {
    std::fstream file(record.summary.files().front(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::streamoff>(fs::file_size(record.summary.files().front()));
    for (std::streamoff at = 10'000; at < size - 10'000; at += 500) {
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 1));
    }
    REQUIRE(file.good());
  }
  const std::uint64_t before = run.data_bytes();
  REQUIRE(wait_until([&] { return run.data_bytes() > before + 1'000'000; }, Seconds(60)));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("fragments.corrupt") > 100);
  CHECK_THAT(boost::json::serialize(end.summary.json().at("faults")),
             ContainsSubstring("source 1: ") && ContainsSubstring("source 2: ") &&
                 ContainsSubstring("fragments that reached it are damaged (corrupt "));
}

TEST_CASE("keys set after configure are in no record, are shown as pending, and can be unset") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, busy_farm("accept-all"), kNodes);
  farm.make_ready();
  farm.must({"set", "dcm.credits=5"});
  CHECK_THAT(farm.ctl({"status"}).out, ContainsSubstring("dcm.credits=5  by set, from the next configure"));
  farm.must({"start"});
  farm.stop_good();
  check_records(farm.out(), 1, farm.record(1), kNodes);
  CHECK_THAT(read_file(record_file(farm.out(), 1, "farm")), ContainsSubstring("credits: 8"));
  farm.must({"configure", "--set", "run.checksums=false"});
  CHECK_THAT(farm.ctl({"status"}).out, ContainsSubstring("dcm.credits=5  by set\n") &&
                                           ContainsSubstring("run.checksums=false  by configure\n"));
  farm.must({"start"});
  farm.stop_good();
  CHECK_THAT(read_file(record_file(farm.out(), 2, "farm")), ContainsSubstring("credits: 5"));
  CHECK(farm.ctl({"unset", "dcm.credit"}).status == 1);
  farm.must({"unset", "--all"});
  farm.must({"configure"});
  CHECK_THAT(farm.ctl({"status"}).out, !ContainsSubstring("by set") && !ContainsSubstring("by configure"));
  farm.must({"start"});
  farm.stop_good();
  CHECK_THAT(read_file(record_file(farm.out(), 3, "farm")),
             ContainsSubstring("credits: 8") && ContainsSubstring("checksums: true"));
}

namespace {

// Model of the expected configuration after a sequence of operator commands.
struct Model {
  using Keys = std::map<std::string, std::string>;
  std::string file_credits = "8";
  Keys wanted;
  std::string configured_credits = "8";
  Keys configured;

  void configure() {
    configured = wanted;
    configured_credits = file_credits;
  }
  [[nodiscard]] std::string value(const std::string& key, const std::string& usual) const {
    const auto set = configured.find(key);
    return set == configured.end() ? usual : set->second;
  }
};

class RandomOperator {
 public:
  RandomOperator(const ControlledFarm& farm, std::uint64_t seed) : farm_(farm), random_(seed) {}

  void act() {
    switch (pick(5)) {
      case 0:
        return set();
      case 1:
        return unset();
      case 2:
        return configure();
      case 3:
        return edit();
      default:
        farm_.must({"unset", "--all"});
        model_.wanted.clear();
    }
  }
  void set() {
    const auto [key, value] = any_key();
    farm_.must({"set", key + "=" + value});
    model_.wanted[key] = value;
  }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] std::size_t pick(std::size_t below) { return random_() % below; }

 private:
  std::pair<std::string, std::string> any_key() {
    const std::string value = std::to_string(2 + pick(30));
    return {pick(2) == 0 ? "dcm.credits" : "run.drain_timeout_s", value};
  }
  void unset() {
    const std::string key = any_key().first;
    const int status = farm_.ctl({"unset", key}).status;
    CHECK(status == (model_.wanted.erase(key) > 0 ? 0 : 1));
  }
  void configure() {
    std::vector<std::string> words{"configure"};
    if (pick(2) == 0) {
      const auto [key, value] = any_key();
      words.insert(words.end(), {"--set", key + "=" + value});
      model_.wanted[key] = value;
    }
    farm_.must(words);
    model_.configure();
  }
  void edit() {
    std::string text = read_file(farm_.farm_file());
    const std::string before = "credits: " + model_.file_credits;
    model_.file_credits = std::to_string(2 + pick(30));
    text.replace(text.find(before), before.size(), "credits: " + model_.file_credits);
    std::ofstream(farm_.farm_file()) << text;
  }

  const ControlledFarm& farm_;
  std::mt19937_64 random_;
  Model model_;
};

}  // namespace

TEST_CASE(
    "each of twenty runs' records equals the settings of its processes, whatever operators change in "
    "between") {
  const char* asked = std::getenv("WEIR_SEED");
  const std::uint64_t seed = asked == nullptr ? 1 : std::strtoull(asked, nullptr, 10);
  INFO("WEIR_SEED=" << seed);
  const TemporaryFolder folder;
  ControlledFarm farm(folder, busy_farm("accept-all"), kNodes);
  farm.make_ready();
  RandomOperator changes(farm, seed);
  for (std::uint32_t run = 1; run <= 20; ++run) {
    for (std::size_t i = changes.pick(4); i > 0; --i) changes.act();
    farm.must({"start", "--slices", std::to_string(10 + run)});
    if (changes.pick(3) == 0) changes.set();
    const boost::json::value record = farm.record(run);
    REQUIRE(wait_until([&] { return farm.state() == "ready"; }, Seconds(30)));
    INFO("run " << run << "\n" << farm.logs());
    check_records(farm.out(), run, record, kNodes);
    const auto read = config::load_farm(record_file(farm.out(), run, "farm"));
    REQUIRE(read);
    const Model& model = changes.model();
    CHECK(std::to_string(read->farm.dcm().credits()) == model.value("dcm.credits", model.configured_credits));
    CHECK(fmt::format("{}", read->farm.run().drain_timeout_s()) == model.value("run.drain_timeout_s", "10"));
    CHECK(read->farm.run().slices() == 10 + run);
    CHECK(read->farm.run().number() == run);
  }
}

TEST_CASE(
    "weir up begins with the farm file, and starts a process again although that file is broken by now") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("farm.yaml", "run: {out: '" + (folder / "out") +
                                    "'}\ntrigger: {mode: rate, rate_hz: 200}\ndcm: {count: 2, credits: 8}\n");
  const auto up = [&](const std::string& name) {
    auto process =
        std::make_unique<Process>(std::vector<std::string>{std::string(WEIR_BIN_DIR) + "/weir", "up", file},
                                  folder / (name + ".out"), folder / (name + ".err"));
    REQUIRE(wait_until([&] { return process->out().find(" status\n") != std::string::npos; }, Seconds(60)));
    return process;
  };
  std::string at;
  const auto ctl = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"ctl", "--connect", at, "--timeout", "20"});
    return run_command(folder, "weir", words);
  };
  const auto place = [](const Process& process) {
    const std::size_t from = process.out().find("--connect ") + 10;
    return process.out().substr(from, process.out().find(' ', from) - from);
  };
  const auto state_of = [&](const std::string& node) {
    const boost::json::value farm = boost::json::parse(ctl({"--json", "status"}).out);
    for (const auto& one : farm.at("nodes").as_array()) {
      if (one.at("name").as_string() == node && one.at("live").as_bool())
        return std::string(one.at("state").at("state").as_string());
    }
    return std::string("gone");
  };
  const auto first = up("first");
  at = place(*first);
  REQUIRE(ctl({"init"}).status == 0);
  REQUIRE(ctl({"configure", "--set", "dcm.credits=5"}).status == 0);
  REQUIRE(ctl({"start"}).status == 0);
  const std::string text = read_file(file);
  std::ofstream(file) << "dcm: {count: many\n";
  const auto pid_of = [&](const std::string& node) {
    const boost::json::value farm = boost::json::parse(ctl({"--json", "status"}).out);
    for (const auto& one : farm.at("nodes").as_array()) {
      if (one.at("name").as_string() == node) return one.at("pid").to_number<std::int64_t>();
    }
    return std::int64_t{0};
  };
  const std::int64_t before = pid_of("dcm-0");
  REQUIRE(ctl({"kill", "dcm-0"}).status == 0);
  REQUIRE(
      wait_until([&] { return pid_of("dcm-0") != before && state_of("dcm-0") == "running"; }, Seconds(60)));
  std::ofstream(file) << text;
  // As after a crash of the machine: without any cleanup.
  REQUIRE(ctl({"stop"}).status == kStoppedWithFaults);  // dcm-0 died
  first->send_signal(SIGKILL);
  (void)first->wait(Seconds(30));
  REQUIRE(wait_until([&] { return processes_naming(folder.path().string()).empty(); }, Seconds(60)));

  const auto second = up("second");
  at = place(*second);
  CHECK_THAT(ctl({"status"}).out, !ContainsSubstring("dcm.credits=5"));
  REQUIRE(wait_until([&] { return state_of("dcm-1") == "ready" || ctl({"init"}).status == 0; }, Seconds(60)));
  REQUIRE(ctl({"configure"}).status == 0);
  REQUIRE(ctl({"start"}).status == 0);
  REQUIRE(ctl({"stop"}).status == 0);
  CHECK_THAT(read_file(record_file(folder / "out", 1, "farm")), ContainsSubstring("credits: 5"));
  CHECK_THAT(read_file(record_file(folder / "out", 2, "farm")), ContainsSubstring("credits: 8"));
  REQUIRE(ctl({"off"}).status == 0);
  CHECK(second->wait(Seconds(60)) == 0);
}
