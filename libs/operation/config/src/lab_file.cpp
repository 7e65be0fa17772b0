#include "message_file.hpp"
#include <weir/config/lab_file.hpp>

#include <utility>

namespace weir::config {

Expected<LabFile, Problems> load_lab(const std::filesystem::path& path) {
  const auto text = read_text(path, "lab file");
  if (!text) return Unexpected<Problems>(text.error());
  return read_lab(*text, path.string());
}

Expected<LabFile, Problems> read_lab(std::string_view text, const std::string& name) {
  const auto tree = read_tree(text, name);
  if (!tree) return Unexpected<Problems>(tree.error());
  LabFile file{{}, Locations(name)};
  Problems problems = read_keys(*tree, name, file.lab, file.locations);
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return file;
}

Problems apply_lab_override(LabFile& file, std::string_view assignment) {
  if (assignment.starts_with(kLabPrefix)) assignment.remove_prefix(kLabPrefix.size());
  return override_key(file.lab, std::string(kLabPrefix.substr(0, kLabPrefix.size() - 1)), assignment,
                      &file.locations);
}

std::string to_yaml(const v1::Lab& lab) { return message_to_yaml(lab); }

}  // namespace weir::config
