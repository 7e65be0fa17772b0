#include "switched_planes.hpp"

#include "weir_catch.hpp"
#include <weir/config/lab_file.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace weir::system_test {
namespace {

constexpr Seconds kSwitchPatience{60};
constexpr const char* kSwitchAddress = "10.78.254.1/16";

std::string letter(std::size_t plane) { return plane == 0 ? "a" : "b"; }

lab::LabPlan plan_with(std::size_t hosts) {
  const auto file = config::read_lab(
      "lab: planes\nplanes: 2\nswitches: software\nport_rate: 200mbit\nhost_count: " + std::to_string(hosts) +
          "\n",
      "lab.yaml");
  if (!file) throw std::runtime_error("no lab file");
  auto plan = lab::plan_lab(*file, nullptr);
  if (!plan) throw std::runtime_error("no lab");
  return std::move(*plan);
}

// Moves the calling thread into another namespace of the lab, and back to the control network.
class Visit {
 public:
  Visit(const lab::LabNetwork& network, lab::Space space) : network_(network) {
    REQUIRE(network.enter(space).has_value());
  }
  ~Visit() { (void)network_.enter(lab::kControl); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  const lab::LabNetwork& network_;
};

void shell(const std::string& line) {
  INFO(line);
  REQUIRE(std::system(line.c_str()) == 0);
}

}  // namespace

SwitchedPlanes::SwitchedPlanes(const TemporaryFolder& folder, const SwitchedSettings& settings)
    : folder_(folder),
      dcms_(settings.dcms),
      plan_(plan_with(1 + settings.dcms.size())),
      keys_(folder / "keys") {
  auto network = lab::LabNetwork::make(plan_);
  if (!network) throw std::runtime_error(network.error().what);
  network_ = std::move(*network);
  REQUIRE(network_.enter(lab::kControl).has_value());
  join_switches_to_control();
  REQUIRE(run_command(folder, "weir", {"keys", "new", keys_}).status == 0);
  for (std::size_t plane = 0; plane < 2; ++plane) write_table(plane, "100mbit");
  farm_ = std::make_unique<ControlledFarm>(
      folder, yaml(settings), std::vector<std::string>{"supervisor", "writer-0"},
      ", keys: " + keys_ + ", switches: [" + (folder / "a.yaml") + ", " + (folder / "b.yaml") + "]",
      lab::control_address());
  for (std::size_t plane = 0; plane < 2; ++plane) start_switch(plane);
  for (const char* readout : {"readout-0", "readout-1"}) start_node(readout);
  for (const SwitchedDcm& dcm : dcms_) start_node(dcm.name);
}

SwitchedPlanes::~SwitchedPlanes() = default;

void SwitchedPlanes::join_switches_to_control() const {
  shell("ip link add switches type veth peer name control netns /proc/" + std::to_string(::getpid()) +
        "/fd/" + std::to_string(network_.space(lab::kSwitches)) +
        " && ip link set switches master control up");
  const Visit visit(network_, lab::kSwitches);
  shell(std::string("ip address add ") + kSwitchAddress + " dev control && ip link set control up");
}

std::string SwitchedPlanes::yaml(const SwitchedSettings& settings) const {
  const std::string control = lab::control_address();
  const bool keeps = settings.dcm.find("fetch: builder") != std::string::npos;
  std::string nodes;
  for (const SwitchedDcm& dcm : dcms_) {
    nodes += std::string(nodes.empty() ? "" : ", ") + "{name: " + dcm.name;
    if (!dcm.group.empty()) nodes += ", group: " + dcm.group;
    if (keeps && dcm.group == dcms_.front().group) nodes += ", listen: '" + host_of(dcm.name).address + ":0'";
    nodes += "}";
  }
  // No move may be due to a machine that is busy alone, and no fragment missing.
  std::ostringstream text;
  text << "farm: switched-planes\n"
       << "security: {key_file: '" << keys_ << "/farm.key'}\n"
       << "supervisor: {listen: '" << control
       << ":0', status_interval_ms: 100, lease_ms: 120000, attempts_max: 6}\n"
       << "network: {silence_ms: 3000, heartbeat_ms: 200, heartbeat_misses: 8, plane_hold_ms: 2000, planes: "
       << "[{name: a, network: " << lab::data_network(0) << "}, {name: b, network: " << lab::data_network(1)
       << "}]}\n"
       << "readout: {count: 2, sources_per_readout: 4, host: " << plan_.hosts.front().address << "}\n"
       << "writer: {count: 1, host: " << control << "}\n"
       << "dcm: {nodes: [" << nodes << "]" << settings.dcm << "}\n"
       << "filter: " << settings.filter << "\n"
       << settings.more;
  return text.str();
}

const lab::LabHost& SwitchedPlanes::host_of(const std::string& name) const {
  const auto dcm =
      std::find_if(dcms_.begin(), dcms_.end(), [&](const SwitchedDcm& one) { return one.name == name; });
  return plan_.hosts[dcm == dcms_.end() ? 0 : 1 + static_cast<std::size_t>(dcm - dcms_.begin())];
}

lab::Space SwitchedPlanes::space_of(const std::string& name) const {
  if (name == "supervisor" || name.starts_with("writer")) return lab::kControl;
  return lab::kFirstHost + static_cast<lab::Space>(&host_of(name) - plan_.hosts.data());
}

void SwitchedPlanes::write_table(std::size_t plane, const std::string& rate) const {
  std::string ports;
  std::string rings;
  for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
    const lab::LabLeg leg = plan_.hosts[i].leg(plane);
    ports += "  - {interface: " + leg.device + ", receive_packets: 4096";
    if (i == 0) ports += ", addresses: [" + leg.address + "]";
    ports += "}\n";
    if (i > 0)
      rings += "  - {name: " + dcms_[i - 1].name + ", address: " + leg.address + ", via: " + leg.device +
               ", rate: " + rate + "}\n";
  }
  std::ofstream(folder_ / (letter(plane) + ".yaml"))
      << "name: plane-" + letter(plane) + "\nports:\n" + ports + "rings:\n" + rings;
}

void SwitchedPlanes::start_switch(std::size_t plane) {
  const Visit visit(network_, lab::kSwitches);
  const std::string log = folder_ / ("switch-" + letter(plane) + "-" + std::to_string(++starts_));
  const std::string at = lab::control_address() + ":" + std::to_string(farm_->port());
  switches_[plane] =
      std::make_unique<Process>(std::vector<std::string>{WEIR_BIN_DIR "/weir-switch", "--control", at,
                                                         "--keys", keys_, "--name", "plane-" + letter(plane)},
                                log + ".out", log + ".err");
  const bool forwards =
      wait_until([&] { return switches_[plane]->err().find("switching queues=") != std::string::npos; },
                 kSwitchPatience);
  INFO(switches_[plane]->err());
  REQUIRE(forwards);
}

void SwitchedPlanes::kill_switch(std::size_t plane) {
  switches_[plane]->send_signal(SIGKILL);
  REQUIRE(switches_[plane]->wait(Seconds(20)) == -SIGKILL);
}

void SwitchedPlanes::start_node(const std::string& name, const std::string& after) {
  const Visit visit(network_, space_of(name));
  const bool is_dcm =
      std::any_of(dcms_.begin(), dcms_.end(), [&](const SwitchedDcm& one) { return one.name == name; });
  farm_->start_node(is_dcm ? "dcm:" + name : name, after);
}

void SwitchedPlanes::set_carrier(const std::string& name, std::size_t plane, bool up) const {
  const Visit visit(network_, lab::kSwitches);
  shell("ip link set dev " + host_of(name).leg(plane).device + (up ? " up" : " down"));
}

std::uint64_t SwitchedPlanes::triggered() const {
  const boost::json::value view = farm_->status();
  for (const auto& node : view.at("nodes").as_array()) {
    if (node.at("name").as_string() != "supervisor") continue;
    const auto* count = node.at("report").at("counters").as_object().if_contains("triggered");
    return count == nullptr ? 0 : std::stoull(std::string(count->as_string()));
  }
  return 0;
}

bool SwitchedPlanes::triggers(std::uint64_t more) const {
  const std::uint64_t before = triggered();
  return wait_until([&] { return triggered() >= before + more; }, kSwitchPatience);
}

bool SwitchedPlanes::logs(const std::string& node, const std::string& text, std::size_t times) const {
  return wait_until(
      [&] {
        const std::string log = farm_->node(node).err();
        std::size_t found = 0;
        for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++found;
        return found >= times;
      },
      kSwitchPatience);
}

}  // namespace weir::system_test
