#pragma once

#include <weir/ports/datagrams.hpp>
#include <weir/ports/readiness.hpp>

namespace weir::transport {

// Opens UDP sockets on this loop, which outlives them.
[[nodiscard]] ports::OpenDatagrams open_datagrams(ports::Readiness& loop);

}  // namespace weir::transport
