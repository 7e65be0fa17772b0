#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/farm.pb.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace weir::config {

// Limits of a farm file. Aliases (*name) are refused, so what is read is never larger than what is written.
constexpr std::size_t kFarmFileBytesMax = std::size_t{16} << 20;
constexpr int kYamlDepthMax = 16;
constexpr int kIncludesMax = 32;  // files that a farm file includes, those that they include among them

struct FarmFile {
  v1::Farm farm;
  Locations locations;
};

// Reads a farm file, and what it includes. Each key is checked on its own (known, of the right kind, in
// range); validate() checks them against each other. On failure: every problem of the file, not only the
// first.
[[nodiscard]] Expected<FarmFile, Problems> load_farm(const std::filesystem::path& path);

// The same for text in memory; `name` stands for the file in problems, and its folder is where included files
// are looked for.
[[nodiscard]] Expected<FarmFile, Problems> read_farm(std::string_view text, const std::string& name);

// Sets one key, as "dcm.credits=8", "readout.masked=[1,2]", "filter.parameters.minimum=5". A list is replaced
// as a whole. Notes in `locations`, if given, that the key came from the command line. On a problem nothing
// is changed.
[[nodiscard]] Problems apply_override(v1::Farm& farm, std::string_view assignment,
                                      Locations* locations = nullptr);

// The farm with every key written out, defaults too. Reads back as an equivalent farm.
[[nodiscard]] std::string to_yaml(const v1::Farm& farm);

}  // namespace weir::config
