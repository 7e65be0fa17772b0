#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// The fields of a line of text: trigger files, and the requests of trigger clients.
namespace weir::slice_rows {

// Removes the next field from the line, and returns it; empty at the end. `blanks` separate fields.
inline std::string_view take_field(std::string_view& line, std::string_view blanks) {
  const std::size_t begin = line.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  const std::string_view field = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(field.size());
  return field;
}

template <class T>
std::optional<T> parse_number(std::string_view field) {
  T value{};
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return value;
}

inline std::optional<std::vector<std::byte>> parse_hex(std::string_view field) {
  if (field.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes(field.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint8_t value{};
    const char* const first = field.data() + 2 * i;
    const auto [end, error] = std::from_chars(first, first + 2, value, 16);
    if (error != std::errc() || end != first + 2) return std::nullopt;
    bytes[i] = std::byte{value};
  }
  return bytes;
}

// Quotes a field in an error, cut to 40 characters.
inline std::string quoted(std::string_view field) {
  constexpr std::size_t kEchoMax = 40;
  std::string text = "'";
  for (const char c : field.substr(0, kEchoMax)) text += (c >= ' ' && c <= '~') ? c : '?';
  return text + (field.size() > kEchoMax ? "...'" : "'");
}

}  // namespace weir::slice_rows
