#include <weir/node/paths.hpp>

#include <filesystem>

namespace weir::node {

std::string program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::string plugin_folder() {
  namespace fs = std::filesystem;
  const fs::path prefix = fs::path(program_folder()).parent_path();
  const fs::path built = prefix / "plugins";
  std::error_code none;
  if (fs::is_directory(built, none)) return built.string();
  return (prefix / "lib" / "weir" / "plugins").string();
}

}  // namespace weir::node
