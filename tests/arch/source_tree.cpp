#include "source_tree.hpp"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weir::arch {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> strings_of(const YAML::Node& list) {
  std::vector<std::string> strings;
  for (const auto& item : list) {
    if (auto text = item.as<std::string>(); !text.empty()) strings.push_back(std::move(text));
  }
  return strings;
}

// Kind of text that a character of a C++ source belongs to.
enum class Part { kCode, kLineComment, kBlockComment, kString, kCharacter, kRawString };

bool is_word_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Recognises comments and literals in C++.
class Blanker {
 public:
  Blanker(std::string_view code, bool strings_too) : code_(code), out_(code), strings_too_(strings_too) {}

  std::string run() {
    while (at_ < code_.size()) {
      if (part_ == Part::kCode) {
        step_code();
      } else {
        step_inside();
      }
    }
    return std::move(out_);
  }

 private:
  bool here(std::string_view text) const { return code_.substr(at_, text.size()) == text; }

  void enter(Part part, std::size_t length) {
    part_ = part;
    if (part == Part::kLineComment || part == Part::kBlockComment) blank(length);
    at_ += length;
  }

  void blank(std::size_t length) {
    for (std::size_t i = at_; i < at_ + length && i < out_.size(); ++i) {
      if (out_[i] != '\n') out_[i] = ' ';
    }
  }

  void step_code() {
    if (here("//")) {
      enter(Part::kLineComment, 2);
    } else if (here("/*")) {
      enter(Part::kBlockComment, 2);
    } else if (here("R\"") && (at_ == 0 || !is_word_char(code_[at_ - 1]))) {
      const auto open = code_.find('(', at_);
      if (open == std::string_view::npos) {
        at_ = code_.size();
        return;
      }
      raw_end_ = ")" + std::string(code_.substr(at_ + 2, open - at_ - 2)) + "\"";
      enter(Part::kRawString, open + 1 - at_);
    } else if (here("\"")) {
      enter(Part::kString, 1);
    } else if (here("'") &&
               (at_ == 0 ||
                !is_word_char(code_[at_ - 1]))) {  // otherwise it separates the digits of a number
      enter(Part::kCharacter, 1);
    } else {
      ++at_;
    }
  }

  void step_inside() {
    const bool comment = part_ == Part::kLineComment || part_ == Part::kBlockComment;
    const std::size_t end = end_length();
    if (end > 0) {
      if (comment) blank(end);
      at_ += end;
      part_ = Part::kCode;
      return;
    }
    const bool escape = (part_ == Part::kString || part_ == Part::kCharacter) && here("\\");
    const std::size_t length = escape ? 2 : 1;
    if (comment || strings_too_) blank(length);
    at_ += length;
  }

  // Returns the length of the current part's terminator if it is here, otherwise 0.
  std::size_t end_length() const {
    switch (part_) {
      case Part::kLineComment:
        return here("\n") ? 1 : 0;
      case Part::kBlockComment:
        return here("*/") ? 2 : 0;
      case Part::kString:
        return here("\"") || here("\n") ? 1 : 0;
      case Part::kCharacter:
        return here("'") || here("\n") ? 1 : 0;
      case Part::kRawString:
        return here(raw_end_) ? raw_end_.size() : 0;
      case Part::kCode:
        break;
    }
    return 0;
  }

  std::string_view code_;
  std::string out_;
  bool strings_too_;
  std::size_t at_ = 0;
  Part part_ = Part::kCode;
  std::string raw_end_;
};

}  // namespace

SourceTree read_tree(const std::string& root, const std::vector<std::string>& folders) {
  SourceTree tree;
  for (const auto& folder : folders) {
    if (!fs::exists(fs::path(root) / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      if (!entry.is_regular_file()) continue;
      auto text = read_file(entry.path());
      if (text.find('\0') != std::string::npos) continue;
      tree.emplace(entry.path().lexically_relative(root).generic_string(), std::move(text));
    }
  }
  return tree;
}

Layers parse_layers(const std::string& json) {
  try {
    const YAML::Node root = YAML::Load(json);  // JSON is YAML
    Layers layers;
    layers.pure_layer_max = root["pure_layer_max"].as<int>();
    layers.sideways = strings_of(root["sideways"]);
    for (const auto& node : root["libraries"]) {
      layers.libraries.push_back({.name = node["name"].as<std::string>(),
                                  .layer = node["layer"].as<int>(),
                                  .dir = node["dir"].as<std::string>(),
                                  .depends = strings_of(node["depends"]),
                                  .headers = strings_of(node["headers"])});
    }
    return layers;
  } catch (const YAML::Exception& error) {
    throw std::runtime_error(std::string("the list of layers that CMake writes is malformed: ") +
                             error.what());
  }
}

std::string without_comments(std::string_view code, bool strings_too) {
  return Blanker(code, strings_too).run();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace weir::arch
