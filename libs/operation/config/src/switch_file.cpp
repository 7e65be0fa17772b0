#include "message_file.hpp"
#include <weir/config/rate.hpp>
#include <weir/config/switch_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <utility>

namespace weir::config {
namespace {

using switching::Queueing;
using switching::SwitchSettings;
using switching::WhenFull;

constexpr std::uint32_t kBatchFrames = 32;  // in the machine on their way to the interface

Queueing queueing_of(v1::Switch::Queues word) {
  switch (word) {
    case v1::Switch::QUEUES_OUTPUT:
      return Queueing::output;
    case v1::Switch::QUEUES_VIRTUAL_OUTPUT:
      return Queueing::virtual_output;
    case v1::Switch::QUEUES_ONE:
      return Queueing::fifo;
    case v1::Switch::QUEUES_RINGS:
      break;
  }
  return Queueing::rings;
}

// Makes a machine's settings of a file.
class MachineReader {
 public:
  explicit MachineReader(const SwitchFile& file) : file_(file), from_(file.settings) {}

  Expected<SwitchSettings, Problems> read() {
    machine_.queueing = queueing_of(from_.queues());
    machine_.when_full = from_.when_full() == v1::Switch::WHEN_FULL_HOLD ? WhenFull::hold : WhenFull::drop;
    machine_.frame_bytes_max = from_.mtu() + static_cast<std::uint32_t>(switching::kEthernetHeaderBytes);
    machine_.other_frames = from_.other_packets();
    machine_.mark_frames = from_.mark_packets();
    for (int i = 0; i < from_.ports_size(); ++i) add_port(i);
    for (int i = 0; i < from_.rings_size(); ++i) add_ring(i);
    if (problems_.empty()) {
      if (auto problem = switching::problem_of(machine_))
        report("ports", ProblemKind::inconsistent, std::move(*problem));
    }
    if (!problems_.empty()) return Unexpected<Problems>(std::move(problems_));
    return std::move(machine_);
  }

 private:
  void report(const std::string& key, ProblemKind kind, std::string what) {
    if (problems_.size() < kProblemsMax)
      problems_.push_back({kind, Severity::error, file_.locations.of(key), key, std::move(what)});
  }

  switching::Address address(const std::string& text, const std::string& key) {
    in_addr bytes{};
    if (::inet_pton(AF_INET, text.c_str(), &bytes) != 1)
      report(key, ProblemKind::bad_value, fmt::format("'{}' is not an IPv4 address, as 10.0.0.1", text));
    return ntohl(bytes.s_addr);
  }

  void add_port(int i) {
    const v1::SwitchPortSettings& own = from_.ports(i);
    const std::string key = fmt::format("ports[{}].", i);
    if (std::ranges::find(machine_.ports, own.interface(), &switching::PortSettings::name) !=
        machine_.ports.end())
      report(key + "interface", ProblemKind::inconsistent,
             fmt::format("'{}' is a port already", own.interface()));
    machine_.ports.push_back({.name = own.interface(),
                              .transmit_frames = std::min(own.transmit_packets(), kBatchFrames),
                              .receive_frames = own.receive_packets(),
                              .bits_per_s = parse_rate(own.rate()).value_or(0),
                              .obeys_pauses = own.obey_pauses(),
                              .pause_bytes = parse_buffer(own.pause_above()).value_or(0)});
    for (int n = 0; n < own.addresses_size(); ++n) {
      machine_.routes.push_back(
          {address(own.addresses(n), fmt::format("{}addresses[{}]", key, n)), static_cast<std::size_t>(i)});
    }
  }

  void add_ring(int i) {
    const v1::SwitchRingSettings& own = from_.rings(i);
    const std::string key = fmt::format("rings[{}].", i);
    const auto via = std::ranges::find(machine_.ports, own.via(), &switching::PortSettings::name);
    if (via == machine_.ports.end())
      report(key + "via", ProblemKind::inconsistent, fmt::format("`ports` has no interface '{}'", own.via()));
    machine_.rings.push_back({.name = own.name(),
                              .address = address(own.address(), key + "address"),
                              .port = static_cast<std::uint16_t>(own.port()),
                              .via = static_cast<std::size_t>(via - machine_.ports.begin()),
                              .frames_max = own.packets(),
                              .bytes_max = parse_buffer(own.bytes()).value_or(0),
                              .bits_per_s = parse_rate(own.rate()).value_or(0),
                              .burst_bytes = parse_buffer(own.burst()).value_or(0)});
  }

  const SwitchFile& file_;
  const v1::Switch& from_;
  SwitchSettings machine_;
  Problems problems_;
};

// Returns the first key with another value that a running switch cannot change; empty: none.
std::string fixed_key_of_change(const v1::Switch& from, const v1::Switch& to) {
  if (from.name() != to.name()) return "name";
  if (from.mtu() != to.mtu()) return "mtu";
  if (from.queues() != to.queues()) return "queues";
  if (from.when_full() != to.when_full()) return "when_full";
  if (from.other_packets() != to.other_packets()) return "other_packets";
  if (from.mark_packets() != to.mark_packets()) return "mark_packets";
  if (from.user() != to.user()) return "user";
  if (from.metrics() != to.metrics()) return "metrics";
  if (from.busy_poll_us() != to.busy_poll_us()) return "busy_poll_us";
  if (from.sockets() != to.sockets()) return "sockets";
  if (from.ports_size() != to.ports_size()) return "ports";
  for (int i = 0; i < from.ports_size(); ++i) {
    const auto& a = from.ports(i);
    const auto& b = to.ports(i);
    const std::string key = fmt::format("ports[{}].", i);
    if (a.interface() != b.interface()) return key + "interface";
    if (a.receive_packets() != b.receive_packets()) return key + "receive_packets";
    if (a.transmit_packets() != b.transmit_packets()) return key + "transmit_packets";
    if (a.rate() != b.rate()) return key + "rate";
    if (a.obey_pauses() != b.obey_pauses()) return key + "obey_pauses";
    if (a.pause_above() != b.pause_above()) return key + "pause_above";
  }
  return {};
}

}  // namespace

Expected<SwitchFile, Problems> load_switch(const std::filesystem::path& path) {
  const auto text = read_text(path, "switch file");
  if (!text) return Unexpected<Problems>(text.error());
  return read_switch(*text, path.string());
}

Expected<SwitchFile, Problems> read_switch(std::string_view text, const std::string& name) {
  const auto tree = read_tree(text, name);
  if (!tree) return Unexpected<Problems>(tree.error());
  SwitchFile file{{}, Locations(name)};
  Problems problems = read_keys(*tree, name, file.settings, file.locations);
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return file;
}

Problems apply_switch_override(SwitchFile& file, std::string_view assignment) {
  return override_key(file.settings, "", assignment, &file.locations);
}

Expected<SwitchSettings, Problems> machine_of(const SwitchFile& file) { return MachineReader(file).read(); }

Problems problems_of_change(const SwitchFile& from, const SwitchFile& to) {
  const auto after = machine_of(to);
  if (!after) return after.error();
  std::string key = fixed_key_of_change(from.settings, to.settings);
  if (key.empty() && after->queueing != Queueing::rings) key = "queues";
  if (key.empty()) return {};
  return {{ProblemKind::inconsistent, Severity::error, to.locations.of(key), key,
           "only rings and addresses can change while the switch runs: restart it"}};
}

Expected<std::vector<FarmSwitch>, Problems> load_switches(const v1::Farm& farm) {
  std::vector<FarmSwitch> switches;
  Problems problems;
  const auto add = [&](const Problems& more) { problems.insert(problems.end(), more.begin(), more.end()); };
  for (const std::string& path : farm.control().switches()) {
    auto text = read_text(path, "switch file");
    if (!text) {
      add(text.error());
      continue;
    }
    const auto file = read_switch(*text, path);
    if (!file) {
      add(file.error());
      continue;
    }
    if (const auto machine = machine_of(*file); !machine) add(machine.error());
    const std::string& name = file->settings.name();
    if (std::ranges::find(switches, name, &FarmSwitch::name) != switches.end())
      add({{ProblemKind::inconsistent, Severity::error, file->locations.of("name"), "name",
            fmt::format("another switch of control.switches has the name '{}'", name)}});
    switches.push_back({name, path, std::move(*text)});
  }
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return switches;
}

}  // namespace weir::config
