#include <weir/base/assert.hpp>
#include <weir/packet_switch/packet_port.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace weir::packet_switch {
namespace {

constexpr std::size_t kBatch = 64;
constexpr std::size_t kHeaderBytes = 128;  // of a slot, before the frame
constexpr std::size_t kBlockBytes = std::size_t{1} << 16U;
constexpr int kIgnoreOutgoing = 23;  // PACKET_IGNORE_OUTGOING (Linux 4.20)
// The kernel's memory for a frame beside its bytes: descriptor, padding to a power of two.
constexpr std::size_t kKernelFrameBytes = 2304;
constexpr std::size_t kFullFrame = 1514;

void set(int socket, int option, const void* value, socklen_t size, const std::string& what) {
  if (::setsockopt(socket, SOL_PACKET, option, value, size) == 0) return;
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

class PacketPort::Batch {
 public:
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      messages_[i].msg_hdr.msg_iov = &places_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  mmsghdr* fill(std::span<const ConstBytes> frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      // sendmmsg() reads only.
      places_[i].iov_base = const_cast<std::byte*>(frames[i].data());
      places_[i].iov_len = frames[i].size();
    }
    return messages_.data();
  }

 private:
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, kBatch> places_{};
};

PacketPort::PacketPort(const PortInterface& settings)
    : device_(settings.device),
      socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      batch_(std::make_unique<Batch>()) {
  if (!socket_.is_open()) {
    throw std::runtime_error(
        fmt::format("interface '{}': {}{}", device_, std::strerror(errno),
                    errno == EPERM ? ": raw frames need CAP_NET_RAW; run it as root" : ""));
  }
  const unsigned index = ::if_nametoindex(device_.c_str());
  if (index == 0) throw std::runtime_error(fmt::format("interface '{}': {}", device_, std::strerror(errno)));
  const std::string what = fmt::format("interface '{}'", device_);
  const int one = 1;
  set(socket_.get(), kIgnoreOutgoing, &one, sizeof one, what);
  open_ring(settings);
  const std::size_t frame =
      kKernelFrameBytes * std::max<std::size_t>(1, (settings.frame_bytes_max + kFullFrame - 1) / kFullFrame);
  // The kernel doubles the number.
  const auto memory = static_cast<int>(settings.transmit_frames * frame / 2);
  if (::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &memory, sizeof memory) != 0)
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &memory, sizeof memory);
  packet_mreq everything{};
  everything.mr_ifindex = static_cast<int>(index);
  everything.mr_type = PACKET_MR_PROMISC;
  set(socket_.get(), PACKET_ADD_MEMBERSHIP, &everything, sizeof everything, what);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

PacketPort::~PacketPort() {
  if (ring_ != nullptr) ::munmap(ring_, ring_bytes_);
}

void PacketPort::open_ring(const PortInterface& settings) {
  const int version = TPACKET_V2;
  set(socket_.get(), PACKET_VERSION, &version, sizeof version, device_);
  slot_bytes_ = std::bit_ceil(settings.frame_bytes_max + kHeaderBytes);
  WEIR_ASSERT(slot_bytes_ <= kBlockBytes);
  const std::size_t per_block = kBlockBytes / slot_bytes_;
  const std::size_t blocks = (settings.receive_frames + per_block - 1) / per_block;
  slots_ = blocks * per_block;
  tpacket_req request{};
  request.tp_block_size = kBlockBytes;
  request.tp_block_nr = static_cast<unsigned>(blocks);
  request.tp_frame_size = static_cast<unsigned>(slot_bytes_);
  request.tp_frame_nr = static_cast<unsigned>(slots_);
  set(socket_.get(), PACKET_RX_RING, &request, sizeof request,
      fmt::format("interface '{}': memory for {} frames", device_, slots_));
  ring_bytes_ = blocks * kBlockBytes;
  void* const memory = ::mmap(nullptr, ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, socket_.get(), 0);
  if (memory == MAP_FAILED)
    throw std::runtime_error(fmt::format("interface '{}': {}", device_, std::strerror(errno)));
  ring_ = static_cast<std::byte*>(memory);
}

void PacketPort::release() {
  auto* const header = reinterpret_cast<tpacket2_hdr*>(ring_ + next_ * slot_bytes_);
  std::atomic_ref(header->tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
  next_ = (next_ + 1) % slots_;
  lent_ = false;
}

bool PacketPort::has_frame() const {
  auto* const header =
      reinterpret_cast<tpacket2_hdr*>(ring_ + (lent_ ? (next_ + 1) % slots_ : next_) * slot_bytes_);
  return (std::atomic_ref(header->tp_status).load(std::memory_order_acquire) & TP_STATUS_USER) != 0;
}

std::optional<PacketPort::Received> PacketPort::receive() {
  if (lent_) release();
  auto* const header = reinterpret_cast<tpacket2_hdr*>(ring_ + next_ * slot_bytes_);
  const std::uint32_t status = std::atomic_ref(header->tp_status).load(std::memory_order_acquire);
  if ((status & TP_STATUS_USER) == 0) return std::nullopt;
  lent_ = true;
  WEIR_ASSERT(std::size_t{header->tp_mac} + header->tp_snaplen <= slot_bytes_);
  Received frame{ConstBytes(reinterpret_cast<const std::byte*>(header) + header->tp_mac, header->tp_snaplen),
                 std::nullopt};
  if ((status & TP_STATUS_VLAN_VALID) != 0) frame.unfit = switching::FrameDrop::other_protocol;
  if ((status & TP_STATUS_CSUMNOTREADY) != 0) frame.unfit = switching::FrameDrop::no_checksum;
  if (header->tp_len > header->tp_snaplen) frame.unfit = switching::FrameDrop::too_long;
  return frame;
}

PacketPort::Sent PacketPort::send(std::span<const ConstBytes> frames) {
  Sent sent;
  while (sent.frames < frames.size()) {
    const auto next = frames.subspan(sent.frames, std::min(kBatch, frames.size() - sent.frames));
    const int count =
        ::sendmmsg(socket_.get(), batch_->fill(next), static_cast<unsigned>(next.size()), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      sent.full = errno == EAGAIN || errno == EWOULDBLOCK;
      sent.refused = sent.full ? 0 : 1;
      return sent;
    }
    sent.frames += static_cast<std::size_t>(count);
  }
  return sent;
}

InterfaceCounts PacketPort::counts() {
  tpacket_stats since_last{};
  socklen_t size = sizeof since_last;
  if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &since_last, &size) == 0)
    counts_.receive_full += since_last.tp_drops;
  return counts_;
}

bool PacketPort::exists() const {
  int error = 0;
  socklen_t size = sizeof error;
  (void)::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  ifreq request{};
  device_.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  return ::ioctl(socket_.get(), SIOCGIFINDEX, &request) == 0;
}

}  // namespace weir::packet_switch
