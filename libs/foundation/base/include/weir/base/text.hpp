#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Handling of text from outside: from an unknown client, a peer, a plugin. It has to go through clean_text()
// before it reaches a log line, a page, JSON or a message.
namespace weir {

// Returns the length of the well-formed UTF-8 character (The Unicode Standard, table 3-7) at the start of
// `text`; 0: none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
// Returns the length of the longest prefix of `text` that is well-formed UTF-8.
[[nodiscard]] std::size_t utf8_prefix(std::string_view text);

// Returns well-formed UTF-8 on one line, of at most `bytes_max` bytes. Invalid bytes, control characters,
// line separators and marks that change the writing direction are spelled out, as in
// , \x1b, \u202e. Longer text is cut between characters and, if `bytes_max` is at least 64, ends with the
// number of bytes left out. Cleaning twice changes nothing.
[[nodiscard]] std::string clean_text(std::string_view text, std::size_t bytes_max);
// Like clean_text(), for text between double quotes: it cannot end the quotes.
[[nodiscard]] std::string clean_quoted(std::string_view text, std::size_t bytes_max);

}  // namespace weir
