#pragma once

#include <weir/config/locations.hpp>
#include <weir/config/plan.hpp>
#include <weir/v1/farm.pb.h>

#include <string>
#include <vector>

namespace weir::config {

struct ExplainedKey {
  std::string key;    // "readout.buffer_bytes"
  std::string value;  // as a farm file has it
  std::string where;  // "farm.yaml:14", "--set"; empty: the default
};

// What a node goes by: every key of its role, with this node's value and the place that it comes from.
[[nodiscard]] std::vector<ExplainedKey> explain(const v1::Farm& farm, const NodePlan& node,
                                                const Locations& locations);

// "udp" of KIND_UDP.
[[nodiscard]] std::string word_of(v1::SourceSettings::Kind kind);

}  // namespace weir::config
