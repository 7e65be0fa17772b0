#include "text_triggers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr std::size_t kDatagramsPerPass = 1024;
constexpr std::size_t kAnswerBytesMax = 1400;  // of one datagram: below the frames of every network

std::string_view text_of(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

class TextTriggers::Connection final : public ports::StreamHandler {
 public:
  Connection(TextTriggers& owner, std::unique_ptr<ports::Stream> stream)
      : owner_(owner), stream_(std::move(stream)), heard_(++owner.heard_) {}

  ports::ReceiveSpace receive_space() override { return {Bytes(buffer_).subspan(size_), Bytes()}; }
  bool on_received(std::size_t bytes) override {
    heard_ = ++owner_.heard_;
    size_ += bytes;
    std::string_view rest = text_of(ConstBytes(buffer_).first(size_));
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      unsent_ += owner_.responder_.respond(rest.substr(0, end), false);
      rest.remove_prefix(end + 1);
    }
    if (rest.size() == buffer_.size()) {
      unsent_ += owner_.responder_.respond(rest, false);  // names the limit
      ends_ = true;
      rest = {};
    }
    size_ = rest.size();
    std::memmove(buffer_.data(), rest.data(), size_);
    return true;
  }
  void on_drained() override {
    if (ends_ && unsent_.empty()) close();
  }
  void on_closed(ports::CloseReason) override { closed_ = true; }

  void send() {
    if (closed_ || unsent_.empty()) return;
    stream_->append(bytes_of(unsent_));
    unsent_.clear();
  }
  void hold(bool all) {
    if (closed_) return;
    const bool full = unsent_.size() + stream_->unsent_bytes() > kUnsentMax;
    stream_->pause_receiving(all || full || ends_);
  }
  void close() {
    stream_->close();
    closed_ = true;
  }
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::uint64_t heard() const { return heard_; }

 private:
  TextTriggers& owner_;
  std::unique_ptr<ports::Stream> stream_;
  std::uint64_t heard_;
  std::array<std::byte, slice_rows::kTextLineMax + 2> buffer_{};  // with CR and LF
  std::size_t size_ = 0;
  std::string unsent_;
  bool ends_ = false;
  bool closed_ = false;
};

TextTriggers::TextTriggers(TextResponder& responder) : responder_(responder) {}
TextTriggers::~TextTriggers() = default;

Expected<ports::Endpoint, std::string> TextTriggers::open(ports::Network& network,
                                                          const ports::OpenDatagrams& datagrams,
                                                          const ports::Endpoint& at) {
  auto listening = network.listen(at, *this);
  if (!listening) return Unexpected<std::string>(listening.error());
  listener_ = std::move(*listening);
  const ports::Endpoint where = listener_->endpoint();
  if (!datagrams) return where;
  auto socket = datagrams(where, [this] { readable_ = true; });
  if (!socket) return Unexpected<std::string>(socket.error());
  datagrams_ = std::move(*socket);
  datagrams_->arm();
  return where;
}

ports::StreamHandler* TextTriggers::on_accept(std::unique_ptr<ports::Stream> stream) {
  if (connections_.size() >= kConnectionsMax) make_room();
  if (connections_.size() >= 2 * kConnectionsMax)
    return nullptr;  // closed ones that tick() has not freed yet
  return connections_.emplace_back(std::make_unique<Connection>(*this, std::move(stream))).get();
}

void TextTriggers::make_room() {
  const auto rank = [](const auto& one) { return std::pair(one->closed(), one->heard()); };
  const auto longest = std::min_element(connections_.begin(), connections_.end(),
                                        [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  const auto open =
      std::count_if(connections_.begin(), connections_.end(), [](const auto& one) { return !one->closed(); });
  if (static_cast<std::size_t>(open) < kConnectionsMax) return;
  (*longest)->close();
  ++responder_.counters().made_room;
}

void TextTriggers::tick(bool hold) {
  held_ = hold || answer_bytes_ >= kUnsentMax;
  std::erase_if(connections_, [](const auto& one) { return one->closed(); });
  for (const auto& one : connections_) one->hold(hold);
  if (is_behind()) take_datagrams();
}

void TextTriggers::take_datagrams() {
  std::array<std::byte, slice_rows::kTextLineMax + 2> buffer;
  for (std::size_t i = 0; i < kDatagramsPerPass && answer_bytes_ < kUnsentMax; ++i) {
    ports::DatagramPeer from;
    const auto size = datagrams_->receive(buffer, from);
    if (!size) {
      readable_ = false;
      return datagrams_->arm();
    }
    answer(text_of(ConstBytes(buffer).first(*size)), from);
  }
}

void TextTriggers::answer(std::string_view lines, const ports::DatagramPeer& from) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string text = responder_.respond(lines.substr(0, end), true);
    lines.remove_prefix(std::min(end == lines.npos ? end : end + 1, lines.size()));
    if (text.empty()) continue;
    const bool fits = !answers_.empty() && answers_.back().to == from &&
                      answers_.back().text.size() + text.size() <= kAnswerBytesMax;
    if (!fits) answers_.push_back({from, {}});
    answers_.back().text += text;
    answer_bytes_ += text.size();
  }
}

void TextTriggers::send() {
  for (const auto& one : connections_) one->send();
  // A datagram that does not leave is lost, as one on its way: the client repeats its request.
  for (const Answers& one : answers_) datagrams_->send(bytes_of(one.text), one.to);
  answers_.clear();
  answer_bytes_ = 0;
}

}  // namespace weir::supervisor
