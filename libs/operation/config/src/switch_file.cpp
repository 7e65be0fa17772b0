#include "message_file.hpp"
#include <weir/config/switch_file.hpp>

#include <utility>

namespace weir::config {

Expected<SwitchFile, Problems> load_switch(const std::filesystem::path& path) {
  const auto text = read_text(path, "switch file");
  if (!text) return Unexpected<Problems>(text.error());
  return read_switch(*text, path.string());
}

Expected<SwitchFile, Problems> read_switch(std::string_view text, const std::string& name) {
  const auto tree = read_tree(text, name);
  if (!tree) return Unexpected<Problems>(tree.error());
  SwitchFile file{{}, Locations(name)};
  Problems problems = read_keys(*tree, name, file.settings, file.locations);
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return file;
}

Problems apply_switch_override(SwitchFile& file, std::string_view assignment) {
  return override_key(file.settings, "", assignment, &file.locations);
}

}  // namespace weir::config
