#include "xdp_transmitter.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/owned_descriptor.hpp>
#include <weir/packet_switch/checksum.hpp>
#include <weir/packet_switch/xdp_port.hpp>

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <utility>

namespace weir::packet_switch {
namespace {

constexpr std::uint32_t kKernelRoom = 256;  // XDP_PACKET_HEADROOM: of a chunk, before the frame
constexpr std::uint32_t kSmallChunk = 2048;
constexpr std::uint32_t kLargeChunk = 4096;
constexpr int kBusyTries = 100;
constexpr int kBusyWaitMs = 2;
static_assert(XdpPort::kFrameBytesMax + kKernelRoom == kLargeChunk);

[[noreturn]] void fail(const std::string& device, const char* what, int error) {
  const char* advice = "";
  if (error == EPERM || error == EACCES || error == ENOBUFS)
    advice = ": AF_XDP needs CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_IPC_LOCK; run it as root";
  if (error == EAFNOSUPPORT) advice = ": this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)";
  if (error == EBUSY) advice = ": another XDP program or socket has it; `bpftool net` shows them";
  if (error == ERANGE || error == EOPNOTSUPP)
    advice = ": its driver refuses, perhaps because of the MTU at either end; try `sockets: xdp-generic`";
  throw std::runtime_error(
      fmt::format("interface '{}': {}: {}{}", device, what, std::strerror(error), advice));
}

ifreq request_for(const std::string& device) {
  ifreq request{};
  device.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  return request;
}

// Opens a socket that receives no frames, but makes the interface hand over those to other hosts.
OwnedDescriptor open_promiscuous(const std::string& device, unsigned index) {
  OwnedDescriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail(device, "promiscuous mode", errno);
  packet_mreq everything{};
  everything.mr_ifindex = static_cast<int>(index);
  everything.mr_type = PACKET_MR_PROMISC;
  if (::setsockopt(socket.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof everything) != 0)
    fail(device, "promiscuous mode", errno);
  return socket;
}

// Frames of a further queue would pass the switch by.
void require_one_queue(const std::string& device, int socket) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request = request_for(device);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (::ioctl(socket, SIOCETHTOOL, &request) != 0) {
    if (errno != EOPNOTSUPP) fail(device, "receive queues", errno);
    return;  // one
  }
  const std::uint32_t queues = channels.rx_count + channels.combined_count;
  if (queues <= 1) return;
  throw std::runtime_error(
      fmt::format("interface '{}': {} receive queues, but an XDP port has one: `ethtool -L {} {} 1`", device,
                  queues, device, channels.combined_count > 0 ? "combined" : "rx"));
}

// Loads a program that redirects each frame of queue 0 to the map's socket, and leaves others to this host.
OwnedDescriptor load_program(const std::string& device, int map) {
  constexpr auto insn = [](int code, int to, int from, int offset, int value) {
    bpf_insn one{};
    one.code = static_cast<std::uint8_t>(code);
    one.dst_reg = static_cast<std::uint8_t>(to & 0xF);
    one.src_reg = static_cast<std::uint8_t>(from & 0xF);
    one.off = static_cast<std::int16_t>(offset);
    one.imm = value;
    return one;
  };
  const std::array program{
      insn(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, offsetof(xdp_md, rx_queue_index), 0),
      insn(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
      insn(0, 0, 0, 0, 0),  // the second half of the map's address
      insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, XDP_PASS),
      insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
      insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  const int loaded =
      ::bpf_prog_load(BPF_PROG_TYPE_XDP, "weir_port", "Apache-2.0", program.data(), program.size(), nullptr);
  if (loaded < 0) fail(device, "XDP program", -loaded);
  return OwnedDescriptor(loaded);
}

}  // namespace

struct XdpPort::State {
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const { ::munmap(memory, bytes); }
  };
  struct DeleteUmem {
    void operator()(xsk_umem* umem) const { (void)::xsk_umem__delete(umem); }
  };
  struct DeleteSocket {
    void operator()(xsk_socket* socket) const { ::xsk_socket__delete(socket); }
  };

  explicit State(const PortInterface& settings);
  [[nodiscard]] int open_socket(std::uint32_t transmit_chunks);
  void attach(Sockets sockets);
  void give(std::uint64_t chunk);

  std::string device;
  unsigned index;
  OwnedDescriptor control;
  std::uint64_t chunk_bytes;
  std::uint32_t receive_chunks;
  std::uint64_t lent = UINT64_MAX;  // chunk of the frame that receive() has returned
  InterfaceCounts kernel;
  xsk_ring_prod fill{};
  xsk_ring_cons completion{};
  xsk_ring_cons received{};
  xsk_ring_prod transmit{};
  std::unique_ptr<std::byte, Unmap> memory;
  std::unique_ptr<xsk_umem, DeleteUmem> umem;
  std::unique_ptr<xsk_socket, DeleteSocket> socket;
  OwnedDescriptor link;  // attaches the program
  std::optional<XdpTransmitter> transmitter;
};

XdpPort::State::State(const PortInterface& settings)
    : device(settings.device),
      index(::if_nametoindex(device.c_str())),
      chunk_bytes(settings.frame_bytes_max + kKernelRoom <= kSmallChunk ? kSmallChunk : kLargeChunk),
      receive_chunks(settings.receive_frames) {
  WEIR_ASSERT(settings.frame_bytes_max <= kFrameBytesMax);
  if (index == 0) throw std::runtime_error(fmt::format("interface '{}': {}", device, std::strerror(errno)));
  control = open_promiscuous(device, index);
  require_one_queue(device, control.get());
  const std::size_t bytes = chunk_bytes * (receive_chunks + settings.transmit_frames);
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail(device, "memory of the frames", errno);
  memory = {static_cast<std::byte*>(pages), Unmap{bytes}};
  int error = open_socket(settings.transmit_frames);
  // The kernel releases a queue a moment after the socket that had it is closed, without an event.
  for (int i = 0; error == -EBUSY && i < kBusyTries; ++i) {
    (void)::poll(nullptr, 0, kBusyWaitMs);
    error = open_socket(settings.transmit_frames);
  }
  if (error != 0) fail(device, "AF_XDP socket", -error);
  for (std::uint32_t i = 0; i < receive_chunks; ++i) give(i * chunk_bytes);
  transmitter.emplace(::xsk_socket__fd(socket.get()), transmit, completion,
                      XdpChunks{memory.get(), chunk_bytes, receive_chunks, settings.transmit_frames});
  attach(settings.sockets);
}

// Makes the socket. Returns an errno, negative.
int XdpPort::State::open_socket(std::uint32_t transmit_chunks) {
  const std::uint32_t slots = std::bit_ceil(receive_chunks);
  // Twice, because the kernel takes chunks from the ring before it says so.
  const xsk_umem_config of_memory{2 * slots, std::bit_ceil(transmit_chunks),
                                  static_cast<std::uint32_t>(chunk_bytes), 0, 0};
  xsk_umem* made = nullptr;
  const std::uint64_t bytes = chunk_bytes * (receive_chunks + transmit_chunks);
  if (const int error = ::xsk_umem__create(&made, memory.get(), bytes, &fill, &completion, &of_memory);
      error != 0)
    return error;
  umem.reset(made);
  xsk_socket_config of_socket{};
  of_socket.rx_size = slots;
  of_socket.tx_size = XdpTransmitter::kSlots;
  of_socket.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  of_socket.bind_flags = XDP_COPY;
  xsk_socket* opened = nullptr;
  const int error = ::xsk_socket__create(&opened, device.c_str(), 0, made, &received, &transmit, &of_socket);
  if (error != 0) {
    umem.reset();
    return error;
  }
  socket.reset(opened);
  const int file = ::xsk_socket__fd(opened);
  (void)::fcntl(file, F_SETFD, FD_CLOEXEC);
  // Chunks are the limit of the frames on their way out, not the socket's memory for them.
  const auto room = static_cast<int>(2 * chunk_bytes * transmit_chunks);
  if (::setsockopt(file, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0)
    (void)::setsockopt(file, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  return 0;
}

void XdpPort::State::attach(Sockets sockets) {
  const OwnedDescriptor map(
      ::bpf_map_create(BPF_MAP_TYPE_XSKMAP, "weir_port", sizeof(std::uint32_t), sizeof(int), 1, nullptr));
  if (!map.is_open()) fail(device, "XDP map", errno);
  const std::uint32_t queue = 0;
  const int file = ::xsk_socket__fd(socket.get());
  if (::bpf_map_update_elem(map.get(), &queue, &file, 0) != 0) fail(device, "XDP map", errno);
  const OwnedDescriptor program = load_program(device, map.get());
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.flags = sockets == Sockets::xdp_generic ? XDP_FLAGS_SKB_MODE : 0;
  link = OwnedDescriptor(::bpf_link_create(program.get(), static_cast<int>(index), BPF_XDP, &options));
  if (!link.is_open()) fail(device, "attaching the XDP program", errno);
}

void XdpPort::State::give(std::uint64_t chunk) {
  std::uint32_t slot = 0;
  const std::uint32_t reserved = xsk_ring_prod__reserve(&fill, 1, &slot);
  WEIR_ASSERT(reserved == 1);
  *xsk_ring_prod__fill_addr(&fill, slot) = chunk;
  xsk_ring_prod__submit(&fill, 1);
}

XdpPort::XdpPort(const PortInterface& settings) : state_(std::make_unique<State>(settings)) {}

XdpPort::~XdpPort() = default;

int XdpPort::file() const { return ::xsk_socket__fd(state_->socket.get()); }

std::size_t XdpPort::receive_frames() const { return state_->receive_chunks; }

std::optional<FramePort::Received> XdpPort::receive() {
  State& own = *state_;
  if (own.lent != UINT64_MAX) {
    xsk_ring_cons__release(&own.received, 1);
    own.give(std::exchange(own.lent, UINT64_MAX));
  }
  std::uint32_t slot = 0;
  if (xsk_ring_cons__peek(&own.received, 1, &slot) == 0) return std::nullopt;
  const xdp_desc& at = *xsk_ring_cons__rx_desc(&own.received, slot);
  WEIR_ASSERT(at.addr % own.chunk_bytes + at.len <= own.chunk_bytes &&
              at.addr / own.chunk_bytes < own.receive_chunks);
  own.lent = at.addr - at.addr % own.chunk_bytes;
  Received frame{ConstBytes(own.memory.get() + at.addr, at.len), std::nullopt};
  if (lacks_checksum(frame.bytes)) frame.unfit = switching::FrameDrop::no_checksum;
  return frame;
}

bool XdpPort::has_frame() const {
  const xsk_ring_cons& ring = state_->received;
  return __atomic_load_n(ring.producer, __ATOMIC_ACQUIRE) != ring.cached_cons;
}

FramePort::Sent XdpPort::send(std::span<const ConstBytes> frames) {
  return state_->transmitter->send(frames);
}

// The kernel counts a frame without a chunk, and one that is too long, as `rx_dropped`, and each time that a
// chunk was missing. It adds to that first, and is read last here, so no frame without a chunk is called
// long.
InterfaceCounts XdpPort::counts() {
  State& own = *state_;
  xdp_statistics kernel{};
  socklen_t size = sizeof kernel;
  if (::getsockopt(file(), SOL_XDP, XDP_STATISTICS, &kernel, &size) == 0) {
    const std::uint64_t without_chunk = std::min(kernel.rx_dropped, kernel.rx_fill_ring_empty_descs);
    const std::uint64_t too_long = kernel.rx_dropped - without_chunk;
    const std::uint64_t full = without_chunk + kernel.rx_ring_full;
    own.kernel.too_long = std::max(own.kernel.too_long, too_long);
    own.kernel.receive_full = std::max(own.kernel.receive_full, full);
  }
  InterfaceCounts counts = own.kernel;
  counts.waiting = own.transmitter->waiting();
  counts.lost = own.transmitter->lost();
  return counts;
}

bool XdpPort::exists() const {
  ifreq request = request_for(state_->device);
  return ::ioctl(state_->control.get(), SIOCGIFINDEX, &request) == 0;
}

}  // namespace weir::packet_switch
