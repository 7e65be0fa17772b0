#pragma once

#include <weir/sessions/peer.hpp>

#include <string>
#include <string_view>

namespace weir::v1 {
class Hello;
}  // namespace weir::v1

// Validates another process' hello.
namespace weir::sessions {

// Returns text of an unknown process for logs and screens: one line of bounded length, which cannot end its
// quotes.
[[nodiscard]] std::string one_line(std::string_view text);

[[nodiscard]] bool is_text(const v1::Hello& hello);  // all its strings are UTF-8
[[nodiscard]] bool fits(const v1::Hello& hello);     // its numbers fit their types
// Requires: fits(). Strings are passed through one_line().
[[nodiscard]] PeerInfo from_hello(const v1::Hello& hello);

}  // namespace weir::sessions
