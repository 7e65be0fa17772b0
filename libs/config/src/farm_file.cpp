#include "message_file.hpp"
#include <weir/config/farm_file.hpp>

#include <utility>

namespace weir::config {

Expected<FarmFile, Problems> load_farm(const std::filesystem::path& path) {
  const auto text = read_text(path, "farm file");
  if (!text) return Unexpected<Problems>(text.error());
  return read_farm(*text, path.string());
}

Expected<FarmFile, Problems> read_farm(std::string_view text, const std::string& name) {
  FarmFile file;
  Problems problems = read_message_text(text, name, file.farm, file.locations);
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return file;
}

Problems apply_override(v1::Farm& farm, std::string_view assignment, Locations* locations) {
  return override_key(farm, {}, assignment, locations);
}

std::string to_yaml(const v1::Farm& farm) { return message_to_yaml(farm); }

}  // namespace weir::config
