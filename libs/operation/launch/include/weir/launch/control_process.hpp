#pragma once

#include <weir/base/expected.hpp>
#include <weir/bus/client.hpp>
#include <weir/launch/child.hpp>
#include <weir/security/keys.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weir::launch {

constexpr const char* kAnyPort = "127.0.0.1:0";

// weir-run-control as a child of `weir run` and `weir up`.
struct ControlChildSettings {
  std::string program_folder;
  std::string farm_file;
  std::vector<std::string> sets;  // key=value
  std::string listen;             // host:port, port 0: any
  std::string page;               // the same; empty: the farm file's, or none in a farm of one run
  std::string log_level;          // empty: its default
  std::string log_file;
  std::uint32_t log_files_kept = node::kLogFilesKept;
  std::vector<std::string> more;  // further arguments
  int network = -1;               // ChildSettings::network
};
[[nodiscard]] ChildSettings control_child(const ControlChildSettings& settings);

// The addresses of run control.
struct ControlPlace {
  std::string at;    // host:port
  std::string page;  // host:port of its page; empty: no page
  std::string page_url;
};
// Reads the addresses from its output so far. Returns nothing while the output is incomplete. `listen`: as in
// its settings.
[[nodiscard]] std::optional<ControlPlace> control_place(const std::string& output, const std::string& listen);
// Returns true once an operator has ended the farm (`weir ctl off`): its processes are ordered to end.
[[nodiscard]] bool control_says_off(const std::string& output);

// Returns the settings of a client for run control at host:port, with the role's key from `keys_folder`;
// empty: without keys. Errors: the key cannot be read, or `at` is the address of a page.
[[nodiscard]] Expected<bus::ClientSettings, std::string> bus_client(const std::string& at,
                                                                    const std::string& keys_folder,
                                                                    security::BusRole role);

}  // namespace weir::launch
