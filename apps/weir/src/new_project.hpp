#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace weir::commands {

// A file of a new project. Marks as @name@ are replaced in both.
struct ProjectFile {
  std::string_view path;
  std::string_view text;
};

// Creates the folder with the files. `command`: "weir filter new", for errors. Returns an exit status: 0;
// kUsage if the folder has files; 1 if a file cannot be written.
[[nodiscard]] int create_project(std::string_view command, const std::string& folder,
                                 std::span<const ProjectFile> files,
                                 const std::function<std::string(std::string_view)>& fill, std::ostream& err);

// "big-slices" becomes "BigSlices".
[[nodiscard]] std::string class_name(std::string_view name);

}  // namespace weir::commands
