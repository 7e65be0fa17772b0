#pragma once

#include <weir/base/plugin_file.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::config {

// True if the filter runs in worker processes: the farm file says so, or the filter is in Python.
[[nodiscard]] inline bool runs_in_workers(const v1::FilterSettings& filter) {
  return filter.isolation() == v1::FilterSettings::ISOLATION_WORKER || is_python_plugin(filter.plugin());
}

}  // namespace weir::config
