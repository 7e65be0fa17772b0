#include "controlled_farm.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <netinet/in.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::system_test {
namespace {

constexpr const char* kBin = WEIR_BIN_DIR;

bool is_free(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  ::close(socket);
  return free;
}

// Three consecutive ports, below the kernel's ephemeral range.
std::uint16_t free_ports() {
  std::random_device device;
  for (int i = 0; i < 200; ++i) {
    const auto port = static_cast<std::uint16_t>(10'000 + device() % 20'000);
    if (is_free(port) && is_free(static_cast<std::uint16_t>(port + 1)) &&
        is_free(static_cast<std::uint16_t>(port + 2)))
      return port;
  }
  throw std::runtime_error("no free ports");
}

std::string program_of(const std::string& node) {
  const std::string role = node.substr(0, node.find('-'));
  return std::string(kBin) + "/weir-" + role;
}

}  // namespace

ControlledFarm::ControlledFarm(const TemporaryFolder& folder, const std::string& yaml,
                               const std::vector<std::string>& nodes, const std::string& more,
                               const std::string& host)
    : folder_(folder), port_(free_ports()) {
  farm_file_ = folder.write("farm.yaml", yaml + "\nrun: {out: " + out() + "}\ncontrol: {listen: '" + host +
                                             ":" + std::to_string(port_) +
                                             "', heartbeat_ms: 200, silence_ms: 1500" + more + "}\n");
  start_run_control();
  for (const std::string& name : nodes) start_node(name);
}

void ControlledFarm::start_run_control() {
  const std::string log = folder_ / "run-control-" + std::to_string(++starts_);
  run_control_ = std::make_unique<Process>(
      std::vector<std::string>{std::string(kBin) + "/weir-run-control", "--farm", farm_file_}, log + ".out",
      log + ".log");
  const bool there =
      wait_until([&] { return run_control_->out().find("subscribe") != std::string::npos; }, Seconds(20));
  if (!there) throw std::runtime_error("run control does not start: " + run_control_->err());
}

void ControlledFarm::start_node(const std::string& role_and_name, const std::string& after) {
  const std::size_t colon = role_and_name.find(':');
  const std::string name = colon == std::string::npos ? role_and_name : role_and_name.substr(colon + 1);
  const std::string log = folder_ / name + "-" + std::to_string(++starts_);
  std::vector<std::string> command{program_of(role_and_name.substr(0, colon)), "--farm", farm_file_, "--name",
                                   name};
  if (!after.empty()) command.insert(command.end(), {"--after", after});
  nodes_[name] = std::make_unique<Process>(command, log + ".out", log + ".log");
}

void ControlledFarm::kill_run_control() {
  run_control_->send_signal(SIGKILL);
  (void)run_control_->wait(Seconds(10));
}

void ControlledFarm::kill_node(const std::string& name) {
  node(name).send_signal(SIGKILL);
  (void)node(name).wait(Seconds(10));
}

CommandEnd ControlledFarm::ctl(const std::vector<std::string>& words) const {
  std::vector<std::string> arguments = {"ctl", "--farm", farm_file_, "--timeout", "20"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return run_command(folder_, "weir", arguments);
}

void ControlledFarm::must(const std::vector<std::string>& words) const {
  const CommandEnd end = ctl(words);
  if (end.status != 0) throw std::runtime_error("weir ctl " + words.front() + ": " + end.err + "\n" + logs());
}

void ControlledFarm::stop_good() const { must({"stop"}); }

void ControlledFarm::stop_with_faults(const std::string& fault) const {
  require_faults(ctl({"stop"}), fault, logs());
}

boost::json::value ControlledFarm::status() const {
  const CommandEnd end = ctl({"--json", "status"});
  if (end.status != 0) throw std::runtime_error("weir ctl status: " + end.err + "\n" + logs());
  return boost::json::parse(end.out);
}

std::string ControlledFarm::state() const { return std::string(status().at("state").as_string()); }

std::string ControlledFarm::events() const {
  std::string text;
  const boost::json::value farm = status();
  for (const auto& line : farm.at("events").as_array())
    text += std::string(line.at("text").as_string()) + "\n";
  return text;
}

std::string ControlledFarm::state_of(const std::string& node) const {
  const boost::json::value farm = status();
  for (const auto& one : farm.at("nodes").as_array()) {
    if (one.at("name").as_string() != node) continue;
    if (!one.at("live").as_bool()) return "gone";
    return std::string(one.at("state").at("state").as_string());
  }
  return "unknown";
}

void ControlledFarm::make_ready() const {
  must({"init"});
  must({"configure"});
}

void ControlledFarm::begin_run() const {
  make_ready();
  must({"start"});
}

std::unique_ptr<Process> ControlledFarm::tap(const std::string& name,
                                             const std::vector<std::string>& arguments) const {
  std::vector<std::string> line{std::string(kBin) + "/weir", "tap", "--farm", farm_file_, "--timeout", "30"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return std::make_unique<Process>(line, folder_ / (name + ".out"), folder_ / (name + ".err"));
}

boost::json::value ControlledFarm::record(std::uint32_t run) const {
  std::ostringstream path;
  path << out() << "/run-" << std::setw(6) << std::setfill('0') << run << "-end.json";
  if (!wait_until([&] { return std::filesystem::exists(path.str()); }, Seconds(10)))
    throw std::runtime_error("no " + path.str() + "\n" + logs());
  return boost::json::parse(read_file(path.str()));
}

std::string ControlledFarm::logs() const {
  std::string text = run_control_->err();
  for (const auto& [name, process] : nodes_) {
    const std::string log = process->err();
    text += "== " + name + "\n" + log.substr(log.size() > 1500 ? log.size() - 1500 : 0);
  }
  return text;
}

Holdings holdings_of(pid_t pid) {
  Holdings holdings;
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  for (const auto& one : std::filesystem::directory_iterator(process / "fd")) {
    (void)one;
    ++holdings.descriptors;
  }
  std::ifstream status(process / "status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "Threads:") words >> holdings.threads;
    if (key == "VmRSS:") words >> holdings.rss_kb;
  }
  return holdings;
}

}  // namespace weir::system_test
