// Compares the metrics that real nodes export over HTTP with docs/metrics.md, in both directions.
#include "farm_run.hpp"
#include "weir_catch.hpp"
#include <weir/http/client.hpp>
#include <weir/metrics/table.hpp>

#include <boost/json.hpp>

#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::ContainsSubstring;

constexpr const char* kMark = "metrics url=";

// "weir_x" -> "counter", as `# TYPE` says it.
using Kinds = std::map<std::string, std::string>;

std::string url_of(const FarmRun& run, const std::string& node) {
  REQUIRE(run.wait_for_log(node, kMark));
  const std::string log = run.log(node);
  const std::size_t begin = log.find(kMark) + std::string(kMark).size();
  return log.substr(begin, log.find_first_of(" \n", begin) - begin);
}

std::string scrape(const std::string& url) {
  const auto got = http::get(url);
  return got && got->status == 200 ? got->body : std::string();
}

void add_kinds(const std::string& text, Kinds& kinds) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string type;
    std::string name;
    std::string kind;
    if (words >> hash >> type >> name >> kind; type == "TYPE") kinds[name] = kind;
  }
}

Kinds documented() {
  Kinds kinds;
  std::istringstream lines(read_file(WEIR_SOURCE_DIR "/docs/metrics.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `weir_")) continue;
    const std::size_t end = line.find('`', 3);
    const std::size_t kind = end + 4;
    kinds[line.substr(3, end - 3)] = line.substr(kind, line.find(' ', kind) - kind);
  }
  return kinds;
}

// Scrapes one node of each role in an open-ended run, once slices have been decided.
void scrape_farm(const TemporaryFolder& folder, const std::string& farm_file, Kinds& kinds) {
  FarmRun run(folder, farm_file,
              sets({"metrics.listen=127.0.0.1:0", "supervisor.status_interval_ms=50", "log.level=info"}));
  const std::string dcm = url_of(run, "dcm-0");
  CHECK(wait_until([&] { return scrape(dcm).find("weir_slice_decision_seconds_count") != std::string::npos; },
                   Seconds(30)));
  for (const char* node : {"supervisor", "writer-0", "dcm-0", "readout-0"}) {
    const std::string url = url_of(run, node);
    CHECK(wait_until([&] { return scrape(url).find("weir_report_age_seconds") != std::string::npos; },
                     Seconds(30)));
    const std::string text = scrape(url);
    CHECK_THAT(text, ContainsSubstring("node=\"" + std::string(node) + "\""));
    add_kinds(text, kinds);
  }
  run.process().send_signal(SIGINT);
  CHECK(run.finish().summary.balanced());
}

std::uint64_t number_at_end(const std::string& line) { return std::stoull(line.substr(line.rfind(' ') + 1)); }

constexpr const char* kSmall =
    "supervisor: {lease_ms: 60000}\n"
    "dcm: {count: 1, deadline_ms: 20000, grace_ms: 20000}\n"
    "writer: {count: 1}\n";

// A metric that occurs in no farm here still has its key in the sources of the nodes.
bool in_sources(std::string_view key) {
  const std::string quoted = "\"" + std::string(key);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WEIR_SOURCE_DIR "/apps")) {
    if (entry.path().extension() == ".cpp" && read_file(entry.path()).find(quoted) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every metric that nodes export is in the document, and every one in the document is exported") {
  Kinds exported;
  {
    const TemporaryFolder folder;
    scrape_farm(folder,
                folder.write("pull.yaml", std::string("farm: pull\ntrigger: {mode: rate, rate_hz: 200}\n"
                                                      "readout: {count: 1, sources_per_readout: 2}\n"
                                                      "filter: {plugin: accept-all}\n") +
                                              kSmall),
                exported);
  }
  {
    const TemporaryFolder folder;
    scrape_farm(folder,
                folder.write("push.yaml", std::string("farm: push\nrun: {mode: push}\n"
                                                      "trigger: {mode: clock, slice_ms: 5}\n"
                                                      "readout: {count: 1, sources_per_readout: 2}\n"
                                                      "filter: {plugin: accept-all}\n") +
                                              kSmall),
                exported);
  }
  {
    const TemporaryFolder folder;
    scrape_farm(
        folder,
        folder.write("udp.yaml",
                     std::string("farm: udp\ntrigger: {mode: rate, rate_hz: 100}\n"
                                 "source: {kind: udp, wait_ms: 20, parameters: {port: \"0\"}}\n"
                                 "readout: {count: 1, sources_per_readout: 2}\n"
                                 "filter: {plugin: accept-all, isolation: worker, timeout_ms: 5000}\n") +
                         kSmall),
        exported);
  }
  const Kinds document = documented();
  CHECK(document.size() > 100);
  for (const auto& [name, kind] : exported) {
    INFO(name << " is exported; libs/foundation/metrics/include/weir/metrics/table.hpp describes metrics");
    CHECK(document.contains(name));
    if (document.contains(name)) CHECK(document.at(name) == kind);
  }
  std::set<std::string> rare;
  for (const metrics::Entry& entry : metrics::kTable) {
    if (entry.rare && in_sources(entry.key)) rare.insert(std::string(entry.name));
  }
  for (const auto& [name, kind] : document) {
    INFO(name << " is in docs/metrics.md");
    CHECK((exported.contains(name) || rare.contains(name)));
  }
}

TEST_CASE("the first readout of kind hits counts true tracks in settled slices and in stored ones") {
  for (const bool all : {true, false}) {
    const TemporaryFolder folder;
    FarmRun run(folder,
                folder.write("hits.yaml", std::string("farm: hits\ntrigger: {mode: clock, slice_ms: 10}\n"
                                                      "source: {kind: hits}\nhits: {track_rate_hz: 200}\n"
                                                      "readout: {count: 2, sources_per_readout: 8}\n") +
                                              "filter: {plugin: multiplicity, parameters: {minimum: " +
                                              (all ? "1" : "1000000") + "}}\n" + kSmall),
                sets({"metrics.listen=127.0.0.1:0", "supervisor.status_interval_ms=50", "log.level=info"}));
    const std::string url = url_of(run, "readout-0");
    const auto sums = [&] {
      std::map<std::string, std::uint64_t> found;
      std::istringstream lines(scrape(url));
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("weir_truth_")) found[line.substr(0, line.find('{'))] += number_at_end(line);
      }
      return found;
    };
    CHECK(wait_until([&] { return sums()["weir_truth_tracks_total"] > 20; }, Seconds(30)));
    std::map<std::string, std::uint64_t> counted = sums();
    CHECK(counted["weir_truth_stored_tracks_total"] == (all ? counted["weir_truth_tracks_total"] : 0));
    CHECK(scrape(url_of(run, "readout-1")).find("weir_truth_") == std::string::npos);
    run.process().send_signal(SIGINT);
    CHECK(run.finish().summary.balanced());
  }
}

TEST_CASE(
    "processes serve their metrics at ports in the order of the plan, and a port that is taken costs no "
    "run") {
  const TemporaryFolder folder;
  const std::string farm =
      folder.write("ports.yaml", std::string("farm: ports\ntrigger: {mode: rate, rate_hz: 200}\n"
                                             "filter: {plugin: accept-all}\n") +
                                     kSmall);
  // The system finds a free port, which another process may take before the farm does; hence several
  // attempts.
  for (int attempt = 0; attempt < 5; ++attempt) {
    const TemporaryFolder outer;
    const auto base = static_cast<unsigned>(20000 + (::getpid() * 7 + attempt * 101) % 9000);
    FarmRun run(outer, farm, sets({"metrics.listen=127.0.0.1:" + std::to_string(base), "run.slices=100"}));
    const FarmEnd end = run.finish();
    CHECK_BALANCED(end, 0);
    const std::string dcm = run.log("dcm-0");
    if (dcm.find("no metrics reason=") != std::string::npos) continue;
    CHECK_THAT(run.log("supervisor"), ContainsSubstring(":" + std::to_string(base) + "/metrics"));
    CHECK_THAT(run.log("writer-0"), ContainsSubstring(":" + std::to_string(base + 1) + "/metrics"));
    CHECK_THAT(dcm, ContainsSubstring(":" + std::to_string(base + 2) + "/metrics"));
    CHECK_THAT(run.log("readout-0"), ContainsSubstring(":" + std::to_string(base + 3) + "/metrics"));
    return;
  }
  FAIL("no four ports in a row are free");
}

TEST_CASE("weir top shows a process from its metrics, once on request, and reports if it does not exist") {
  const TemporaryFolder folder;
  FarmRun run(folder,
              folder.write("top.yaml", std::string("farm: top\ntrigger: {mode: rate, rate_hz: 200}\n"
                                                   "filter: {plugin: accept-all}\n") +
                                           kSmall),
              sets({"metrics.listen=127.0.0.1:0", "supervisor.status_interval_ms=50"}));
  const std::string url = url_of(run, "dcm-0");
  CHECK(wait_until([&] { return scrape(url).find("weir_report_age_seconds") != std::string::npos; },
                   Seconds(30)));
  const CommandEnd looked = run_command(folder, "weir", {"top", url, "--once", "--interval", "0.5"});
  CHECK(looked.status == 0);
  CHECK_THAT(looked.out, ContainsSubstring("1 process") && ContainsSubstring("dcm-0"));
  run.process().send_signal(SIGINT);
  CHECK(run.finish().summary.balanced());
  const CommandEnd gone = run_command(folder, "weir", {"top", url, "--once"});
  CHECK(gone.status == 1);
  CHECK_THAT(gone.err, ContainsSubstring(url + ": not_connected"));
  CHECK(run_command(folder, "weir", {"top", "--once", "--targets"}).status == 2);
}

TEST_CASE("weir top shows all processes of a run with their rates, at the address that weir run prints") {
  const TemporaryFolder folder;
  FarmRun run(folder,
              folder.write("top.yaml", std::string("farm: top\ntrigger: {mode: rate, rate_hz: 200}\n"
                                                   "filter: {plugin: accept-all}\n") +
                                           kSmall),
              sets({"supervisor.status_interval_ms=50"}));
  REQUIRE(run.wait_for_data(100'000));
  const std::string at = run.control_at();
  const CommandEnd looked =
      run_command(folder, "weir", {"top", "--once", "--interval", "0.5", "--connect", at});
  INFO(looked.out << looked.err);
  CHECK(looked.status == 0);
  CHECK_THAT(looked.out, ContainsSubstring("farm top: running, run 1: "));
  for (const char* name : {"supervisor ", "readout-0 ", "dcm-0 "}) {
    const std::size_t line = looked.out.find(name);
    REQUIRE(line != looked.out.npos);
    // Its pid, its state, and slices a second.
    std::istringstream words(looked.out.substr(line));
    std::string process;
    std::string pid;
    std::string state;
    double slices_per_s = 0;
    words >> process >> pid >> state >> slices_per_s;
    CHECK(state == "running");
    CHECK(slices_per_s > 0);
  }
  run.process().send_signal(SIGINT);
  CHECK(run.finish().summary.balanced());
  const CommandEnd gone = run_command(folder, "weir", {"top", "--once", "--connect", at});
  CHECK(gone.status == 1);
  CHECK_THAT(gone.err, ContainsSubstring("does not answer"));
}

TEST_CASE("the page of one run shows every entry of its histograms before it ends") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), [] {
    std::vector<std::string> words =
        sets({"trigger.mode=rate", "trigger.rate_hz=400", "readout.count=2",
              std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/stumbles.so"});
    words.insert(words.end(), {"--slices", "600", "--page", "127.0.0.1:0"});
    return words;
  }());
  const std::string mark = "page http://";
  REQUIRE(wait_until([&] { return run.process().out().find(mark) != std::string::npos; }, Seconds(30)));
  const std::string said = run.process().out().substr(run.process().out().find(mark) + 5);
  const std::string url = said.substr(0, said.find_first_of(" \n")) + "api/histograms";
  std::string last;
  for (std::string now = scrape(url); !now.empty(); now = scrape(url)) last = std::move(now);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  const auto entries = [](const std::string& document) {
    return boost::json::parse(document).at("histograms").at(0).at("entries").to_number<std::uint64_t>();
  };
  CHECK(entries(last) == 600);
  CHECK(entries(last) == entries(read_file(folder / "out/run-000001-histograms.json")));
}
