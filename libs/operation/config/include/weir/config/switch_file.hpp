#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/switching/settings.hpp>
#include <weir/v1/farm.pb.h>
#include <weir/v1/switch.pb.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

struct SwitchFile {
  v1::Switch settings;
  Locations locations;
};

// Reads the file of a `weir-switch`, with the limits and problems of a farm file. machine_of() checks its
// keys against each other.
[[nodiscard]] Expected<SwitchFile, Problems> load_switch(const std::filesystem::path& path);
[[nodiscard]] Expected<SwitchFile, Problems> read_switch(std::string_view text, const std::string& name);

// Sets one key, as in "queues=one". On a problem the settings stay unchanged.
[[nodiscard]] Problems apply_switch_override(SwitchFile& file, std::string_view assignment);

// Returns the file's ports, rings and routes.
[[nodiscard]] Expected<switching::SwitchSettings, Problems> machine_of(const SwitchFile& file);

// Returns why a running switch cannot change from one file to another: only rings and addresses may differ.
[[nodiscard]] Problems problems_of_change(const SwitchFile& from, const SwitchFile& to);

// A switch of control.switches.
struct FarmSwitch {
  std::string name;
  std::string path;  // of its file
  std::string text;
};

// Reads and checks the files of control.switches, in order. Errors: problems of any of them, and equal names.
[[nodiscard]] Expected<std::vector<FarmSwitch>, Problems> load_switches(const v1::Farm& farm);

}  // namespace weir::config
