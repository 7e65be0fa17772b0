#pragma once

#include <weir/sessions/peer.hpp>

#include <string>
#include <string_view>

namespace weir::v1 {
class Hello;
}  // namespace weir::v1

// What another process says of itself, as far as it can be believed.
namespace weir::sessions {

// What a stranger says ends in logs and on screens: one line, of bounded length, that cannot end its quotes.
[[nodiscard]] std::string one_line(std::string_view text);

[[nodiscard]] bool is_text(const v1::Hello& hello);  // all its strings are UTF-8
[[nodiscard]] bool fits(const v1::Hello& hello);     // its numbers fit their types
// Of a hello that fits(). Strings are one_line() each.
[[nodiscard]] PeerInfo from_hello(const v1::Hello& hello);

}  // namespace weir::sessions
