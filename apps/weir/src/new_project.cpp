#include "new_project.hpp"

#include "commands.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>

namespace weir::commands {

int create_project(std::string_view command, const std::string& folder, std::span<const ProjectFile> files,
                   const std::function<std::string(std::string_view)>& fill, std::ostream& err) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    err << command << ": " << folder << " exists and is not an empty folder: name another one\n";
    return kUsage;
  }
  fs::create_directories(folder, error);
  for (const ProjectFile& file : files) {
    const fs::path path = fs::path(folder) / fill(file.path);
    std::ofstream stream(path, std::ios::binary);
    stream << fill(file.text);
    stream.close();
    if (stream) continue;
    err << command << ": cannot write " << path.string()
        << ": check the folder's rights and the disk's room\n";
    return 1;
  }
  return 0;
}

std::string class_name(std::string_view name) {
  std::string text;
  bool is_first = true;
  for (const char letter : name) {
    if (letter != '-')
      text += is_first ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    is_first = letter == '-';
  }
  return text;
}

}  // namespace weir::commands
