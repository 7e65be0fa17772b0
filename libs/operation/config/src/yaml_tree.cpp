#include "yaml_tree.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace weir::config {
namespace {

constexpr std::size_t kShownCharactersMax = 60;

struct Refusal {
  YamlError error;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(int depth_max) : depth_max_(depth_max) {}

  Expected<YamlNode, YamlError> take() {
    WEIR_ASSERT(open_.empty());
    if (bad_key_line_ != 0) return Unexpected<YamlError>({bad_key_line_, "a key has to be a plain word"});
    return std::move(root_);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(node(YamlNode::Kind::null, mark)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{{mark.line + 1, "an alias (*name) is not allowed: write the value out"}};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    refuse_tag(mark, tag);
    YamlNode scalar = node(YamlNode::Kind::scalar, mark);
    scalar.text = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag);
  }
  void OnMapEnd() override { close(); }

 private:
  static YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode made;
    made.kind = kind;
    made.line = mark.line + 1;
    return made;
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Refusal{{mark.line + 1, "a tag (!name) is not allowed"}};
  }
  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    refuse_tag(mark, tag);
    if (static_cast<int>(open_.size()) == depth_max_) {
      throw Refusal{{mark.line + 1, "nested deeper than " + std::to_string(depth_max_) + " levels"}};
    }
    open_.push_back(node(kind, mark));
  }
  void close() {
    WEIR_ASSERT(!open_.empty());
    YamlNode done = std::move(open_.back());
    open_.pop_back();
    add(std::move(done));
  }
  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().kind == YamlNode::Kind::map &&
           open_.back().keys.size() == open_.back().items.size();
  }
  void add(YamlNode child) {
    if (open_.empty()) {
      root_ = std::move(child);
    } else if (!expects_key()) {
      WEIR_ASSERT(open_.back().kind != YamlNode::Kind::map ||
                  open_.back().keys.size() == open_.back().items.size() + 1);
      open_.back().items.push_back(std::move(child));
    } else if (child.kind == YamlNode::Kind::scalar) {
      open_.back().keys.push_back(std::move(child));
    } else {
      // Not thrown here: for a list that is never closed the parser first reports a key, and then the actual
      // error.
      if (bad_key_line_ == 0) bad_key_line_ = child.line;
      open_.back().keys.push_back(node(YamlNode::Kind::scalar, {}));
    }
  }

  int depth_max_;
  int bad_key_line_ = 0;  // line of the first bad key
  std::vector<YamlNode> open_;
  YamlNode root_;
};

int line_of(std::string_view text, std::size_t offset) {
  return 1 +
         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

}  // namespace

Expected<YamlNode, YamlError> parse_yaml(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return Unexpected<YamlError>({0, "larger than " + std::to_string(limits.bytes_max) + " bytes"});
  }
  if (const std::size_t good = utf8_prefix(text); good < text.size()) {
    return Unexpected<YamlError>({line_of(text, good), "not UTF-8 text"});
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Unexpected<YamlError>({line_of(text, zero), "holds a zero byte: not a text file"});
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(limits.depth_max);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    TreeBuilder second(limits.depth_max);
    if (parser.HandleNextDocument(second)) {
      return Unexpected<YamlError>({0, "holds more than one YAML document ('---')"});
    }
    return builder.take();
  } catch (const Refusal& refusal) {
    return Unexpected<YamlError>(refusal.error);
  } catch (const YAML::Exception& error) {
    return Unexpected<YamlError>({error.mark.line + 1, "not valid YAML: " + error.msg});
  }
}

std::string printable(std::string_view text) {
  std::string shown;
  std::size_t characters = 0;
  for (const char c : text) {
    const bool continuation = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (!continuation && ++characters > kShownCharactersMax) {
      shown += "…";
      break;
    }
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    shown += control ? '?' : c;
  }
  return shown;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return in_quotes(node.text);
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "keys and values";
  }
  return {};
}

}  // namespace weir::config
