#pragma once

#include <weir/ingest/sources.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::readout {

// Returns the farm file's settings of built-in sources; a front-end counts as dummy, because the farm file
// has the sizes that its emulator sends.
[[nodiscard]] ingest::SourceSettings source_settings(const v1::Farm& farm);

}  // namespace weir::readout
