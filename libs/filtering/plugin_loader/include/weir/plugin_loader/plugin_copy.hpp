#pragma once

#include <weir/base/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::plugin_loader {

struct PluginFile {
  std::string path;  // absolute
  std::string content;
};

// The files of a plugin as they were when it was read.
struct PluginCopy {
  std::vector<PluginFile> files;  // the plugin, then modules that a plugin in Python imports from beside it
  std::uint32_t crc32c = 0;       // of the plugin's bytes; with modules, of their names and bytes as well
};

constexpr std::size_t kCopyFilesMax = 2000;
constexpr std::size_t kPythonCopyBytesMax = std::size_t{48} << 20;

// Reads the plugin at `path`. For Python (.py), reads also the modules and packages in its folder that the
// file imports, or that these import: each word of a line that contains "import" and is the name of such a
// module. A package is read as a whole. Errors: a sentence without the path.
[[nodiscard]] Expected<PluginCopy, std::string> copy_plugin(const std::string& path);

// Returns the absolute path of a plugin in Python: a file of this name, or else the first one in the folders
// of `search_path`. `noun`: "filter" or "source". Errors: a sentence with the places.
[[nodiscard]] Expected<std::string, std::string> find_python_plugin(
    const std::string& noun, const std::string& name_or_path, const std::vector<std::string>& search_path);

}  // namespace weir::plugin_loader
