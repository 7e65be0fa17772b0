#pragma once

#include <weir/ingest/sources.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::readout {

// What the farm file says of its sources, as far as they are built in; a front-end's counts as dummy, for its
// sizes are what an emulator of it sends.
[[nodiscard]] ingest::SourceSettings source_settings(const v1::Farm& farm);

}  // namespace weir::readout
