#pragma once

#include <weir/base/bytes.hpp>

#include <cstdint>

namespace weir {

// CRC32C (Castagnoli, as in iSCSI, RFC 3720 B.4): "123456789" gives 0xe3069283. Uses the CPU's instruction.
[[nodiscard]] std::uint32_t crc32c(ConstBytes bytes);

// Goes on from the CRC of what came before: crc32c_extend(crc32c(a), b) == crc32c(a then b).
[[nodiscard]] std::uint32_t crc32c_extend(std::uint32_t crc, ConstBytes bytes);

}  // namespace weir
