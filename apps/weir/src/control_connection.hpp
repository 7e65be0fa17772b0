#pragma once

#include <weir/bus/client.hpp>

#include <CLI/App.hpp>

#include <string>

namespace weir::commands {

// Where run control is, and with which key it is asked: the options that `weir ctl` and `weir tap` share.
struct ConnectionOptions {
  std::string farm_file;
  std::string connect;
  std::string keys;
  std::string role;  // operator, observer
};

struct ControlConnection {
  bus::ClientSettings client;
  std::string farm;  // its name, where there is a farm file
};

// `options` outlives the app.
void add_connection_options(CLI::App& command, ConnectionOptions& options);
// Throws std::invalid_argument, a sentence.
[[nodiscard]] ControlConnection control_connection(const ConnectionOptions& options);

}  // namespace weir::commands
