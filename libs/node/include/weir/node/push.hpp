#pragma once

#include <weir/slice_rows/destinations.hpp>
#include <weir/v1/control.pb.h>

namespace weir::node {

// Returns false if no supervisor could have made the table.
[[nodiscard]] bool take_destinations(const v1::Destinations& message, slice_rows::DestinationTable& table);

}  // namespace weir::node
