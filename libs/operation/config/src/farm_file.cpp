#include "message_file.hpp"
#include <weir/config/farm_file.hpp>

#include <utility>
#include <vector>

namespace weir::config {

namespace {

// Returns the included files with their lines. A value that is not a list of texts is left to MessageReader,
// which reports it.
std::vector<YamlNode> includes_of(const YamlNode& tree) {
  std::vector<YamlNode> found;
  for (std::size_t i = 0; i < tree.keys.size(); ++i) {
    if (tree.keys[i].text == "include" && tree.items[i].kind == YamlNode::Kind::list)
      found = tree.items[i].items;
  }
  return found;
}

// Merges a farm file with the files that it includes, recursively. Included files come first.
class Composition {
 public:
  explicit Composition(FarmFile& file) : file_(file) {}

  void add(std::string_view text, const std::string& name) {
    const auto tree = read_tree(text, name);
    if (!tree) return report(tree.error());
    for (const YamlNode& one : includes_of(*tree)) {
      if (one.kind == YamlNode::Kind::scalar && problems_.empty()) include(one, name);
    }
    report(read_keys(*tree, name, file_.farm, file_.locations));
    file_.farm.clear_include();
  }

  Problems take_problems() { return std::move(problems_); }

 private:
  void include(const YamlNode& from, const std::string& name) {
    const std::string path = (std::filesystem::path(name).parent_path() / from.text).string();
    const auto refuse = [&](const std::string& what) {
      problems_.push_back({ProblemKind::unreadable, Severity::error, name + ":" + std::to_string(from.line),
                           "include", in_quotes(path) + ": " + what});
    };
    if (++files_ > kIncludesMax)
      return refuse("more than " + std::to_string(kIncludesMax) + " files: they may include each other");
    const auto text = read_text(path, "farm file");
    if (!text) return refuse(text.error().front().what);
    add(*text, path);
  }

  void report(const Problems& found) { problems_.insert(problems_.end(), found.begin(), found.end()); }

  FarmFile& file_;
  Problems problems_;
  int files_ = 0;
};

}  // namespace

Expected<FarmFile, Problems> load_farm(const std::filesystem::path& path) {
  const auto text = read_text(path, "farm file");
  if (!text) return Unexpected<Problems>(text.error());
  return read_farm(*text, path.string());
}

Expected<FarmFile, Problems> read_farm(std::string_view text, const std::string& name) {
  FarmFile file{{}, Locations(name)};
  Composition composition(file);
  composition.add(text, name);
  Problems problems = composition.take_problems();
  if (!problems.empty()) return Unexpected<Problems>(std::move(problems));
  return file;
}

Problems apply_override(v1::Farm& farm, std::string_view assignment, Locations* locations) {
  return override_key(farm, {}, assignment, locations);
}

std::string to_yaml(const v1::Farm& farm) { return message_to_yaml(farm); }

}  // namespace weir::config
