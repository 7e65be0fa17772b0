#pragma once

#include "message_socket.hpp"
#include <weir/security/farm_authenticator.hpp>

#include <memory>
#include <string>

namespace weir::probe {

// Returns the proofs of a farm key file; null for an empty name. Throws std::invalid_argument with a
// sentence.
[[nodiscard]] std::shared_ptr<const ports::Authenticator> read_key(const std::string& file);

// Exchange hellos, and proofs if both sides have a key, as the processes of a farm do. Throw PeerError unless
// both have a key that the other one accepts, or none has one. The server's last message, Acceptance, is not
// part of it.
void greet_server(MessageSocket& server, const ports::Authenticator* key);
void greet_client(MessageSocket& client, const ports::Authenticator* key);

// Tells the peer why, and throws it as PeerError.
[[noreturn]] void refuse(MessageSocket& peer, const std::string& why);

}  // namespace weir::probe
