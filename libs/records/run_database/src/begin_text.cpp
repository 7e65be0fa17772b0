#include "begin_text.hpp"

#include <weir/run_database/moment.hpp>

#include <yaml-cpp/yaml.h>

#include <fstream>
#include <iterator>

namespace weir::run_database {

std::optional<BeginText> read_begin(const std::string& text) {
  try {
    // Nodes and configuration are most of the record, and in the farm file too.
    const YAML::Node root = YAML::Load(text.substr(0, text.find("\nnodes:")));
    if (!root.IsMap() || !root["run"]) return std::nullopt;
    BeginText begin;
    for (const auto& member : root) {
      const std::string key = member.first.Scalar();
      if (key == "run") continue;
      if (key == "farm") {
        begin.farm = member.second.Scalar();
      } else if (key == "begin") {
        begin.begin_utc_ns = read_moment(member.second.Scalar(), 0).value_or(0);
      } else if (key == "fields" && member.second.IsMap()) {
        for (const auto& one : member.second) begin.fields[one.first.Scalar()] = one.second.Scalar();
      } else {
        flatten(member.second, key, begin.parts);
      }
    }
    return begin;
  } catch (const YAML::Exception&) {
    return std::nullopt;
  }
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace weir::run_database
