#include "talker.hpp"

#include <weir/wire/batch.hpp>

#include <stdexcept>

namespace weir::session_test {
namespace {

constexpr std::size_t kHeardMax = 8U << 20;  // beyond, it listens no more
constexpr std::uint32_t kPayloadMax = 64U << 20;

}  // namespace

void Talker::say(wire::FrameType type, const google::protobuf::MessageLite& message) {
  const std::string payload = message.SerializeAsString();
  std::vector<std::byte> frame;
  wire::append_frame(type, std::as_bytes(std::span(payload)), frame);
  say(frame);
}

bool Talker::on_received(std::size_t bytes) {
  if (heard_.size() < kHeardMax) {
    heard_.insert(heard_.end(), space_.begin(), space_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  return true;
}

std::vector<Talker::Heard> Talker::take_heard() {
  std::vector<Heard> frames;
  std::size_t at = 0;
  while (heard_.size() - at >= wire::kHeaderBytes) {
    const auto header =
        wire::decode_header(std::span(heard_).subspan(at).first<wire::kHeaderBytes>(), kPayloadMax);
    if (!header)
      throw std::runtime_error("a node said what is no frame: " + std::string(name(header.error())));
    const std::size_t whole = wire::kHeaderBytes + header->length;
    if (heard_.size() - at < whole) break;
    const auto from = heard_.begin() + static_cast<std::ptrdiff_t>(at);
    frames.push_back({*header, {from + wire::kHeaderBytes, from + static_cast<std::ptrdiff_t>(whole)}});
    at += whole;
  }
  heard_.erase(heard_.begin(), heard_.begin() + static_cast<std::ptrdiff_t>(at));
  return frames;
}

TalkerDoor::TalkerDoor(ports::Network& network, std::uint16_t port) {
  auto listener = network.listen({"memory", port}, *this);
  if (!listener) throw std::runtime_error(listener.error());
  listener_ = std::move(*listener);
}

ports::StreamHandler* TalkerDoor::on_accept(std::unique_ptr<ports::Stream> stream) {
  talkers_.push_back(std::make_unique<Talker>());
  talkers_.back()->adopt(std::move(stream));
  return talkers_.back().get();
}

void TalkerDoor::forget_closed() {
  std::erase_if(talkers_, [](const auto& talker) { return talker->closed(); });
}

}  // namespace weir::session_test
