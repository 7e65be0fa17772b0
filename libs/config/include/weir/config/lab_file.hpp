#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/lab.pb.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

// What stands before a key of the lab file on a command line: `--set lab.port_rate=1gbit`.
inline constexpr std::string_view kLabPrefix = "lab.";

struct LabFile {
  v1::Lab lab;
  Locations locations;
};

// Reads a lab file; limits and problems as those of a farm file. What keys mean together is checked where the
// lab is planned.
[[nodiscard]] Expected<LabFile, Problems> load_lab(const std::filesystem::path& path);
[[nodiscard]] Expected<LabFile, Problems> read_lab(std::string_view text, const std::string& name);

// Sets one key, as "lab.port_rate=1gbit". On a problem nothing is changed.
[[nodiscard]] Problems apply_lab_override(LabFile& file, std::string_view assignment);

// The lab with every key written out, defaults too.
[[nodiscard]] std::string to_yaml(const v1::Lab& lab);

}  // namespace weir::config
