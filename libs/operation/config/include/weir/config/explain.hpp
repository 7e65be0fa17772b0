#pragma once

#include <weir/config/locations.hpp>
#include <weir/config/plan.hpp>
#include <weir/v1/farm.pb.h>

#include <string>
#include <vector>

namespace weir::config {

struct ExplainedKey {
  std::string key;    // "readout.buffer_bytes"
  std::string value;  // as written in a farm file
  std::string where;  // "farm.yaml:14", "--set"; empty: the default
};

// Returns the settings of a node: every key of its role, with this node's value and its origin.
[[nodiscard]] std::vector<ExplainedKey> explain(const v1::Farm& farm, const NodePlan& node,
                                                const Locations& locations);

// Returns the farm file's word, such as "udp" for KIND_UDP.
[[nodiscard]] std::string word_of(v1::SourceSettings::Kind kind);

}  // namespace weir::config
