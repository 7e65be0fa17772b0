#pragma once

#include "addresses.hpp"
#include "messages.hpp"

#include <atomic>

namespace weir::probe {

// Sends the datagrams that a client has asked for, from `socket` to its address. Blocks for their time, or
// until `stop`. Requires: refusal_of(stream) is empty.
[[nodiscard]] StreamEnd send_stream(int socket, const Address& to, const Token& token,
                                    const StreamRequest& stream, const std::atomic<bool>& stop);

}  // namespace weir::probe
