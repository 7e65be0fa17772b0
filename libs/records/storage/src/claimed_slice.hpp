#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::storage {

// Returns the slice named in a record's body, which may be damaged; nothing if it is too short.
[[nodiscard]] inline std::optional<SliceId> claimed_slice(ConstBytes body) {
  constexpr std::size_t kSliceIdAt = 24;  // in a slice record, FORMAT.md
  if (body.size() < kSliceIdAt + sizeof(std::uint64_t)) return std::nullopt;
  return SliceId(load_le<std::uint64_t>(body.data() + kSliceIdAt));
}

}  // namespace weir::storage
