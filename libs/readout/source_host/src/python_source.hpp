#pragma once

#include <weir/weir_source.h>

namespace weir::source_host {

// The functions of every source in Python. create() finds the source and its settings through the
// SourceInstance that is the host's context.
[[nodiscard]] const weir_source_plugin& python_source_functions();

}  // namespace weir::source_host
