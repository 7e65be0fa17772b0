#pragma once

#include <weir/base/expected.hpp>
#include <weir/bus/client.hpp>
#include <weir/run/child.hpp>
#include <weir/v1/farm.pb.h>

#include <optional>
#include <string>
#include <vector>

namespace weir::run {

// weir-run-control as a child of `weir run` and `weir up`.
struct ControlSettingsOfChild {
  std::string program_folder;
  std::string farm_file;
  std::vector<std::string> sets;  // key=value
  std::string listen;             // host:port, port 0: any
  std::string page;               // likewise; empty: what the farm file says
  std::string log_level;          // empty: its default
  std::string log_file;
  std::vector<std::string> more;  // arguments
};
[[nodiscard]] ChildSettings control_child(const ControlSettingsOfChild& settings);

// Where it listens.
struct ControlPlace {
  std::string at;    // host:port
  std::string page;  // host:port of its page; empty: none
};
// From what it has written so far; empty: not all of it is there. `listen`: as in its settings.
[[nodiscard]] std::optional<ControlPlace> control_place(const std::string& output, const std::string& listen);

// For talking to it as an operator. The error is a sentence: the farm's keys cannot be read.
[[nodiscard]] Expected<bus::ClientSettings, std::string> operator_of(const v1::Farm& farm,
                                                                     const std::string& at);

}  // namespace weir::run
