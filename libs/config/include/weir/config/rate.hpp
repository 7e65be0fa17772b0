#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Rates and buffers of a lab file, in the units of tc(8), so that a figure means the same in both.
namespace weir::config {

// Bits per second: a number, with a fraction if need be, then `bit` (or nothing), `kbit`, `mbit`, `gbit`,
// `tbit` in steps of 1000. "unlimited" is 0. Empty: not a rate; so is one that is 0 or does not fit.
[[nodiscard]] std::optional<std::uint64_t> parse_rate(std::string_view text);

// Bytes: a whole number, then `b` (or nothing), `k`, `m`, `g` in steps of 1024; `kb` and `KiB` are `k`.
// Empty: not a size; so is one that is 0 or above 1 TiB.
[[nodiscard]] std::optional<std::uint64_t> parse_buffer(std::string_view text);

// "1gbit", "unlimited"; "100k". Exact: parse_…() reads the same number back.
[[nodiscard]] std::string print_rate(std::uint64_t bits_per_s);
[[nodiscard]] std::string print_buffer(std::uint64_t bytes);

}  // namespace weir::config
