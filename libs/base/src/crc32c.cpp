#include <weir/base/crc32c.hpp>

#include <isa-l/crc.h>

#include <algorithm>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir {
namespace {

#if defined(__x86_64__)
// The library's vector code leaves the upper halves of the registers in use, and every SSE instruction after
// it then waits for them: 240 ns a call at 1 kB (Intel, Optimization Reference Manual, "Mixing AVX code with
// SSE code").
__attribute__((target("avx"))) void clear_upper_halves() { _mm256_zeroupper(); }
const bool kHasUpperHalves = __builtin_cpu_supports("avx") != 0;
void leave_vector_code() {
  if (kHasUpperHalves) clear_upper_halves();
}
#else
void leave_vector_code() {}
#endif

}  // namespace

std::uint32_t crc32c_extend(std::uint32_t crc, ConstBytes bytes) {
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {  // the library takes an int length
    const std::size_t n = std::min<std::size_t>(bytes.size(), std::numeric_limits<int>::max());
    // The library's signature lacks the const; it only reads.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(n), state);
    bytes = bytes.subspan(n);
  }
  leave_vector_code();
  return ~state;
}

std::uint32_t crc32c(ConstBytes bytes) { return crc32c_extend(0, bytes); }

}  // namespace weir
