// Tests that virtual networks are created, used and removed. Needs root; without it ctest shows SKIPPED.
#include "farm_run.hpp"
#include "kept_lab.hpp"
#include "needs_root.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <linux/capability.h>
#include <sched.h>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::system_test;

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr double kFrameBytes = 1538;    // a full one on the wire
constexpr double kPayloadBytes = 1448;  // payload of one frame

void add_namespaces_of(const fs::path& process, std::set<std::string>& found) {
  std::error_code none;
  const auto add = [&](const fs::path& path) {
    const std::string link = fs::read_symlink(path, none).string();
    if (!none && link.starts_with("net:")) found.insert(link);
  };
  add(process / "ns" / "net");
  for (const auto& file : fs::directory_iterator(process / "fd", none)) add(file.path());
}

// Returns the lab's network namespaces that a process has open.
std::set<std::string> namespaces_of(pid_t pid) {
  std::set<std::string> found;
  add_namespaces_of("/proc/" + std::to_string(pid), found);
  std::set<std::string> own;
  add_namespaces_of("/proc/self", own);
  for (const std::string& name : own) found.erase(name);
  return found;
}

// Returns true if any process is in one of the namespaces or has it open.
bool in_use(const std::set<std::string>& namespaces) {
  std::set<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none)) add_namespaces_of(entry.path(), found);
  return std::any_of(found.begin(), found.end(), [&](const auto& name) { return namespaces.contains(name); });
}

std::size_t named() {
  std::error_code none;
  const fs::directory_iterator names("/run/netns", none);
  return none ? 0 : static_cast<std::size_t>(std::distance(fs::begin(names), fs::end(names)));
}

// Returns the interfaces of this process's network namespace.
std::string interfaces() {
  std::istringstream lines(read_file("/proc/net/dev"));
  std::string names;
  for (std::string line; std::getline(lines, line);) names += line.substr(0, line.find(':')) + ";";
  return names;
}

// Eight readouts of 16 kB each and a DCM; nothing is stored.
std::vector<std::string> incast(const std::string& lab, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"--lab", config_file("lab/" + lab), "--set", "source.size_bytes=16384"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const json::object& port_of(const FarmEnd& end, std::string_view name) {
  for (const auto& port : end.summary.json().at("ports").as_array()) {
    if (port.at("name").as_string() == name) return port.as_object();
  }
  FAIL("no port " << name << " in the summary\n" << describe(end));
  throw std::logic_error("not reached");
}

double number(const json::object& object, const char* key) { return object.at(key).to_number<double>(); }

}  // namespace

TEST_CASE("a farm in a star fills its DCM's port up to theory, and leaves nothing behind") {
  NEEDS_ROOT();
  const std::string interfaces_before = interfaces();
  const std::size_t named_before = named();
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"),
                               incast("star-8.yaml", {"--slices", "250", "--set", "lab.port_rate=50mbit"}));
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("rejected") == 250);
  CHECK(end.summary.text("lab.name") == "star-8");
  CHECK(end.summary.count("lab.hosts") == 9);
  const json::object& port = port_of(end, "switch>h8");
  // The port's byte count is at least the payload's size on the wire, and little more: headers and
  // acknowledgements.
  const double payload_on_wire = 250.0 * 8 * 16384 * kFrameBytes / kPayloadBytes;
  CHECK(number(port, "bytes") > payload_on_wire);
  CHECK(number(port, "bytes") < 1.05 * payload_on_wire);
  // Goodput cannot exceed theory; how close it comes depends on the machine's other load.
  CHECK(number(end.summary.json().as_object(), "goodput_share_of_theory") < 1.0);
  CHECK(number(end.summary.json().as_object(), "goodput_share_of_theory") > 0.5);
  CHECK(number(port, "use") <= 1.02);
  CHECK(number(port_of(end, "switch>h0"), "bytes") > 0);
  CHECK(interfaces() == interfaces_before);
  CHECK(named() == named_before);
  CHECK(processes_naming(folder.path().string()).empty());
}

TEST_CASE("a network trace has the bytes of each port, its queue, and the requests") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "trace.jsonl";
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"),
                               incast("star-8.yaml", {"--slices", "100", "--set", "lab.port_rate=50mbit",
                                                      "--trace-network", file.string()}));
  CHECK_BALANCED(end, 0);
  std::istringstream lines(read_file(file));
  std::string line;
  REQUIRE(std::getline(lines, line));
  const json::object head = json::parse(line).as_object();
  CHECK(head.at("requesters") == json::array{"h8"});
  const json::array& ports = head.at("ports").as_array();
  const auto dcm = static_cast<std::size_t>(
      std::find_if(ports.begin(), ports.end(),
                   [](const json::value& port) { return port.at("name").as_string() == "switch>h8"; }) -
      ports.begin());
  REQUIRE(dcm < ports.size());
  double sent = 0;
  double queue_most = 0;
  double requested = 0;
  std::int64_t before_us = -1;
  while (std::getline(lines, line)) {
    const json::object sample = json::parse(line).as_object();
    CHECK(sample.at("us").as_int64() > before_us);
    before_us = sample.at("us").as_int64();
    sent += sample.at("sent").as_array().at(dcm).to_number<double>();
    queue_most = std::max(queue_most, sample.at("queue").as_array().at(dcm).to_number<double>());
    requested += sample.at("requests").as_array().at(0).to_number<double>();
  }
  // The first sample, a moment after the run's begin, is the origin.
  const double payload_on_wire = 100.0 * 8 * 16384 * kFrameBytes / kPayloadBytes;
  CHECK(sent > 0.8 * payload_on_wire);
  CHECK(sent < 1.05 * payload_on_wire);
  CHECK(queue_most > 0);
  CHECK(queue_most <= number(port_of(end, "switch>h8"), "buffer_bytes"));
  // A request is far smaller than its response.
  CHECK(requested > 100 * 8);
  CHECK(requested < 0.05 * payload_on_wire);
  const CommandEnd refused =
      run_command(folder, "weir", {"run", config_file("incast-8to1.yaml"), "--trace-network", file.string()});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::ContainsSubstring("--trace-network needs a virtual network"));
}

TEST_CASE("drops at a port are counted, and equal TCP's retransmissions") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("incast-8to1.yaml"),
               incast("star-8.yaml", {"--slices", "250", "--set", "lab.port_rate=50mbit", "--set",
                                      "lab.port_buffer=20k", "--set", "dcm.shaper=none"}));
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("port_drops") > 0);
  CHECK(end.summary.count("port_drops") == port_of(end, "switch>h8").at("drops").to_number<std::uint64_t>());
  CHECK(end.summary.count("retransmits") >= end.summary.count("port_drops") / 2);
}

TEST_CASE("stored slices go to a writer beside the network, or to one on a host") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd beside = run_farm(folder, config_file("event-building.yaml"),
                                  {"--slices", "100", "--lab", config_file("lab/star-8.yaml")});
  CHECK_BALANCED(beside, 0);
  CHECK(beside.summary.count("stored") == 100);
  CHECK_THAT(read_file(folder / "out/run-000001-lab.yaml"), Catch::ContainsSubstring("lab: \"star-8\""));
  const std::string lab = folder.write(
      "lab.yaml", "lab: mixed\nhost_count: 6\nhosts:\n  - {name: store, nodes: [writer-0, dcm-0]}\n");
  const FarmEnd on_host =
      run_farm(folder, config_file("event-building.yaml"), {"--slices", "100", "--lab", lab});
  CHECK_BALANCED(on_host, 0);
  CHECK(on_host.summary.count("stored") == 100);
}

TEST_CASE("nothing remains of a lab when weir run is killed, nor after Ctrl-C") {
  NEEDS_ROOT();
  for (const int signal : {SIGKILL, SIGINT}) {
    const TemporaryFolder folder;
    FarmRun run(folder, config_file("incast-8to1.yaml"), incast("star-8.yaml", {"--duration", "60"}));
    REQUIRE(run.wait_for_log("supervisor", "run began"));
    CHECK(run.processes() == 12);
    const auto lab = namespaces_of(run.process().pid());
    CHECK(lab.size() == 11);  // nine hosts, the switches, the control network
    run.process().send_signal(signal);
    if (signal == SIGINT) CHECK_BALANCED(run.finish(), 0);
    (void)run.process().wait(Seconds(20));
    CHECK(wait_until([&] { return run.processes() == 0; }, Seconds(10)));
    CHECK(wait_until([&] { return !in_use(lab); }, Seconds(10)));
  }
}

TEST_CASE("a permanent lab is found by name, shows its ports, and can be removed") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::string name = "test" + std::to_string(::getpid());
  const std::string lab = folder.write("lab.yaml", "lab: " + name + "\nhost_count: 3\nport_rate: 10mbit\n");
  const TakenDown taken_down{folder, lab};
  const auto up = run_command(folder, "weir", {"lab", "up", lab});
  INFO(up.err);
  REQUIRE(up.status == 0);
  CHECK(fs::exists("/run/netns/weir." + name + ".h2"));
  CHECK(run_command(folder, "weir", {"lab", "up", lab}).status == 1);
  const auto status = run_command(folder, "weir", {"lab", "status", lab});
  CHECK(status.status == 0);
  CHECK_THAT(status.out, Catch::ContainsSubstring("switch>h2"));
  CHECK_THAT(status.out, Catch::ContainsSubstring("10mbit"));
  CHECK(run_command(folder, "weir", {"lab", "down", lab}).status == 0);
  CHECK_FALSE(fs::exists("/run/netns/weir." + name + ".h2"));
  CHECK(run_command(folder, "weir", {"lab", "status", lab}).status == 1);
}

TEST_CASE("between leaves and spines the data of each DCM take one spine") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  // Readouts h0 to h3 are at leaf1, DCMs h4 and h5 at leaf2; only the first link carries traffic.
  const FarmEnd end =
      run_farm(folder, config_file("incast-8to1.yaml"),
               incast("leaf-spine-2x2.yaml", {"--slices", "100", "--set", "readout.count=4"}));
  CHECK_BALANCED(end, 0);
  const double data = number(port_of(end, "leaf1>spine1"), "bytes");
  CHECK(data > 100.0 * 4 * 16384);
  CHECK(number(port_of(end, "spine1>leaf2"), "bytes") == data);
  CHECK(number(port_of(end, "leaf2>spine1"), "bytes") > 0);
  for (const char* other : {"leaf1>spine2", "spine2>leaf2", "leaf2>spine2", "spine2>leaf1"}) {
    INFO(other);
    CHECK(number(port_of(end, other), "bytes") == 0);
  }
}

TEST_CASE("DCMs of a plane that is cut receive through the other one, and no fragment is missing") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(
      folder, config_file("planes.yaml"),
      {"--lab", config_file("lab/planes.yaml"), "--set", "lab.cuts=[{plane: 1, at_s: 0.5, for_s: 60}]",
       "--duration", "2.5", "--set", "dcm.deadline_ms=5000"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.json().at("fragments").at("missing").as_object().empty());
  std::set<std::string> moved;
  for (const auto& move : end.summary.json().at("plane_moves").as_array()) {
    CHECK(move.at("from").as_string() == "a");
    CHECK(move.at("to").as_string() == "b");
    moved.emplace(move.at("dcm").as_string());
  }
  CHECK(moved == std::set<std::string>{"dcm-0", "dcm-2"});
  CHECK(number(port_of(end, "leaf1b>spine1b"), "bytes") > 0);
}

TEST_CASE("between racks data pass the uplinks, which limit them") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"),
                               incast("racks-2x4.yaml", {"--slices", "100", "--set", "readout.count=4",
                                                         "--set", "lab.racks.uplink_rate=20mbit"}));
  CHECK_BALANCED(end, 0);
  const json::object& uplink = port_of(end, "rack1>core");
  CHECK(number(uplink, "bytes") == number(port_of(end, "core>rack2"), "bytes"));
  CHECK(number(uplink, "bytes") > 100.0 * 4 * 16384);
  CHECK(number(uplink, "use") <= 1.02);
  CHECK(end.summary.json().at("goodput_bytes_per_s").to_number<double>() < 20e6 / 8);
}

TEST_CASE("a long line adds its delay in each direction") {
  NEEDS_ROOT();
  if (!std::filesystem::exists("/dev/net/tun")) {
    std::puts("left out: a long line needs /dev/net/tun");
    return;
  }
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"),
                               incast("wan.yaml", {"--slices", "50", "--set", "readout.count=4", "--set",
                                                   "lab.wan.delay_ms=30", "--set", "dcm.deadline_ms=20000"}));
  CHECK_BALANCED(end, 0);
  // A request there and a fragment back.
  const std::uint64_t p50_us = end.summary.count("latency_us.p50");
  CHECK(p50_us >= 60'000);
  CHECK(number(port_of(end, "site1>site2"), "bytes") > 50.0 * 4 * 16384);
  CHECK(number(port_of(end, "site2>site1"), "bytes") > 0);
}

TEST_CASE("links have a delay in each direction, and its jitter is in the summary") {
  NEEDS_ROOT();
  if (!std::filesystem::exists("/dev/net/tun")) {
    std::puts("left out: a link with a delay needs /dev/net/tun");
    return;
  }
  const TemporaryFolder folder;
  // The static window needs a first connection between all hosts, over the relay.
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"),
                               incast("star-8.yaml", {"--slices", "50", "--set", "lab.delay_ms=10", "--set",
                                                      "lab.window_segments=4"}));
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("latency_us.p50") >= 40'000);  // two links there, two back
  CHECK(end.summary.count("lab.relay.links") == 9);
  CHECK(end.summary.count("lab.relay.delay_us") == 10'000);
  CHECK(end.summary.count("lab.relay.frames") > 50 * 8 * 16384 / 1448);
  // A busy machine may hold the relay up.
  CHECK(end.summary.count("lab.relay.dropped") < end.summary.count("lab.relay.frames") / 100);
  CHECK(end.summary.count("lab.relay.late_p50_us") < 10'000);
  CHECK_THAT(end.out, Catch::ContainsSubstring("9 links with a delay of 10 ms") &&
                          Catch::ContainsSubstring("p99 jitter"));
}

TEST_CASE("foreign traffic takes its rate between its times") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("incast-8to1.yaml"),
               incast("star-8.yaml",
                      {"--duration", "3", "--set", "trigger.mode=rate", "--set", "trigger.rate_hz=10",
                       "--set", "lab.foreign=[{from: h0, to: h1, rate: 8mbit, start_s: 1, stop_s: 2}]"}));
  CHECK_BALANCED(end, 0);
  const json::array& foreign = end.summary.json().at("foreign").as_array();
  REQUIRE(foreign.size() == 1);
  CHECK(number(foreign[0].as_object(), "seconds") == Approx(1));
  CHECK(number(foreign[0].as_object(), "bytes") <= 1.1e6);
  CHECK(number(foreign[0].as_object(), "bytes") > 0.5e6);
  CHECK(number(port_of(end, "switch>h1"), "bytes") > number(foreign[0].as_object(), "bytes"));
}

TEST_CASE("a static congestion window holds from the farm's first connection on") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  // 2 segments of each readout stay below the port's 20 kB, whatever the request size.
  const std::vector<std::string> settings{"--slices", "100",
                                          "--set",    "lab.port_rate=50mbit",
                                          "--set",    "lab.port_buffer=30k",
                                          "--set",    "dcm.shaper=none",
                                          "--set",    "lab.window_segments=2"};
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"), incast("star-8.yaml", settings));
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("port_drops") == 0);
}

TEST_CASE("16 readouts that push directly overflow the ports that barrel shifting by twos leaves alone",
          "[.alone]") {
  NEEDS_ROOT();
  const auto push = [](const std::string& shaper) {
    const TemporaryFolder folder;
    return run_farm(folder, config_file("push-16.yaml"),
                    {"--lab", config_file("lab/star-16.yaml"), "--duration", "3", "--set",
                     "readout.shaper=" + shaper, "--set", "dcm.deadline_ms=5000"});
  };
  const FarmEnd direct = push("direct");
  CHECK_BALANCED(direct, 0);
  const FarmEnd barrel = push("barrel");
  CHECK_BALANCED(barrel, 0);
  CAPTURE(direct.summary.count("port_drops"), barrel.summary.count("port_drops"));
  CHECK(direct.summary.count("port_drops") > 1000);
  // An idle machine drops none; a readout that is delayed misses its slot.
  CHECK(10 * barrel.summary.count("port_drops") < direct.summary.count("port_drops"));
}

TEST_CASE("a faulty lab is reported before anything starts") {
  const TemporaryFolder folder;
  const std::string wrong = folder.write("wrong.yaml", "lab: x\nport_rat: 1gbit\n");
  const FarmEnd end = run_farm(folder, config_file("incast-8to1.yaml"), {"--lab", wrong});
  CHECK(end.status == 2);
  CHECK_THAT(end.err,
             Catch::ContainsSubstring("wrong.yaml:2: port_rat: unknown key; did you mean 'port_rate'?"));
  const FarmEnd small =
      run_farm(folder, config_file("incast-24to1.yaml"), {"--lab", config_file("lab/star-8.yaml")});
  CHECK(small.status == 2);
  CHECK_THAT(small.err, Catch::ContainsSubstring("24 readouts and 1 DCMs do not fit on 9 hosts"));
  const FarmEnd none = run_farm(folder, config_file("incast-8to1.yaml"), {"--set", "lab.port_rate=1gbit"});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, Catch::ContainsSubstring("--set lab.port_rate=1gbit: no lab: use --lab FILE"));
}

TEST_CASE("without the necessary rights a lab is refused with one sentence") {
  const TemporaryFolder folder;
  const std::string words = folder / "refused";
  const std::string program = std::string(WEIR_BIN_DIR) + "/weir";
  const std::string farm = config_file("incast-8to1.yaml");
  const std::string lab = config_file("lab/star-8.yaml");
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Root that execs keeps no right outside this set.
    ::prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN);
    ::dup2(::open(words.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    ::execl(program.c_str(), "weir", "run", farm.c_str(), "--lab", lab.c_str(), "--out", words.c_str(),
            nullptr);
    ::_exit(127);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
  CHECK_THAT(read_file(words), Catch::ContainsSubstring("CAP_SYS_ADMIN"));
}

TEST_CASE("a farm in a lab is led, watched and tapped from outside") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("incast-8to1.yaml"),
              incast("star-8.yaml",
                     {"--slices", "1000000", "--set", "lab.port_rate=50mbit", "--page", "127.0.0.1:0"}));
  const std::string at = run.control_at();
  CHECK(at.starts_with("127.0.0.1:"));
  const auto is_running = [&] {
    return run_command(folder, "weir", {"ctl", "--connect", at, "status"}).out.find("  running  run 1") !=
           std::string::npos;
  };
  REQUIRE(wait_until(is_running, Seconds(30)));
  const CommandEnd tapped =
      run_command(folder, "weir", {"tap", "--stream", "raw", "--connect", at, "--count", "1", "--json"});
  INFO(tapped.err);
  CHECK(tapped.status == 0);
  CHECK_THAT(run.process().out(), Catch::ContainsSubstring("page http://127.0.0.1:"));
  const CommandEnd top = run_command(folder, "weir", {"top", "--once", "--interval", "0.5", "--connect", at});
  CHECK_THAT(top.out, Catch::ContainsSubstring("farm incast-8to1: running, run 1: "));
  const CommandEnd stopped =
      run_command(folder, "weir", {"ctl", "--connect", at, "stop", "--reason", "seen enough"});
  CHECK(stopped.status == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.text("reason") == "seen enough");
}

TEST_CASE("run control of a farm in a lab that is killed is back, for its processes and from outside") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("incast-8to1.yaml"),
              incast("star-8.yaml", {"--slices", "1000000", "--set", "lab.port_rate=50mbit"}));
  const std::string at = run.control_at();
  const auto are_all_there = [&] {
    const std::string status = run_command(folder, "weir", {"ctl", "--connect", at, "--json", "status"}).out;
    constexpr std::string_view kLive = "\"live\": true";
    std::size_t count = 0;
    for (std::size_t i = 0; (i = status.find(kLive, i)) != status.npos; i += kLive.size()) ++count;
    return count == 10;  // eight readouts, the DCM and the supervisor
  };
  REQUIRE(run.wait_for_log("run-control", "the farm is running"));
  REQUIRE(wait_until(are_all_there, Seconds(30)));
  const pid_t killed = run.pid_of("run-control");
  REQUIRE(run.send_signal("run-control", SIGKILL));
  REQUIRE(wait_until([&] { return run.pid_of("run-control") != 0 && run.pid_of("run-control") != killed; },
                     Seconds(20)));
  CHECK(wait_until(are_all_there, Seconds(30)));
  CHECK(run_command(folder, "weir", {"ctl", "--connect", at, "stop"}).status == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK_THAT(end.err + end.out, Catch::ContainsSubstring("run control ended with signal 9"));
}
