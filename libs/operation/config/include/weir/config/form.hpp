#pragma once

#include <weir/config/locations.hpp>
#include <weir/v1/farm.pb.h>

#include <string>
#include <vector>

namespace weir::config {

// A key of a farm, for a form.
struct FormKey {
  std::string key;                 // "dcm.credits"
  std::string type;                // "integer, 1…4096"
  std::vector<std::string> words;  // allowed values; empty: others than these
  std::string meaning;
  std::string default_value;  // as written in a farm file
  std::string value;
  std::string where;  // "farm.yaml:14", "--set"; empty: the default
};

// Returns the keys that all nodes of a role share, and those of the farm, in the schema's order; without
// lists of entries, such as `dcm.nodes`, and without the sections that are read when a process starts
// (control, log, metrics).
[[nodiscard]] std::vector<FormKey> form_of(const v1::Farm& farm, const Locations& locations);

}  // namespace weir::config
