#include "message_file.hpp"

#include "message_reader.hpp"
#include "yaml_tree.hpp"
#include <weir/config/farm_file.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

namespace weir::config {
namespace {

Problems one_problem(ProblemKind kind, std::string where, std::string what) {
  return {{kind, Severity::error, std::move(where), {}, std::move(what)}};
}

std::string place(const std::string& name, int line) {
  return line > 0 ? name + ":" + std::to_string(line) : name;
}

}  // namespace

Expected<std::string, Problems> read_text(const std::filesystem::path& path, const std::string& kind) {
  const std::string name = path.string();
  const auto refuse = [&](std::string what) {
    return Unexpected<Problems>(one_problem(ProblemKind::unreadable, name, std::move(what)));
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) return refuse("is a folder, not a " + kind);
  // Reading a pipe would block, and leave nothing for the next process that reads the file.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return refuse("is not a regular file: a " + kind + " is read more than once");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    if (errno == EACCES) return refuse("cannot be read: check its permissions");
    return refuse(std::filesystem::exists(status) ? std::string("cannot be read: ") + std::strerror(errno)
                                                  : std::string("no such file"));
  }
  // Reads one byte past the limit at least, because the size that the file system reports may be wrong.
  std::string text;
  std::array<char, 64 * 1024> part;
  while (stream && text.size() <= kFarmFileBytesMax) {
    stream.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return refuse("cannot be read");
  return text;
}

Expected<YamlNode, Problems> read_tree(std::string_view text, const std::string& name) {
  auto tree = parse_yaml(text, {kFarmFileBytesMax, kYamlDepthMax});
  if (!tree)
    return Unexpected<Problems>(
        one_problem(ProblemKind::syntax, place(name, tree.error().line), tree.error().what));
  if (tree->kind == YamlNode::Kind::null)
    return Unexpected<Problems>(one_problem(ProblemKind::syntax, name, "holds no keys"));
  return std::move(*tree);
}

Problems read_keys(const YamlNode& tree, const std::string& name, google::protobuf::Message& message,
                   Locations& locations) {
  Problems problems;
  MessageReader reader(
      problems, [&](int line) { return place(name, line); },
      [&](const std::string& key, int line) { locations.set_line(name, key, line); });
  reader.read_message(tree, message, {});
  return problems;
}

}  // namespace weir::config
