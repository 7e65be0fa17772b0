// Sends frames of one length to one address as fast as asked: a source for measurements of a switch. It uses
// the kernel's transmit ring without a queue, which costs less than any forwarder.
#include <weir/base/owned_descriptor.hpp>
#include <weir/clock/clock.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <vector>

namespace {

using namespace weir;

constexpr unsigned kSlots = 1024;
constexpr unsigned kSlotBytes = 2048;
constexpr unsigned kBlockBytes = 1U << 16;
constexpr std::uint64_t kBatch = 64;

class Generator {
 public:
  explicit Generator(const std::string& device) : socket_(::socket(AF_PACKET, SOCK_RAW, 0)) {
    const int on = 1;
    const int version = TPACKET_V2;
    const tpacket_req ring{kBlockBytes, kSlots * kSlotBytes / kBlockBytes, kSlotBytes, kSlots};
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_ifindex = static_cast<int>(::if_nametoindex(device.c_str()));
    const auto set = [&](int option, const auto& value) {
      return ::setsockopt(socket_.get(), SOL_PACKET, option, &value, sizeof value) == 0;
    };
    if (!socket_.is_open() || !set(PACKET_VERSION, version) || !set(PACKET_QDISC_BYPASS, on) ||
        !set(PACKET_TX_RING, ring) || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
      throw std::runtime_error("cannot send on '" + device + "': needs root and an interface that is up");
    void* const memory = ::mmap(nullptr, std::size_t{kSlots} * kSlotBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                socket_.get(), 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the transmit ring");
    ring_ = static_cast<std::byte*>(memory);
  }

  // Queues a frame; false: the ring is full.
  bool put(const std::byte* frame, std::size_t bytes) {
    auto* const head = reinterpret_cast<tpacket2_hdr*>(ring_ + std::size_t{next_} * kSlotBytes);
    std::atomic_ref<std::uint32_t> status(head->tp_status);
    if (status.load(std::memory_order_acquire) != TP_STATUS_AVAILABLE) return false;
    std::memcpy(reinterpret_cast<std::byte*>(head) + TPACKET_ALIGN(sizeof(tpacket2_hdr)), frame, bytes);
    head->tp_len = static_cast<std::uint32_t>(bytes);
    status.store(TP_STATUS_SEND_REQUEST, std::memory_order_release);
    next_ = (next_ + 1) % kSlots;
    return true;
  }
  void flush() { (void)::send(socket_.get(), nullptr, 0, 0); }

 private:
  OwnedDescriptor socket_;
  std::byte* ring_ = nullptr;
  unsigned next_ = 0;
};

// An IPv4 frame with UDP and no checksums of UDP.
std::vector<std::byte> frame_to(const char* address, std::size_t bytes) {
  std::vector<std::byte> frame(bytes);
  ether_header ethernet{};
  std::memset(ethernet.ether_dhost, 2, sizeof ethernet.ether_dhost);
  ethernet.ether_type = htons(ETHERTYPE_IP);
  iphdr ip{};
  ip.version = 4;
  ip.ihl = sizeof(iphdr) / 4;
  ip.ttl = 64;
  ip.protocol = IPPROTO_UDP;
  ip.tot_len = htons(static_cast<std::uint16_t>(bytes - sizeof ethernet));
  ip.saddr = ::inet_addr("10.0.0.1");
  ip.daddr = ::inet_addr(address);
  udphdr udp{};
  udp.dest = htons(9);
  udp.len = htons(static_cast<std::uint16_t>(bytes - sizeof ethernet - sizeof ip));
  std::memcpy(frame.data(), &ethernet, sizeof ethernet);
  std::memcpy(frame.data() + sizeof ethernet, &ip, sizeof ip);
  std::memcpy(frame.data() + sizeof ethernet + sizeof ip, &udp, sizeof udp);
  return frame;
}

int run(const std::string& device, const char* address, std::size_t bytes, double per_s, double seconds) {
  Generator generator(device);
  const std::vector<std::byte> frame = frame_to(address, bytes);
  const TimeNs begin_ns = monotonic_now_ns();
  std::uint64_t sent = 0;
  double passed_s = 0;
  while (passed_s < seconds) {
    passed_s = static_cast<double>(monotonic_now_ns() - begin_ns) / static_cast<double>(kSecond);
    const auto due = static_cast<std::uint64_t>(per_s * passed_s);
    std::uint64_t batch = 0;
    while (sent < due && batch < kBatch && generator.put(frame.data(), frame.size())) {
      ++sent;
      ++batch;
    }
    if (batch > 0) generator.flush();
  }
  std::printf("%llu %.3f\n", static_cast<unsigned long long>(sent), passed_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("weir-frame-generator DEVICE ADDRESS BYTES FRAMES_PER_S SECONDS\n", stderr);
    return 2;
  }
  constexpr std::size_t kHeaders = sizeof(ether_header) + sizeof(iphdr) + sizeof(udphdr);
  try {
    const auto bytes = std::clamp<std::size_t>(std::stoul(argv[3]), kHeaders, 1514);
    return run(argv[1], argv[2], bytes, std::stod(argv[4]), std::stod(argv[5]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir-frame-generator: %s\n", error.what());
    return 1;
  }
}
