#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace weir {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Little-endian fields at a byte offset. Requires: `offset + sizeof(T)` is inside.
template <class T>
[[nodiscard]] inline T load_le(const std::byte* at) {
  static_assert(std::is_unsigned_v<T>);
  T value{};
  std::memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  T swapped{};
  for (std::size_t i = 0; i < sizeof(T); ++i)
    swapped = static_cast<T>((swapped << 8) | ((value >> (8 * i)) & 0xff));
  value = swapped;
#endif
  return value;
}

template <class T>
inline void store_le(std::byte* at, T value) {
  static_assert(std::is_unsigned_v<T>);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  T swapped{};
  for (std::size_t i = 0; i < sizeof(T); ++i)
    swapped = static_cast<T>((swapped << 8) | ((value >> (8 * i)) & 0xff));
  value = swapped;
#endif
  std::memcpy(at, &value, sizeof value);
}

}  // namespace weir
