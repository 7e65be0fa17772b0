#include "message_file.hpp"

#include "message_reader.hpp"
#include "yaml_tree.hpp"
#include <weir/config/farm_file.hpp>

#include <fstream>
#include <system_error>
#include <utility>

namespace weir::config {
namespace {

Problems one_problem(ProblemKind kind, std::string where, std::string what) {
  return {{kind, Severity::error, std::move(where), {}, std::move(what)}};
}

}  // namespace

Expected<std::string, Problems> read_text(const std::filesystem::path& path, const std::string& kind) {
  const std::string name = path.string();
  const auto refuse = [&](std::string what) {
    return Unexpected<Problems>(one_problem(ProblemKind::unreadable, name, std::move(what)));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return refuse("is a folder, not a " + kind);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    const bool there = std::filesystem::exists(path, error);
    return refuse(there ? "cannot be read: check its permissions" : "no such file");
  }
  // One byte more than allowed tells that the file is too large, whatever its size is.
  std::string text(kFarmFileBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return refuse("cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

Problems read_message_text(std::string_view text, const std::string& name, google::protobuf::Message& message,
                           Locations& locations) {
  const auto place = [&](int line) { return line > 0 ? name + ":" + std::to_string(line) : name; };
  const auto tree = parse_yaml(text, {kFarmFileBytesMax, kYamlDepthMax});
  if (!tree) return one_problem(ProblemKind::syntax, place(tree.error().line), tree.error().what);
  if (tree->kind == YamlNode::Kind::null) return one_problem(ProblemKind::syntax, name, "holds no keys");
  locations = Locations(name);
  Problems problems;
  MessageReader reader(problems, place,
                       [&](const std::string& key, int line) { locations.set_line(key, line); });
  reader.read_message(*tree, message, {});
  return problems;
}

}  // namespace weir::config
