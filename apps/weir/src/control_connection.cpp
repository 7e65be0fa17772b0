#include "control_connection.hpp"

#include <weir/config/farm_file.hpp>
#include <weir/run/control_process.hpp>

#include <CLI/CLI.hpp>

#include <stdexcept>
#include <utility>

namespace weir::commands {

void add_connection_options(CLI::App& command, ConnectionOptions& options) {
  command.add_option("--farm", options.farm_file, "farm file: where run control listens, and which keys");
  command.add_option("--connect", options.connect, "HOST:PORT of run control, instead of control.listen");
  command.add_option("--keys", options.keys, "folder of the bus' keys, instead of control.keys");
  command.add_option("--as", options.role, "operator, or observer")
      ->check(CLI::IsMember({"operator", "observer"}));
}

ControlConnection control_connection(const ConnectionOptions& options) {
  v1::Farm farm;
  ControlConnection made;
  if (!options.farm_file.empty()) {
    auto file = config::load_farm(options.farm_file);
    if (!file) throw std::invalid_argument(config::to_text(file.error()));
    farm = file->farm;
    made.farm = farm.farm();
  }
  const std::string& at = options.connect.empty() ? farm.control().listen() : options.connect;
  if (at.empty()) {
    throw std::invalid_argument(
        "where is run control? Give --connect HOST:PORT, or --farm FILE with control.listen");
  }
  const std::string& folder = options.keys.empty() ? farm.control().keys() : options.keys;
  const auto role = options.role == "observer" ? security::BusRole::observer : security::BusRole::operator_;
  auto client = run::bus_client(at, folder, role);
  if (!client) throw std::invalid_argument(client.error());
  made.client = std::move(*client);
  return made;
}

}  // namespace weir::commands
