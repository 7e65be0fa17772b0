#include "switched_lab.hpp"

#include "own_space.hpp"
#include "switch_sockets.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <filesystem>

namespace weir::system_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSwitchedFarm =
    "farm: switched\n"
    "trigger: {mode: max}\n"
    "source: {kind: dummy, distribution: exponential, size_bytes: 4096}\n"
    "readout: {count: 2, sources_per_readout: 2}\n"
    "dcm: {count: 2, credits: 16}\n"
    "filter: {plugin: accept-all}\n"
    "writer: {count: 1}\n";
// Nothing behind a packet socket completes checksums.
constexpr const char* kSwitchedNetwork =
    "lab: switched\n"
    "topology: star\n"
    "host_count: 5\n"
    "port_rate: 20mbit\n"
    "port_buffer: 100k\n"
    "offloads: none\n";
// The free host may send faster than the switch takes frames: so many wait in the kernel.
constexpr const char* kSwitchOfLab =
    "name: daq\n"
    "metrics: 127.0.0.1:0\n"
    "ports:\n"
    "  - {interface: h0, transmit_packets: 16, addresses: [10.77.1.1]}\n"
    "  - {interface: h1, transmit_packets: 16, addresses: [10.77.1.2]}\n"
    "  - {interface: h2, transmit_packets: 16}\n"
    "  - {interface: h3, transmit_packets: 16}\n"
    "  - {interface: h4, transmit_packets: 16, addresses: [10.77.1.5], receive_packets: 8192, rate: 20mbit, "
    "obey_pauses: true}\n"
    "rings:\n"
    "  - {name: dcm-0, address: 10.77.1.3, via: h2}\n"
    "  - {name: dcm-1, address: 10.77.1.4, via: h3}\n";
constexpr int kLabHosts = 5;
constexpr std::uint64_t kSomeBytes = 1 << 20;

std::vector<std::string> arguments_of(const TemporaryFolder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"--lab", folder.write("lab.yaml", kSwitchedNetwork)};
  for (const std::string& one : sets(more)) arguments.push_back(one);
  return arguments;
}

}  // namespace

SwitchedLab::SwitchedLab(const TemporaryFolder& folder, const std::vector<std::string>& more)
    : folder_(folder), run_(folder, folder.write("farm.yaml", kSwitchedFarm), arguments_of(folder, more)) {
  REQUIRE(run_.wait_for_data(1));
  switches_ = space_with(": switch: ");
  for (int host = 0; host < kLabHosts; ++host)
    command(switches_, "ip link set dev h" + std::to_string(host) + " nomaster");
  start_switch();
  REQUIRE(stores(kSomeBytes));
}

void SwitchedLab::start_switch() {
  const std::string file = folder_.write("switch.yaml", kSwitchOfLab + sockets_line());
  switch_ = std::make_unique<Process>(
      std::vector<std::string>{"/bin/sh", "-c",
                               "exec nsenter --net=" + switches_ + " " WEIR_BIN_DIR "/weir-switch " + file},
      folder_ / "switch.out", folder_ / "switch.err");
  const bool forwards =
      wait_until([&] { return switch_->err().find("switching queues=") != std::string::npos; }, Seconds(30));
  INFO(switch_->err());
  REQUIRE(forwards);
}

void SwitchedLab::kill_switch() {
  switch_->send_signal(SIGKILL);
  REQUIRE(switch_->wait(Seconds(10)) == -SIGKILL);
}

bool SwitchedLab::stores(std::uint64_t bytes) const { return run_.wait_for_data(run_.data_bytes() + bytes); }

FarmEnd SwitchedLab::finish() {
  run_.process().send_signal(SIGINT);
  return run_.finish();
}

void SwitchedLab::on_free_host(const std::function<void()>& work) { test::in_space(free_host(), work); }

void SwitchedLab::beside_switch(const std::function<void()>& work) const { test::in_space(switches_, work); }

std::string SwitchedLab::metrics() const {
  const std::string log = switch_->err();
  const std::string mark = "metrics=";
  const std::size_t at = log.find(mark);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + mark.size();
  return log.substr(begin, log.find_first_of(" \n", begin) - begin);
}

void SwitchedLab::command(const std::string& space, const std::string& words) const {
  Process process({"/bin/sh", "-c", "nsenter --net=" + space + " " + words}, folder_ / "lab.out",
                  folder_ / "lab.err");
  const auto status = process.wait(Seconds(10));
  INFO(words << "\n" << process.err());
  REQUIRE(status == 0);
}

std::string SwitchedLab::space_with(const std::string& text) {
  const fs::path files = "/proc/" + std::to_string(run_.process().pid()) + "/fd";
  for (const auto& file : fs::directory_iterator(files)) {
    std::error_code none;
    if (!fs::read_symlink(file.path(), none).string().starts_with("net:[")) continue;
    command(file.path().string(), "sh -c 'ip -o link show; ip -o -4 address show'");
    if (read_file(folder_ / "lab.out").find(text) != std::string::npos) return file.path().string();
  }
  FAIL("the lab has no namespace with '" << text << "'");
  return {};
}

}  // namespace weir::system_test
