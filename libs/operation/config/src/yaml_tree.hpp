#pragma once

#include <weir/base/expected.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// A parsed YAML document: keys in order, repeated ones too, each value with its line.
struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  int line = 0;                 // from 1
  std::string text;             // of a scalar
  std::vector<YamlNode> keys;   // of a map: scalars, one per item
  std::vector<YamlNode> items;  // of a list or a map
};

struct YamlLimits {
  std::size_t bytes_max = 0;
  int depth_max = 0;
};

struct YamlError {
  int line = 0;  // 0: the document as a whole
  std::string what;
};

// Parses one document. Refuses text that is not UTF-8, several documents, aliases, tags, keys that are not
// plain words, and input beyond a limit. An empty document is a null node.
[[nodiscard]] Expected<YamlNode, YamlError> parse_yaml(std::string_view text, const YamlLimits& limits);

// Returns "a list", "keys and values", "nothing", or the scalar's text in quotes.
[[nodiscard]] std::string describe(const YamlNode& node);

// Returns the text as one line for a message: cut, and with '?' for control characters.
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace weir::config
