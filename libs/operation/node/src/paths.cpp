#include <weir/config/folder_name.hpp>
#include <weir/node/paths.hpp>

#include <filesystem>
#include <sys/auxv.h>
#include <system_error>

namespace weir::node {

std::string program_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) return program.parent_path().string();
  // Without /proc: the path that started the program.
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  program = fs::canonical(started_as != nullptr ? started_as : "", error);
  return error ? std::string(".") : program.parent_path().string();
}

Expected<std::string, std::string> resolved_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  if (std::string why = config::folder_name_problem(folder); !why.empty())
    return Unexpected<std::string>(why);
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  std::string path;
  if (!error) path = fs::weakly_canonical(absolute, error).string();
  if (error) return Unexpected<std::string>("cannot find the folder '" + folder + "': " + error.message());
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (std::string why = config::folder_name_problem(path); !why.empty()) return Unexpected<std::string>(why);
  return path;
}

Expected<std::string, std::string> made_folder(const std::string& folder) {
  if (std::string why = config::folder_name_problem(folder); !why.empty())
    return Unexpected<std::string>(why);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Unexpected<std::string>("cannot make '" + folder + "': " + error.message());
  return resolved_folder(folder);
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
