#pragma once

#include "random_messages.hpp"
#include <weir/ports/network.hpp>
#include <weir/wire/frame.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::session_test {

// One end of a connection that sends arbitrary bytes and parses the received ones.
class RawPeer final : public ports::StreamHandler {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  void connect(ports::Network& network, std::uint16_t port) {
    stream_ = network.connect({"memory", port}, *this);
  }
  void adopt(std::unique_ptr<ports::Stream> stream) { stream_ = std::move(stream); }
  void send(ConstBytes bytes) {
    if (!closed_) stream_->append(bytes);
  }
  void send(wire::FrameType type, const google::protobuf::MessageLite& message);
  void send(const v1::Control& message) { send(wire::FrameType::control, message); }
  void leave() {
    if (stream_ && !closed_) stream_->close();
    closed_ = true;
  }
  [[nodiscard]] bool closed() const { return closed_; }
  // Whole frames since the last call.
  [[nodiscard]] std::vector<Frame> take_frames();

 private:
  ports::ReceiveSpace receive_space() override { return {Bytes(space_), Bytes{}}; }
  bool on_received(std::size_t bytes) override;
  void on_closed(ports::CloseReason) override { closed_ = true; }

  std::unique_ptr<ports::Stream> stream_;
  std::vector<std::byte> space_ = std::vector<std::byte>(4096);
  std::vector<std::byte> received_;
  std::vector<std::byte> long_message_;  // its parts so far
  bool closed_ = false;
};

// Takes connections, each of which it hands to a peer.
class RawListener final : public ports::Acceptor {
 public:
  RawListener(ports::Network& network, std::uint16_t port);
  [[nodiscard]] std::vector<std::unique_ptr<RawPeer>>& peers() { return peers_; }
  void forget_closed();

 private:
  ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> stream) override;

  std::vector<std::unique_ptr<RawPeer>> peers_;
  std::unique_ptr<ports::Listener> listener_;
};

}  // namespace weir::session_test
