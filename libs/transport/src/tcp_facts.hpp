#pragma once

#include <cstdint>

namespace weir::transport {

// Segments that this socket received after a later one; 0 where the kernel does not tell.
[[nodiscard]] std::uint32_t segments_out_of_order(int socket);

}  // namespace weir::transport
