#pragma once

#include "addresses.hpp"
#include "messages.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <sys/socket.h>
#include <vector>

namespace weir::probe {

struct ReceivedDatagram {
  Datagram header;
  ConstBytes bytes;         // all of it, valid until the next call
  UtcNs arrived_ns = 0;     // by the kernel's time stamp
  std::uint32_t drops = 0;  // by this socket since it was opened; may wrap
};

// Makes the kernel stamp arrivals and count the socket's drops, and requests a large buffer.
void prepare_receiver(int socket);

// Receives datagrams many at a time. One thread.
class DatagramReader {
 public:
  explicit DatagramReader(int socket);

  // Receives those that have arrived, at most a few hundred, without waiting. `take` receives well-formed
  // ones with their source; others are counted.
  void read(const std::function<void(const ReceivedDatagram&, const Address& from)>& take);
  // Returns the socket's drops until the last datagram arrived; may wrap.
  [[nodiscard]] std::uint32_t drops() const { return drops_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kControlBytes = 256;

  int socket_;
  std::uint64_t malformed_ = 0;
  std::uint32_t drops_ = 0;
  std::vector<std::array<std::byte, kDatagramBytesMax>> space_;
  std::vector<std::array<char, kControlBytes>> control_;
  std::vector<Address> from_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> headers_;
};

}  // namespace weir::probe
