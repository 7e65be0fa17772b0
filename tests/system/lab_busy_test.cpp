// Tests of labs with disturbances: busy, slow, paused, lossy and changing hosts; all of it is undone at the
// end. Needs root; without it ctest shows SKIPPED.
#include "farm_run.hpp"
#include "needs_root.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

namespace fs = std::filesystem;
namespace json = boost::json;

// Eight readouts of 16 kB each and a DCM behind a port of 50 Mb/s; nothing is stored.
std::vector<std::string> incast(std::vector<std::string> more) {
  std::vector<std::string> arguments{"--lab", config_file("lab/star-8.yaml"),
                                     "--set", "source.size_bytes=16384",
                                     "--set", "lab.port_rate=50mbit"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

double number(const json::value& object, const char* key) { return object.at(key).to_number<double>(); }

const json::value& only(const FarmEnd& end, const char* list) {
  const json::array& entries = end.summary.json().at(list).as_array();
  INFO(describe(end));
  REQUIRE(entries.size() == 1);
  return entries.front();
}

// Returns the direct children of a process, found by the parent field in `/proc`.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code none;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(parent) + "/task", none)) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid = 0; list >> pid;) children.push_back(pid);
  }
  return children;
}

// Forked by `weir run` and not become another program: spinners.
std::vector<pid_t> spinners_of(pid_t parent) {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/" + std::to_string(parent) + "/exe", none);
  std::vector<pid_t> spinners;
  for (const pid_t pid : children_of(parent)) {
    if (fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", none) == program) spinners.push_back(pid);
  }
  return spinners;
}

// Returns the state letter, "T" for stopped; it follows the name, which is in brackets.
char state_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t bracket = text.rfind(')');
  return bracket == text.npos ? '-' : text[bracket + 2];
}

std::size_t stopped_children(pid_t parent) {
  std::size_t stopped = 0;
  for (const pid_t pid : children_of(parent)) stopped += state_of(pid) == 'T' ? 1 : 0;
  return stopped;
}

// Control groups that labs of this process have made.
std::size_t groups_of(pid_t pid) {
  std::size_t found = 0;
  for (const char* folder : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      found += entry.path().filename().string().starts_with("weir-" + std::to_string(pid) + "-") ? 1 : 0;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a host pauses as its lab sets, and continues when the run ends") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("incast-8to1.yaml"),
              incast({"--duration", "3", "--set", "lab.host_count=9", "--set",
                      "lab.hosts=[{name: h0, pause: {every_ms: 500, for_ms: 200}}]"}));
  const auto begun = std::chrono::steady_clock::now();
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  CHECK(wait_until([&] { return stopped_children(run.process().pid()) == 1; }, Seconds(10)));
  CHECK(wait_until([&] { return stopped_children(run.process().pid()) == 0; }, Seconds(10)));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  const json::value& host = only(end, "disturbed");
  CHECK(host.at("host").as_string() == "h0");
  const Seconds lasted = std::chrono::steady_clock::now() - begun;
  // Two pauses a second until the end is seen; each lasts at least as long as set.
  CHECK(number(host, "pauses") >= 4);
  CHECK(number(host, "pauses") <= 2 * lasted.count() + 1);
  CHECK(number(host, "paused_s") >= 0.19 * (number(host, "pauses") - 1));
  CHECK(number(host, "paused_s") <= 0.4 * number(host, "pauses"));
  CHECK(end.summary.count("latency_us.max") >= 150'000);
}

TEST_CASE("a run that is told to stop while a host pauses ends well") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("incast-8to1.yaml"),
              incast({"--duration", "60", "--set", "lab.host_count=9", "--set",
                      "lab.hosts=[{name: h0, pause: {every_ms: 500, for_ms: 490}}]"}));
  REQUIRE(run.wait_for_log("supervisor", "run began"));
  REQUIRE(wait_until([&] { return stopped_children(run.process().pid()) == 1; }, Seconds(5)));
  run.process().send_signal(SIGINT);
  CHECK_BALANCED(run.finish(), 0);
}

TEST_CASE("spinners are bound to cores, and gone after the run and when weir run is killed") {
  NEEDS_ROOT();
  for (const int signal : {SIGKILL, SIGINT}) {
    const TemporaryFolder folder;
    FarmRun run(folder, config_file("incast-8to1.yaml"),
                incast({"--duration", "60", "--set", "lab.cpu_load=2"}));
    REQUIRE(run.wait_for_log("supervisor", "run began"));
    const std::vector<pid_t> spinners = spinners_of(run.process().pid());
    CHECK(spinners.size() == 2);
    for (const pid_t pid : spinners) {
      cpu_set_t set;
      CPU_ZERO(&set);
      REQUIRE(::sched_getaffinity(pid, sizeof set, &set) == 0);
      CHECK(CPU_COUNT(&set) == 1);
    }
    run.process().send_signal(signal);
    if (signal == SIGINT) {
      const FarmEnd end = run.finish();
      CHECK_BALANCED(end, 0);
      CHECK(end.summary.count("lab.cpu_load") == 2);
      CHECK(number(end.summary.json().at("lab"), "cpu_load_s") > 0);
    }
    (void)run.process().wait(Seconds(20));
    CHECK(wait_until([&] { return run.processes() == 0; }, Seconds(10)));
  }
}

TEST_CASE("a host with a share of a core is held back, and no control group stays, also after a kill") {
  NEEDS_ROOT();
  for (const int signal : {0, SIGKILL}) {
    const TemporaryFolder folder;
    FarmRun run(folder, config_file("incast-8to1.yaml"),
                incast({"--duration", signal == 0 ? "3" : "60", "--set", "lab.host_count=9", "--set",
                        "lab.port_rate=unlimited", "--set", "lab.hosts=[{name: h0, cpu_share: 0.02}]"}));
    REQUIRE(run.wait_for_log("supervisor", "run began"));
    const pid_t pid = run.process().pid();
    if (signal == 0) {
      const FarmEnd end = run.finish();
      CHECK_BALANCED(end, 0);
      const json::value& host = only(end, "disturbed");
      CHECK(number(host, "cpu_share") == 0.02);
      CHECK(number(host, "held_s") > 0.5);
    } else {
      run.process().send_signal(signal);
      (void)run.process().wait(Seconds(20));
    }
    CHECK(wait_until([&] { return run.processes() == 0; }, Seconds(10)));
    CHECK(wait_until([&] { return groups_of(pid) == 0; }, Seconds(10)));
  }
}

TEST_CASE("a port that changes carries no more than its new rate") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(
      folder, config_file("incast-8to1.yaml"),
      incast({"--duration", "4", "--set", "supervisor.in_flight_max=8", "--set",
              "lab.changes=[{at_s: 1, host: h8, port_rate: 5mbit, port_buffer: 50k}, {at_s: 3, host: h8, "
              "port_rate: 50mbit}]"}));
  CHECK_BALANCED(end, 0);
  const json::array& changes = end.summary.json().at("changes").as_array();
  REQUIRE(changes.size() == 2);
  CHECK(number(changes[0], "at_s") == Approx(1).margin(0.3));
  CHECK(number(changes[0], "rate_bits_per_s") == 5e6);
  CHECK(number(changes[1], "buffer_bytes") == 50 * 1024);
  CHECK(changes[0].at("failure").as_string().empty());
  for (const json::value& port : end.summary.json().at("ports").as_array()) {
    if (port.at("name").as_string() != "switch>h8") continue;
    // One second plus the end at 50 Mb/s, two seconds at 5 Mb/s; the end is seen within 0.5 s.
    CHECK(number(port, "bytes") < (2.5 * 50e6 + 2 * 5e6) / 8);
    CHECK(number(port, "bytes") > 2 * 5e6 / 8);
    CHECK(number(port, "use") < 1.1);
  }
}

TEST_CASE("frames are lost at random, counted, and sent again") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"),
                               incast({"--slices", "150", "--set", "lab.host_count=10", "--set",
                                       "lab.hosts=[{name: store, nodes: [dcm-0], loss: 0.01}]"}));
  CHECK_BALANCED(end, 0);
  const json::value& host = only(end, "disturbed");
  // 150 slices are 13 600 frames and more.
  CHECK(number(host, "frames_lost") > 60);
  CHECK(number(host, "frames_lost") < 400);
  CHECK(end.summary.count("retransmits") >= 30);
  CHECK(end.summary.count("port_drops") < end.summary.count("retransmits"));
}

TEST_CASE("a slow card limits what its host takes from a faster port, and counts its drops") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("incast-8to1.yaml"),
               incast({"--slices", "60", "--set", "dcm.shaper=none", "--set", "dcm.credits=2", "--set",
                       "dcm.deadline_ms=20000", "--set", "lab.nic_buffer=20k", "--set", "lab.host_count=10",
                       "--set", "lab.hosts=[{name: store, nodes: [dcm-0], nic_rate: 40mbit}]"}));
  CHECK_BALANCED(end, 0);
  std::size_t cards = 0;
  for (const json::value& port : end.summary.json().at("ports").as_array()) {
    if (port.at("name").as_string() != "nic>store") continue;
    ++cards;
    CHECK(number(port, "rate_bits_per_s") == 40e6);
    CHECK(number(port, "drops") > 0);
    CHECK(number(port, "bytes") > 60 * 8 * 16'384);  // all slices went through it
    CHECK(number(port, "busiest_use") < 1.05);
  }
  CHECK(cards == 1);
}

TEST_CASE("bit errors lose frames at the rate of their bits, and every slice is built") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("incast-8to1.yaml"),
               incast({"--slices", "300", "--set", "lab.port_rate=200mbit", "--set", "lab.host_count=10",
                       "--set", "lab.hosts=[{name: store, nodes: [dcm-0], bit_errors: 0.000001}]"}));
  CHECK_BALANCED(end, 0);
  const json::value& host = only(end, "disturbed");
  double bytes = 0;
  for (const json::value& port : end.summary.json().at("ports").as_array()) {
    if (port.at("name").as_string() == "switch>store") bytes = number(port, "bytes");
  }
  // Some 340 of 27 000 frames; preambles and gaps are among the port's bytes.
  const double expected = bytes * 8 * 1e-6 * 1518 / 1538;
  CHECK(expected > 250);
  CHECK(number(host, "frames_lost") == Approx(expected).epsilon(0.25));
  CHECK(number(host, "loss") == 0);
}
