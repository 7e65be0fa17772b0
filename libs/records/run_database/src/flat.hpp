#pragma once

#include <boost/json/value.hpp>

#include <map>
#include <string>

namespace YAML {
class Node;
}

// Nested records as one map from paths to values.
namespace weir::run_database {

using Flat = std::map<std::string, std::string>;  // "dcm.credits" -> "8"

// Adds every value below `node`. Entries of a list are named by their `name`, otherwise by their number; a
// list of values is one value.
void flatten(const YAML::Node& node, const std::string& path, Flat& flat);
// Adds every number, text and truth value below `value`, without lists.
void flatten(const boost::json::value& value, const std::string& path, Flat& flat);

}  // namespace weir::run_database
