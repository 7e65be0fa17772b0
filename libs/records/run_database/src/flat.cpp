#include "flat.hpp"

#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <yaml-cpp/yaml.h>

namespace weir::run_database {
namespace {

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

bool has_values_only(const YAML::Node& list) {
  for (const YAML::Node& one : list) {
    if (!one.IsScalar()) return false;
  }
  return true;
}

}  // namespace

void flatten(const YAML::Node& node, const std::string& path, Flat& flat) {
  if (node.IsScalar()) {
    flat[path] = node.Scalar();
  } else if (node.IsMap()) {
    for (const auto& member : node) flatten(member.second, below(path, member.first.Scalar()), flat);
  } else if (node.IsSequence() && has_values_only(node)) {
    std::string values;
    for (const YAML::Node& one : node) values += (values.empty() ? "" : ", ") + one.Scalar();
    flat[path] = "[" + values + "]";
  } else if (node.IsSequence()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      const YAML::Node name = node[i].IsMap() ? node[i]["name"] : YAML::Node(YAML::NodeType::Undefined);
      flatten(node[i], below(path, name.IsDefined() && name.IsScalar() ? name.Scalar() : std::to_string(i)),
              flat);
    }
  }
}

void flatten(const boost::json::value& value, const std::string& path, Flat& flat) {
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) flatten(member.value(), below(path, member.key()), flat);
  } else if (const auto* text = value.if_string()) {
    flat[path] = std::string(*text);
  } else if (!value.is_array() && !value.is_null()) {
    flat[path] = run_record::one_line(value);
  }
}

}  // namespace weir::run_database
