#pragma once

#include <weir/bus/client.hpp>
#include <weir/v1/bus.pb.h>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>

namespace weir::commands {

// Address and keys of run control: the options that `weir ctl`, `weir top` and `weir tap` share.
struct ConnectionOptions {
  std::string farm_file;
  std::string connect;
  std::string keys;
  std::string role;  // operator, observer
};

struct ControlConnection {
  bus::ClientSettings client;
  std::string farm;       // its name, where there is a farm file
  std::string keys;       // folder of the bus' keys; empty: none
  bool any_host = false;  // the address names no host: taken for this one
};

// Requests to run control, one at a time.
class ControlClient {
 public:
  // Throws std::invalid_argument, a sentence.
  ControlClient(const ConnectionOptions& options, double timeout_s);

  // Throws std::runtime_error when no answer comes in time.
  [[nodiscard]] v1::Reply ask(v1::Request request);
  // Waits a moment before the next request; no messages arrive without one.
  void pause();
  [[nodiscard]] v1::FarmView status();
  [[nodiscard]] const std::string& host() const { return at_.host; }
  [[nodiscard]] std::uint16_t port() const { return at_.port; }

 private:
  ControlClient(const ControlConnection& connection, double timeout_s);

  double timeout_s_;
  bus::ClientSettings at_;
  bool any_host_;
  bus::Client client_;
  std::uint64_t last_id_ = 0;
};

// Returns the operator's name for logs and records: "mark on daq-1, pid 4711". No proof: keys are for that.
[[nodiscard]] std::string client_name();
// `options` outlives the app.
void add_connection_options(CLI::App& command, ConnectionOptions& options);
// Throws std::invalid_argument, a sentence.
[[nodiscard]] ControlConnection control_connection(const ConnectionOptions& options);

}  // namespace weir::commands
