#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Text for people, and JSON strings, as `weir file` prints them.
namespace weir::storage {

[[nodiscard]] std::string human_bytes(std::uint64_t bytes);       // "1.50 MiB (1572864 B)"
[[nodiscard]] std::string human_utc(UtcNs time);                  // "2026-03-01T12:00:00.000000000Z"
[[nodiscard]] std::string human_duration(DurationNs duration);    // "10 ms"
[[nodiscard]] std::string slice_flags_text(std::uint16_t flags);  // "incomplete,unfiltered", "-"
[[nodiscard]] std::string json_string(std::string_view text);     // quoted; any bytes give valid JSON
[[nodiscard]] std::string hex_dump(ConstBytes bytes, std::size_t bytes_max, std::string_view indent);
// Returns a line for the window, and one for each of its first pieces; empty if the bytes are not the table
// of pieces that farms with build.by: time make.
[[nodiscard]] std::string pieces_text(ConstBytes bytes, std::size_t pieces_max, std::string_view indent);

}  // namespace weir::storage
