#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Rates and buffers of a lab file, in the units of tc(8), so that a number means the same in both.
namespace weir::config {

// Returns bits per second for a number, with a fraction if needed, followed by `bit` (or nothing), `kbit`,
// `mbit`, `gbit`, `tbit` in steps of 1000. "unlimited" is 0. Returns nothing if the text is not a rate, is 0,
// or is out of range.
[[nodiscard]] std::optional<std::uint64_t> parse_rate(std::string_view text);

// Returns bytes for a whole number, followed by `b` (or nothing), `k`, `m`, `g` in steps of 1024; `kb` and
// `KiB` are `k`. Returns nothing if the text is not a size, is 0, or is above 1 TiB.
[[nodiscard]] std::optional<std::uint64_t> parse_buffer(std::string_view text);

// Returns "1gbit", "unlimited"; "100k". Exact: parse_…() reads the same number back.
[[nodiscard]] std::string print_rate(std::uint64_t bits_per_s);
[[nodiscard]] std::string print_buffer(std::uint64_t bytes);

}  // namespace weir::config
