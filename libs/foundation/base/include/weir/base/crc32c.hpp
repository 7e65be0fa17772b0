#pragma once

#include <weir/base/bytes.hpp>

#include <cstdint>

namespace weir {

// Returns the CRC32C (Castagnoli, as in iSCSI, RFC 3720 B.4): "123456789" gives 0xe3069283. Uses the CPU's
// instruction.
[[nodiscard]] std::uint32_t crc32c(ConstBytes bytes);

// Continues from the CRC of earlier bytes: crc32c_extend(crc32c(a), b) == crc32c(a then b).
[[nodiscard]] std::uint32_t crc32c_extend(std::uint32_t crc, ConstBytes bytes);

}  // namespace weir
