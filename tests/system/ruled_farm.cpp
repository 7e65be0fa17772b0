#include "ruled_farm.hpp"

#include <boost/json.hpp>

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace weir::system_test {
namespace {

constexpr Seconds kPatience(30);

std::string program(const std::string& name) { return std::string(WEIR_BIN_DIR) + "/" + name; }

}  // namespace

RuledFarm::RuledFarm(const TemporaryFolder& folder, std::string farm_file, Programs programs)
    : folder_(folder), farm_file_(std::move(farm_file)), programs_(std::move(programs)) {
  run_control_ = std::make_unique<Process>(
      std::vector<std::string>{program("weir-run-control"), "--farm", farm_file_, "--die-with-parent"},
      folder_ / "run-control.out", folder_ / "run-control.err");
  unsigned port = 0;
  const bool there = wait_until(
      [&] { return std::sscanf(run_control_->out().c_str(), "run-control %u publish", &port) == 1; },
      kPatience);
  if (!there) throw std::runtime_error("run control does not begin: " + run_control_->err());
  address_ = "127.0.0.1:" + std::to_string(port);
  for (const auto& [name, ignored] : programs_) start(name);
}

void RuledFarm::start(const std::string& name) {
  processes_.erase(name);
  processes_[name] = std::make_unique<Process>(
      std::vector<std::string>{program(programs_.at(name)), "--farm", farm_file_, "--name", name, "--control",
                               address_, "--die-with-parent"},
      folder_ / (name + ".out"), folder_ / (name + ".err"));
}

CommandEnd RuledFarm::ctl(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"ctl", "--connect", address_, "--timeout", "20"});
  return run_command(folder_, "weir", arguments);
}

boost::json::object RuledFarm::status() const {
  return boost::json::parse(ctl({"--json", "status"}).out).as_object();
}

std::string RuledFarm::state() const {
  const boost::json::object view = status();
  const std::string under_way(view.at("under_way").as_string());
  return std::string(view.at("state").as_string()) + (under_way.empty() ? "" : ", " + under_way);
}

std::string RuledFarm::state_of(const std::string& name) const {
  const boost::json::object view = status();
  for (const auto& node : view.at("nodes").as_array()) {
    if (node.at("name").as_string() != name) continue;
    return node.at("live").as_bool() ? std::string(node.at("state").at("state").as_string()) : "gone";
  }
  return "unknown";
}

std::string RuledFarm::events() const {
  std::string text;
  const boost::json::object view = status();
  for (const auto& line : view.at("events").as_array())
    text += std::string(line.at("text").as_string()) + "\n";
  return text;
}

}  // namespace weir::system_test
