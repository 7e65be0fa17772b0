#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/switch.pb.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

struct SwitchFile {
  v1::Switch settings;
  Locations locations;
};

// Reads the file of a `weir-switch`, with the limits and problems of a farm file. Its keys are checked
// against each other when the switch is made.
[[nodiscard]] Expected<SwitchFile, Problems> load_switch(const std::filesystem::path& path);
[[nodiscard]] Expected<SwitchFile, Problems> read_switch(std::string_view text, const std::string& name);

// Sets one key, as in "queues=one". On a problem the settings stay unchanged.
[[nodiscard]] Problems apply_switch_override(SwitchFile& file, std::string_view assignment);

}  // namespace weir::config
