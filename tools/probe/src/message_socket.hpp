#pragma once

#include "messages.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace weir::probe {

// The peer is gone, silent, or broke the protocol. The text is a sentence's second part: "closed by the
// peer".
struct PeerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Messages over a TCP connection. Blocks until its deadline; throws PeerError. One thread.
class MessageSocket {
 public:
  MessageSocket(OwnedDescriptor socket, DurationNs patience_ns);

  // Every operation must end within this time from now on, all together.
  void restart_deadline(DurationNs patience_ns);
  template <class Message>
  void send(const Message& message) {
    send_bytes(encode(message));
  }
  // Returns the next message; throws if it has another type, with the reason if the peer refused.
  template <class Message>
  [[nodiscard]] Message expect() {
    const Received received = receive();
    check_type(received, Message::kType);
    return decoded<Message>(received.body);
  }
  struct Received {
    MessageType type = MessageType::hello;
    std::vector<std::byte> body;
  };
  [[nodiscard]] Received receive();
  template <class Message>
  [[nodiscard]] static Message decoded(ConstBytes body) {
    auto message = decode<Message>(body);
    if (!message) throw PeerError("broke the protocol: a malformed message");
    return std::move(*message);
  }

  void send_bytes(ConstBytes bytes);
  void receive_bytes(Bytes bytes);
  // Receives with as few system calls as the kernel allows, as a plain program does.
  void receive_plainly(Bytes bytes);
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  static void check_type(const Received& received, MessageType wanted);
  void wait_for(short events) const;

  OwnedDescriptor socket_;
  TimeNs deadline_ns_ = 0;
};

}  // namespace weir::probe
