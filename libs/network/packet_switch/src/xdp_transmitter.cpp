#include "xdp_transmitter.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace weir::packet_switch {
namespace {

// The kernel sends so many frames in a call, and looks for more before it returns: so after a batch without
// an error the ring is empty, and its indices are current. Linux before 6.17 updates them then only.
constexpr std::size_t kXdpBatch = 32;

}  // namespace

XdpTransmitter::XdpTransmitter(int socket, xsk_ring_prod& ring, xsk_ring_cons& completion,
                               const XdpChunks& chunks)
    : socket_(socket),
      ring_(ring),
      completion_(completion),
      memory_(chunks.memory),
      chunk_bytes_(chunks.chunk_bytes) {
  WEIR_ASSERT(ring.size == kSlots && completion.size >= chunks.count);
  for (std::uint64_t i = chunks.count; i > 0; --i) free_.push_back((chunks.first + i - 1) * chunk_bytes_);
}

void XdpTransmitter::reap() {
  std::uint32_t at = 0;
  const std::uint32_t count = xsk_ring_cons__peek(&completion_, completion_.size, &at);
  for (std::uint32_t i = 0; i < count; ++i) free_.push_back(*xsk_ring_cons__comp_addr(&completion_, at + i));
  xsk_ring_cons__release(&completion_, count);
}

// Requires: the ring is empty.
std::size_t XdpTransmitter::place(std::span<const ConstBytes> frames) {
  const std::size_t count = std::min({kXdpBatch, free_.size(), frames.size()});
  std::uint32_t slot = 0;
  const std::uint32_t reserved = xsk_ring_prod__reserve(&ring_, static_cast<std::uint32_t>(count), &slot);
  WEIR_ASSERT(reserved == count);
  for (std::size_t i = 0; i < count; ++i) {
    WEIR_ASSERT(frames[i].size() <= chunk_bytes_);
    const std::uint64_t chunk = free_.back();
    free_.pop_back();
    std::memcpy(memory_ + chunk, frames[i].data(), frames[i].size());
    *xsk_ring_prod__tx_desc(&ring_, slot++) = {chunk, static_cast<std::uint32_t>(frames[i].size()), 0};
  }
  xsk_ring_prod__submit(&ring_, reserved);
  return count;
}

// Makes the kernel send the frames of the ring. Adds those that the interface refused: the kernel returns
// after each of them.
XdpTransmitter::Outcome XdpTransmitter::kick(std::size_t& refused) {
  for (std::uint32_t i = 0; i < kSlots && waiting() > 0; ++i) {
    if (::sendto(socket_, nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0 || errno == EINTR) continue;
    if (errno == EBUSY) {
      ++refused;
      continue;
    }
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? Outcome::full : Outcome::down;
  }
  return waiting() == 0 ? Outcome::sent : Outcome::full;
}

FramePort::Sent XdpTransmitter::send(std::span<const ConstBytes> frames) {
  FramePort::Sent sent;
  reap();
  std::size_t late = 0;
  Outcome outcome = kick(late);
  lost_ += late;
  while (outcome == Outcome::sent && sent.refused == 0 && sent.frames < frames.size()) {
    const std::size_t count = place(frames.subspan(sent.frames));
    if (count == 0) {
      outcome = Outcome::full;
      break;
    }
    outcome = kick(sent.refused);
    sent.frames += count - sent.refused;
  }
  sent.full = outcome == Outcome::full;
  if (outcome == Outcome::down) sent.refused = frames.size() - sent.frames;
  return sent;
}

std::uint64_t XdpTransmitter::waiting() const {
  return *ring_.producer - __atomic_load_n(ring_.consumer, __ATOMIC_ACQUIRE);
}

}  // namespace weir::packet_switch
