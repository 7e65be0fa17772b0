#pragma once

#include <weir/base/expected.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// A YAML document as it is written: keys in order, repeated ones too, each value with its line.
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

// Refuses what is not UTF-8, several documents, aliases, tags, keys that are not plain words, and what is
// over a limit. An empty document is a null node.
[[nodiscard]] Expected<YamlNode, YamlError> parse_yaml(std::string_view text, const YamlLimits& limits);

// "a list", "keys and values", "nothing", or the scalar's text in quotes.
[[nodiscard]] std::string describe(const YamlNode& node);

// The text as one line of a message: cut, and with '?' for control characters.
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace weir::config
