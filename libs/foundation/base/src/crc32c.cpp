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

// For shorter inputs the CPU's instruction alone, eight bytes at a time, is faster than entering the library.
constexpr std::size_t kShort = 128;
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;

__attribute__((target("sse4.2"))) std::uint32_t short_crc32c(std::uint32_t crc, ConstBytes bytes) {
  std::uint64_t state = ~crc;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  for (std::size_t n = bytes.size() / 32; n > 0; --n, at += 32) {
    state = _mm_crc32_u64(state, load_le<std::uint64_t>(at));
    state = _mm_crc32_u64(state, load_le<std::uint64_t>(at + 8));
    state = _mm_crc32_u64(state, load_le<std::uint64_t>(at + 16));
    state = _mm_crc32_u64(state, load_le<std::uint64_t>(at + 24));
  }
  for (; end - at >= 8; at += 8) state = _mm_crc32_u64(state, load_le<std::uint64_t>(at));
  auto rest = static_cast<std::uint32_t>(state);
  for (; at != end; ++at) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(*at));
  return ~rest;
}
#else
constexpr std::size_t kShort = 0;
constexpr bool kHasInstruction = false;
std::uint32_t short_crc32c(std::uint32_t crc, ConstBytes) { return crc; }
void leave_vector_code() {}
#endif

}  // namespace

std::uint32_t crc32c_extend(std::uint32_t crc, ConstBytes bytes) {
  if (bytes.size() <= kShort && kHasInstruction) return short_crc32c(crc, bytes);
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
