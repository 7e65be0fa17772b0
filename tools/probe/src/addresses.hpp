#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>

#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace weir::probe {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = sizeof(sockaddr_storage);

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  [[nodiscard]] bool is_v6() const { return bytes.ss_family == AF_INET6; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string text() const;  // "10.0.0.1:7000", "[::1]:7000"
  [[nodiscard]] bool same_host(const Address& other) const;
};

// Resolves "HOST:PORT". Throws std::invalid_argument with a sentence.
[[nodiscard]] Address resolve(const std::string& text, bool to_listen);
// Opens and binds. Throws std::runtime_error with a sentence.
[[nodiscard]] OwnedDescriptor bound_socket(const Address& at, int type);
[[nodiscard]] Address address_of(int socket);
// Connects a new TCP socket. `receive_buffer_bytes`: 0 leaves it to the kernel. Throws PeerError.
[[nodiscard]] OwnedDescriptor connect_to(const Address& server, DurationNs patience_ns,
                                         int receive_buffer_bytes);

}  // namespace weir::probe
