#pragma once

#include <weir/base/expected.hpp>
#include <weir/bus/client.hpp>
#include <weir/launch/child.hpp>
#include <weir/security/keys.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weir::launch {

// weir-run-control as a child of `weir run` and `weir up`.
struct ControlChildSettings {
  std::string program_folder;
  std::string farm_file;
  std::vector<std::string> sets;  // key=value
  std::string listen;             // host:port, port 0: any
  std::string page;               // likewise; empty: none, or, but for a farm of one run, the farm file's
  std::string log_level;          // empty: its default
  std::string log_file;
  std::uint32_t log_files_kept = node::kLogFilesKept;
  std::vector<std::string> more;  // arguments
  int network = -1;               // ChildSettings::network
};
[[nodiscard]] ChildSettings control_child(const ControlChildSettings& settings);

// Where it listens.
struct ControlPlace {
  std::string at;    // host:port
  std::string page;  // host:port of its page; empty: none
};
// From what it has written so far; empty: not all of it is there. `listen`: as in its settings.
[[nodiscard]] std::optional<ControlPlace> control_place(const std::string& output, const std::string& listen);
// An operator has ended the farm (`weir ctl off`): its processes are told to end.
[[nodiscard]] bool control_says_off(const std::string& output);

// For talking to run control at host:port, with the role's key of `keys_folder`; empty: without keys. The
// error is a sentence: the key cannot be read.
[[nodiscard]] Expected<bus::ClientSettings, std::string> bus_client(const std::string& at,
                                                                    const std::string& keys_folder,
                                                                    security::BusRole role);

}  // namespace weir::launch
