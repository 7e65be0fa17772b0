#include "control_connection.hpp"

#include <weir/config/farm_file.hpp>
#include <weir/node/setup.hpp>
#include <weir/security/keys.hpp>

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
  const ports::Endpoint endpoint = node::parse_endpoint(at);
  made.client.host = endpoint.host == "0.0.0.0" ? "127.0.0.1" : endpoint.host;
  made.client.port = endpoint.port;
  const std::string& folder = options.keys.empty() ? farm.control().keys() : options.keys;
  if (folder.empty()) return made;
  const auto role = options.role == "observer" ? security::BusRole::observer : security::BusRole::operator_;
  auto keys = security::read_curve_keys(folder + "/" + security::curve_file(role));
  if (!keys) throw std::invalid_argument(keys.error());
  made.client.keys = std::move(*keys);
  return made;
}

}  // namespace weir::commands
