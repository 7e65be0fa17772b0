#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/farm.pb.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

// Limits of a farm file. Aliases (*name) are refused, so the parsed farm is never larger than its text.
constexpr std::size_t kFarmFileBytesMax = std::size_t{16} << 20;
constexpr int kYamlDepthMax = 16;
constexpr int kIncludesMax = 32;  // included files, nested ones too

struct FarmFile {
  v1::Farm farm;
  Locations locations;
};

// Reads a farm file with its includes. Each key is checked on its own (known, right kind, in range);
// validate() checks them against each other. Errors: every problem of the file, not only the first.
[[nodiscard]] Expected<FarmFile, Problems> load_farm(const std::filesystem::path& path);

// Like load_farm() for text in memory. `name` is the file's name in problems, and its folder is searched for
// included files.
[[nodiscard]] Expected<FarmFile, Problems> read_farm(std::string_view text, const std::string& name);

// Sets one key, as in "dcm.credits=8", "readout.masked=[1,2]", "filter.parameters.minimum=5". A list is
// replaced as a whole. Notes in `locations`, if given, that the key came from the command line. On a problem
// the farm stays unchanged.
[[nodiscard]] Problems apply_override(v1::Farm& farm, std::string_view assignment,
                                      Locations* locations = nullptr);

// Returns the farm with every key written out, defaults too. Reads back as an equivalent farm.
[[nodiscard]] std::string to_yaml(const v1::Farm& farm);

}  // namespace weir::config
