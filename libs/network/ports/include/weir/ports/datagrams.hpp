#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/ports/network.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace weir::ports {

// The sender of a datagram, to which an answer goes; its bytes are the transport's.
struct DatagramPeer {
  std::array<std::byte, 32> address{};
  std::size_t length = 0;
  bool operator==(const DatagramPeer&) const = default;
};

// A socket for datagrams; destroying it closes it.
class Datagrams {
 public:
  virtual ~Datagrams() = default;
  [[nodiscard]] virtual Endpoint endpoint() const = 0;  // with the actual port
  // Takes the next datagram; returns its length, nullopt if none waits. A longer one than `into` is cut.
  [[nodiscard]] virtual std::optional<std::size_t> receive(Bytes into, DatagramPeer& from) = 0;
  // Returns false if the datagram was not sent; it is lost.
  virtual bool send(ConstBytes bytes, const DatagramPeer& to) = 0;
  // Requests one call of the handler, once a datagram waits.
  virtual void arm() = 0;
};

// Opens a socket; `on_readable` is called on the loop's thread after arm(). The error is a sentence.
using OpenDatagrams = std::function<Expected<std::unique_ptr<Datagrams>, std::string>(
    const Endpoint& at, std::function<void()> on_readable)>;

}  // namespace weir::ports
