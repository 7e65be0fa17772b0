#include "raw_peer.hpp"

#include <weir/wire/batch.hpp>

#include <stdexcept>
#include <utility>

namespace weir::session_test {
namespace {

constexpr std::size_t kReceivedMax = 8U << 20;  // beyond, it listens no more
constexpr std::uint32_t kPayloadMax = 64U << 20;

}  // namespace

void RawPeer::send(wire::FrameType type, const google::protobuf::MessageLite& message) {
  const std::string payload = message.SerializeAsString();
  std::vector<std::byte> frame;
  wire::append_frame(type, std::as_bytes(std::span(payload)), frame);
  send(frame);
}

bool RawPeer::on_received(std::size_t bytes) {
  if (received_.size() < kReceivedMax) {
    received_.insert(received_.end(), space_.begin(), space_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  return true;
}

std::vector<RawPeer::Frame> RawPeer::take_frames() {
  std::vector<Frame> frames;
  std::size_t at = 0;
  while (received_.size() - at >= wire::kHeaderBytes) {
    const auto header =
        wire::decode_header(std::span(received_).subspan(at).first<wire::kHeaderBytes>(), kPayloadMax);
    if (!header)
      throw std::runtime_error("a node sent an invalid frame: " + std::string(name(header.error())));
    const std::size_t whole = wire::kHeaderBytes + header->length;
    if (received_.size() - at < whole) break;
    const auto from = received_.begin() + static_cast<std::ptrdiff_t>(at);
    if (header->type == wire::FrameType::control &&
        header->total > header->length) {  // a part of a long message
      long_message_.insert(long_message_.end(), from + wire::kHeaderBytes,
                           from + static_cast<std::ptrdiff_t>(whole));
      if (long_message_.size() >= header->total)
        frames.push_back({*header, std::exchange(long_message_, {})});
    } else {
      frames.push_back({*header, {from + wire::kHeaderBytes, from + static_cast<std::ptrdiff_t>(whole)}});
    }
    at += whole;
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(at));
  return frames;
}

RawListener::RawListener(ports::Network& network, std::uint16_t port) {
  auto listener = network.listen({"memory", port}, *this);
  if (!listener) throw std::runtime_error(listener.error());
  listener_ = std::move(*listener);
}

ports::StreamHandler* RawListener::on_accept(std::unique_ptr<ports::Stream> stream) {
  peers_.push_back(std::make_unique<RawPeer>());
  peers_.back()->adopt(std::move(stream));
  return peers_.back().get();
}

void RawListener::forget_closed() {
  std::erase_if(peers_, [](const auto& peer) { return peer->closed(); });
}

}  // namespace weir::session_test
