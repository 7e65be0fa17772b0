#include <weir/base/text.hpp>
#include <weir/config/folder_name.hpp>

namespace weir::config {

std::string folder_name_problem(std::string_view name) {
  constexpr std::size_t kShownMax = 1024;
  const std::string shown = "'" + clean_text(name, kShownMax) + "'";
  if (utf8_prefix(name) != name.size())
    return shown + " is not UTF-8, which farm files and records use: choose another folder";
  if (name == "~" || name.starts_with("~/"))
    return shown + " is not expanded here, and would be a folder named '~': write the full path, or ./~";
  const std::size_t dollar = name.find('$');
  if (dollar != std::string_view::npos && dollar + 1 < name.size()) {
    const char next = name[dollar + 1];
    const bool begins = dollar == 0 || name[dollar - 1] == '/';
    if (next == '{' || next == '(' || (begins && ((next >= 'A' && next <= 'Z') || next == '_')))
      return shown + " has a variable, which is not expanded here: write the full path";
  }
  return {};
}

}  // namespace weir::config
