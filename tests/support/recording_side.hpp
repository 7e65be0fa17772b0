#pragma once

#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <string_view>
#include <vector>

namespace weir::test {

// One side of a connection: records the connected peer and its messages.
class RecordingSide : public sessions::PeerHandler {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  sessions::Peer* peer = nullptr;  // the connected peer
  int connections = 0;
  std::vector<v1::Control> said;
  std::vector<Frame> frames;

 private:
  void on_ready(sessions::Peer& ready) override {
    peer = &ready;
    ++connections;
  }
  void on_gone(sessions::Peer& gone, std::string_view) override {
    if (peer == &gone) peer = nullptr;
  }
  wire::PayloadPlace on_header(sessions::Peer&, const wire::FrameHeader&) override {
    return {wire::PayloadPlace::Kind::whole, nullptr};
  }
  Expected<void, wire::WireError> on_frame(sessions::Peer&, const wire::FrameHeader& header,
                                           ConstBytes payload) override {
    frames.push_back({header, {payload.begin(), payload.end()}});
    return {};
  }
  Expected<void, wire::WireError> on_control(sessions::Peer&, const v1::Control& message) override {
    said.push_back(message);
    return {};
  }
};

}  // namespace weir::test
