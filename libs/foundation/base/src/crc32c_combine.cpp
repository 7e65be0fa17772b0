#include <weir/base/crc32c_combine.hpp>

#include <array>
#include <cstddef>

namespace weir {
namespace {

// Polynomials modulo that of CRC32C, with the highest bit for x^0, as in crc32_combine() of zlib.
constexpr std::uint32_t kPolynomial = 0x82f63b78;
constexpr std::uint32_t kOne = 1U << 31U;

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) sum ^= b;
    b = (b & 1U) != 0 ? (b >> 1U) ^ kPolynomial : b >> 1U;
  }
  return sum;
}

// x^(8 * 2^k), by k.
constexpr auto kShifts = [] {
  std::array<std::uint32_t, 64> shifts{};
  std::uint32_t power = kOne >> 8U;
  for (std::uint32_t& shift : shifts) {
    shift = power;
    power = product(power, power);
  }
  return shifts;
}();

}  // namespace

std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b, std::uint64_t b_bytes) {
  for (std::size_t k = 0; b_bytes != 0; ++k, b_bytes >>= 1U) {
    if ((b_bytes & 1U) != 0) a = product(kShifts[k], a);
  }
  return a ^ b;
}

}  // namespace weir
