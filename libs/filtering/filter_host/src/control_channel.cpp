#include <weir/filter_host/control_channel.hpp>

#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <sys/socket.h>

namespace weir::filter_host {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr unsigned kByteBits = 8;

}  // namespace

void ControlChannel::send(const v1::WorkerMessage& message) {
  const std::string bytes = message.SerializeAsString();
  const std::lock_guard lock(mutex_);
  for (unsigned i = 0; i < kLengthBytes; ++i)
    unsent_.push_back(static_cast<char>(bytes.size() >> (kByteBits * i)));
  unsent_ += bytes;
  send_unsent();
}

void ControlChannel::flush() {
  const std::lock_guard lock(mutex_);
  send_unsent();
}

void ControlChannel::send_unsent() {
  while (!unsent_.empty() && !ended_) {
    const ssize_t sent = ::send(descriptor_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      unsent_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      ended_ = true;
    }
  }
}

void ControlChannel::flush_all() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      send_unsent();
      if (unsent_.empty() || ended_) return;
    }
    pollfd room{descriptor_, POLLOUT, 0};
    if (::poll(&room, 1, -1) < 0 && errno != EINTR) return;
  }
}

void ControlChannel::read_some() {
  constexpr std::size_t kPiece = 65536;
  while (!ended_) {
    const std::size_t before = received_.size();
    received_.resize(before + kPiece);
    const ssize_t got = ::recv(descriptor_, received_.data() + before, kPiece, MSG_DONTWAIT);
    received_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) ended_ = true;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK) ended_ = true;
    if (got < static_cast<ssize_t>(kPiece)) return;
    if (received_.size() - at_ > kMessageMax) return;
  }
}

bool ControlChannel::receive(v1::WorkerMessage& message) {
  flush();
  read_some();
  if (received_.size() - at_ < kLengthBytes) return false;
  std::size_t length = 0;
  for (unsigned i = 0; i < kLengthBytes; ++i)
    length |= std::size_t{static_cast<std::uint8_t>(received_[at_ + i])} << (kByteBits * i);
  if (length > kMessageMax) {
    ended_ = true;
    return false;
  }
  if (received_.size() - at_ - kLengthBytes < length) return false;
  const bool good = message.ParseFromArray(received_.data() + at_ + kLengthBytes, static_cast<int>(length));
  at_ += kLengthBytes + length;
  if (at_ == received_.size()) {
    received_.clear();
    at_ = 0;
  } else if (at_ > kMessageMax / 64) {
    received_.erase(0, at_);
    at_ = 0;
  }
  if (!good) ended_ = true;
  return good;
}

}  // namespace weir::filter_host
