#include <weir/base/text.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace weir {
namespace {

constexpr std::size_t kMarkRoom = 40;  // for the mark at the end of a shortened text
constexpr std::size_t kMarkedFrom = 64;

struct Lead {
  unsigned char first, last;  // range of the lead byte
  unsigned char second_min, second_max;
  std::size_t length;
};

constexpr Lead kLeads[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// Returns the code point of a well-formed character of two or three bytes.
std::uint32_t code_point(std::string_view one) {
  if (one.size() == 2) return (byte_at(one, 0) & 0x1fU) << 6 | (byte_at(one, 1) & 0x3fU);
  return (byte_at(one, 0) & 0x0fU) << 12 | (byte_at(one, 1) & 0x3fU) << 6 | (byte_at(one, 2) & 0x3fU);
}

// C1 controls, which some terminals obey; line and paragraph separators; marks of direction; the byte order
// mark.
bool misleads(std::uint32_t c) {
  return (c >= 0x80 && c <= 0x9f) || c == 0x2028 || c == 0x2029 || (c >= 0x200e && c <= 0x200f) ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

std::string hexadecimal(char kind, std::uint32_t value, unsigned digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out{'\\', kind};
  for (unsigned digit = digits; digit-- > 0;) out.push_back(kDigits[value >> (4 * digit) & 15U]);
  return out;
}

// Returns the escaped form of the character at the start of `text`, which has `length` bytes (0: not UTF-8),
// or nothing if it is printed unchanged.
std::optional<std::string> spelled_out(std::string_view text, std::size_t length, bool quoted) {
  const unsigned first = byte_at(text, 0);
  if (first == '\n') return "\\n";
  if (first == '\r') return "\\r";
  if (first == '\t') return "\\t";
  if (quoted && first == '"') return "'";
  if (length == 0 || first < 0x20 || first == 0x7f) return hexadecimal('x', first, 2);
  if ((length == 2 || length == 3) && misleads(code_point(text.substr(0, length))))
    return hexadecimal('u', code_point(text.substr(0, length)), 4);
  return std::nullopt;
}

std::string clean(std::string_view text, std::size_t bytes_max, bool quoted) {
  std::string out;
  std::size_t fits = 0;  // bytes of `out` that fit together with the mark
  std::size_t taken_that_fits = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at, 4);
    const std::size_t length = utf8_length(rest);
    const auto spelled = spelled_out(rest, length, quoted);
    const std::string_view next = spelled ? std::string_view(*spelled) : rest.substr(0, length);
    if (out.size() + next.size() > bytes_max) {
      if (bytes_max < kMarkedFrom) return out;
      out.resize(fits);
      return out + " [" + std::to_string(text.size() - taken_that_fits) + " bytes more]";
    }
    out.append(next);
    at += std::max<std::size_t>(length, 1);
    if (out.size() + kMarkRoom > bytes_max) continue;
    fits = out.size();
    taken_that_fits = at;
  }
  return out;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  for (const Lead& lead : kLeads) {
    if (byte_at(text, 0) < lead.first || byte_at(text, 0) > lead.last) continue;
    if (lead.length > text.size()) return 0;
    if (lead.length > 1 && (byte_at(text, 1) < lead.second_min || byte_at(text, 1) > lead.second_max))
      return 0;
    for (std::size_t i = 2; i < lead.length; ++i) {
      if (byte_at(text, i) < 0x80 || byte_at(text, i) > 0xbf) return 0;
    }
    return lead.length;
  }
  return 0;
}

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at, 4));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string clean_text(std::string_view text, std::size_t bytes_max) { return clean(text, bytes_max, false); }

std::string clean_quoted(std::string_view text, std::size_t bytes_max) {
  return clean(text, bytes_max, true);
}

}  // namespace weir
