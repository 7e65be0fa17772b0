#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/lab.pb.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

// Prefix of the lab file's keys on a command line: `--set lab.port_rate=1gbit`.
inline constexpr std::string_view kLabPrefix = "lab.";

struct LabFile {
  v1::Lab lab;
  Locations locations;
};

// Reads a lab file, with the limits and problems of a farm file. The keys are checked against each other when
// the lab is planned.
[[nodiscard]] Expected<LabFile, Problems> load_lab(const std::filesystem::path& path);
[[nodiscard]] Expected<LabFile, Problems> read_lab(std::string_view text, const std::string& name);

// Sets one key, as in "lab.port_rate=1gbit". On a problem the lab stays unchanged.
[[nodiscard]] Problems apply_lab_override(LabFile& file, std::string_view assignment);

// Returns the lab with every key written out, defaults too.
[[nodiscard]] std::string to_yaml(const v1::Lab& lab);

}  // namespace weir::config
