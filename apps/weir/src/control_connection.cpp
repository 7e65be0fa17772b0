#include "control_connection.hpp"

#include <weir/clock/clock.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/control/states.hpp>
#include <weir/launch/control_process.hpp>
#include <weir/launch/farms_here.hpp>
#include <weir/reports/clean_texts.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <pwd.h>

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::commands {
namespace {

constexpr DurationNs kAnswerWait = 50 * kMillisecond;

std::string only_farm_here() {
  const std::vector<launch::FarmHere> farms = launch::farms_here();
  if (farms.size() == 1) return farms.front().control;
  if (farms.empty()) {
    throw std::invalid_argument(
        "no run control of yours on this machine: use --connect HOST:PORT, --farm FILE with control.listen, "
        "or WEIR_CONNECT");
  }
  std::string list;
  for (const launch::FarmHere& one : farms)
    list += (list.empty() ? "" : ", ") + one.farm + " at " + one.control;
  throw std::invalid_argument("several farms: " + list + ": give --connect HOST:PORT, or set WEIR_CONNECT");
}

}  // namespace

std::string client_name() {
  const passwd* user = ::getpwuid(::getuid());
  char host[256] = {};
  const bool named = ::gethostname(host, sizeof host - 1) == 0;
  return fmt::format("{}{}{}, pid {}", user != nullptr ? user->pw_name : fmt::format("user {}", ::getuid()),
                     named ? " on " : "", static_cast<const char*>(host), ::getpid());
}

void add_connection_options(CLI::App& command, ConnectionOptions& options) {
  command.add_option("--farm", options.farm_file, "farm file: address of run control, and keys");
  command.add_option("--connect", options.connect,
                     "HOST:PORT of run control, instead of control.listen\n(default without both: "
                     "WEIR_CONNECT, or your only farm on this machine)");
  command.add_option("--keys", options.keys, "folder of the bus' keys, instead of control.keys");
  command.add_option("--as", options.role, "role on the bus: operator or observer")
      ->check(CLI::IsMember({"operator", "observer"}));
}

ControlConnection control_connection(const ConnectionOptions& options) {
  config::FarmFile file;
  ControlConnection made;
  if (!options.farm_file.empty()) {
    auto read = config::load_farm(options.farm_file);
    if (!read) throw std::invalid_argument(config::to_text(read.error()));
    file = std::move(*read);
    made.farm = file.farm.farm();
  }
  std::string at = options.connect.empty() ? file.farm.control().listen() : options.connect;
  const char* usual = std::getenv("WEIR_CONNECT");
  if (at.empty() && usual != nullptr) at = usual;
  if (at.empty()) at = only_farm_here();
  const std::string& folder = options.keys.empty() ? file.farm.control().keys() : options.keys;
  const auto role = options.role == "observer" ? security::BusRole::observer : security::BusRole::operator_;
  try {
    auto client = launch::bus_client(at, folder, role);
    if (!client) throw std::invalid_argument(client.error());
    made.client = std::move(*client);
    made.keys = folder;
    made.any_host = at.starts_with("0.0.0.0:") || at.starts_with("[::]:");
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument(error.what());
  }
  return made;
}

ControlClient::ControlClient(const ConnectionOptions& options, double timeout_s)
    : ControlClient(control_connection(options), timeout_s) {}

ControlClient::ControlClient(const ControlConnection& connection, double timeout_s)
    : timeout_s_(timeout_s), at_(connection.client), any_host_(connection.any_host), client_(at_, {}) {}

v1::Reply ControlClient::ask(v1::Request request) {
  request.set_id(++last_id_);
  request.set_by(client_name());
  v1::BusMessage message;
  *message.mutable_request() = std::move(request);
  client_.send(message);
  double until_s = monotonic_now_s() + timeout_s_;
  while (monotonic_now_s() < until_s) {
    for (v1::BusMessage& answer : client_.wait(kAnswerWait)) {
      if (!answer.has_reply() || answer.reply().id() != last_id_) continue;
      if (answer.reply().pending_ms() > 0) {  // hooks are asked first
        until_s = monotonic_now_s() + timeout_s_ + static_cast<double>(answer.reply().pending_ms()) / 1e3;
        continue;
      }
      reports::clean_texts(*answer.mutable_reply());
      return std::move(*answer.mutable_reply());
    }
  }
  client_.drop_unsent();
  throw std::runtime_error(
      fmt::format("run control at {}:{} does not answer within {} s: check that it is running, that this is "
                  "the port of control.listen and not the page's, and that both have the same keys{}",
                  at_.host, at_.port, timeout_s_,
                  any_host_ ? fmt::format("; from another host, give --connect HOST:{}", at_.port) : ""));
}

void ControlClient::pause() { (void)client_.wait(kAnswerWait); }

v1::FarmView ControlClient::status() {
  v1::Request request;
  request.set_command(std::string(name(control::RequestKind::status)));
  return ask(request).view();
}

}  // namespace weir::commands
