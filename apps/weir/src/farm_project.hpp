#pragma once

#include <iosfwd>
#include <string>

namespace weir::commands {

// Creates a folder with a farm of its own: farm file, front-end and filter in Python, their test (`weir
// new`). Returns the exit status.
[[nodiscard]] int create_farm_project(const std::string& folder, std::ostream& out, std::ostream& err);

// Where a farm file is named by its folder, enters the folder and names its farm.yaml, so that the paths in
// it are relative to it.
void enter_farm_folder(std::string& farm_file);
// Makes a path of the command line absolute if enter_farm_folder() will leave this folder.
void keep_path(const std::string& farm_file, std::string& path);

}  // namespace weir::commands
