#pragma once

#include "farm_setup.hpp"
#include "health_watch.hpp"
#include <weir/bus/hub.hpp>
#include <weir/config/alarms.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/hooks.hpp>
#include <weir/control/quality.hpp>
#include <weir/http/tls_files.hpp>
#include <weir/page/people.hpp>
#include <weir/run_control/run_control.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::run_control {

// The settings of run control itself, from the farm file that it was started with.
struct OwnSettings {
  std::string listen;  // empty: not in the farm file
  std::string keys;    // folder; empty: none
  std::string run_out;
  std::string control_out;  // empty: run_out
  std::uint64_t log_file_bytes_max;
  std::uint32_t log_files_kept;
  std::string page;  // host:port; empty: none
  std::vector<std::string> page_names;
  http::TlsFiles page_tls;
  std::vector<page::Person> people;          // of the page
  std::vector<control::MemberPlan> members;  // the plan's processes, except masked ones
  control::Deadlines deadlines;
  DurationNs heartbeat_ns;
  std::size_t taps_max;
  std::uint64_t tap_bytes_per_s;  // 0: no taps
  DurationNs tap_lease_ns;
  HealthWatch::Groups groups;
  std::vector<control::Rule> rules;
  std::vector<control::Hook> hooks;  // none in a farm of one run
  control::DiskLimits disk_limits;
  std::vector<control::QualityCheck> quality;
  config::Alarms alarms;  // without channels in `weir run`
};
// With `one_run` no process is transient: all are waited for. Each process of the plan adds 100 ms to
// control.start_s: hundreds of them take longer to connect. Errors: std::runtime_error if the farm file gives
// a duty to an unknown process, or has rules or hooks that are not valid.
[[nodiscard]] OwnSettings own_settings(const FarmSetup& setup, bool one_run);
// Throws std::runtime_error with a sentence: keys are wanted and not there. `keys`: their folder.
[[nodiscard]] bus::HubSettings hub_settings(const std::string& keys, const std::string& listen);
// Returns the settings of the hub for so many processes, and raises this process's limit of descriptors for
// them. Throws likewise.
[[nodiscard]] bus::HubSettings hub_settings(const RunControlSettings& settings, const OwnSettings& own,
                                            std::size_t processes);
// Returns the folder of the records, and makes it if it does not exist. Throws std::runtime_error.
[[nodiscard]] std::string made_out(const RunControlSettings& settings, const OwnSettings& own);
// Returns the file of the saved state; empty: none.
[[nodiscard]] std::string memory_path(const RunControlSettings& settings, const OwnSettings& own);

}  // namespace weir::run_control
