#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::arch {

// Text files by their path from the top of the tree ("libs/foundation/base/src/crc32c.cpp").
using SourceTree = std::map<std::string, std::string>;

// The text files under the given folders of `root`. Files that hold a zero byte are left out.
SourceTree read_tree(const std::string& root, const std::vector<std::string>& folders);

// A library as its weir_add_library declared it.
struct Library {
  std::string name;
  int layer = 0;
  std::string dir;                   // from the top of the tree: "libs/network/wire"
  std::vector<std::string> depends;  // names
  std::vector<std::string> headers;  // as they are included: "weir/wire/frame.hpp"
};

struct Layers {
  int pure_layer_max = 0;             // up to this layer a library is a pure machine
  std::vector<std::string> sideways;  // "from>to": neighbours that may use each other
  std::vector<Library> libraries;
};

// Parses the output of weir_write_layers. Throws std::runtime_error for other input.
Layers parse_layers(const std::string& json);

// Replaces comments by blanks, and with `strings_too` also the contents of string and character literals.
// Line numbers stay the same.
std::string without_comments(std::string_view code, bool strings_too);

std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace weir::arch
