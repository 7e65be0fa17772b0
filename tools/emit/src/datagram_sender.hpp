#pragma once

#include "player.hpp"
#include <weir/ports/network.hpp>

#include <cstdint>
#include <span>
#include <sys/socket.h>
#include <vector>

namespace weir::emit {

// Sends packets to several addresses, many with one call. Does not block.
class DatagramSender {
 public:
  // Throws std::runtime_error with a sentence.
  explicit DatagramSender(std::span<const ports::Endpoint> targets);
  ~DatagramSender();
  DatagramSender(const DatagramSender&) = delete;
  DatagramSender& operator=(const DatagramSender&) = delete;

  // How many of them, from the first on, are with the kernel: fewer than given when it has no room now. Those
  // that are withheld count, and are not sent.
  [[nodiscard]] std::size_t send(std::span<const OutgoingPacket> packets);
  [[nodiscard]] std::uint64_t held_up() const { return held_up_; }  // number of times without room

 private:
  struct Address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
  };
  int socket_ = -1;
  std::vector<Address> addresses_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> pieces_;
  std::vector<std::size_t> which_;
  std::uint64_t held_up_ = 0;
};

}  // namespace weir::emit
