#pragma once

#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace udp {

// A permitted sender of datagrams.
struct SenderAddress {
  sa_family_t family = AF_UNSPEC;
  in6_addr address{};  // an IPv4 address in the first four bytes
  bool operator==(const SenderAddress& other) const;
};
[[nodiscard]] SenderAddress sender_of(const sockaddr_storage& address);
// Parses "10.0.0.1, fe80::1". Errors: std::invalid_argument with a message.
[[nodiscard]] std::vector<SenderAddress> parse_senders(std::string_view text);

// A bound datagram socket that receives many datagrams with one call. Does not block.
class Socket {
 public:
  static constexpr std::size_t kBatch = 64;

  // Throws std::runtime_error with a sentence. `receive_buffer` in bytes, 0: the system's.
  Socket(const std::string& host, std::uint16_t port, int receive_buffer);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int descriptor() const { return socket_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] int receive_buffer() const;  // the size that the kernel granted

  struct Datagram {
    std::span<const std::byte> bytes;  // until the next receive()
    SenderAddress from;
    std::uint16_t port = 0;
    bool cut = false;  // it was larger than any datagram may be
  };
  // Returns up to kBatch datagrams; empty: none is waiting.
  [[nodiscard]] std::span<const Datagram> receive();
  // Datagrams dropped by the kernel since the socket was opened, as known: exact after
  // look_at_drops().
  [[nodiscard]] std::uint64_t kernel_drops() const { return kernel_drops_; }
  void look_at_drops();

 private:
  void note_drops(std::uint32_t counter);

  static constexpr std::size_t kDatagramMax = 65536;
  static constexpr std::size_t kControlMax = 64;
  int socket_ = -1;
  std::vector<std::byte> memory_;
  std::vector<std::byte> control_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> pieces_;
  std::vector<sockaddr_storage> senders_;
  std::vector<Datagram> datagrams_;
  std::uint32_t drops_seen_ = 0;  // the kernel's counter, which wraps
  std::uint64_t kernel_drops_ = 0;
};

}  // namespace udp
