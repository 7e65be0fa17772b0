#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text that comes from outside: from a stranger, a peer, a plugin. Before any of it gets into a log line, a
// page, JSON or a message it goes through clean_text().
namespace weir {

// Bytes of the well-formed UTF-8 character (The Unicode Standard, table 3-7) that `text` begins with; 0:
// none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
// Length of the longest prefix of `text` that is well-formed UTF-8.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text);

// Well-formed UTF-8 on one line, of at most `bytes_max` bytes: bytes that are no UTF-8, control characters,
// and the marks that begin a line or turn the direction of writing are spelled out, as in \n, \x1b, \u202e.
// What is longer is cut between characters, and, where `bytes_max` is 64 at least, says how much is not
// there. Cleaning twice changes nothing.
[[nodiscard]] std::string clean_text(std::string_view text, std::size_t bytes_max);
// The same for what stands between double quotes, which the text can then not end.
[[nodiscard]] std::string clean_quoted(std::string_view text, std::size_t bytes_max);

}  // namespace weir
