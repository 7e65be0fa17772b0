#include "sniffer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <unistd.h>

namespace weir::system_test {
namespace {

constexpr std::size_t kBytesMax = 64U << 20;
constexpr std::size_t kPacketMax = 1U << 17;
constexpr int kBufferBytes = 64 << 20;
constexpr suseconds_t kWaitUs = 20'000;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

bool bring_up_loopback() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  const bool up = any >= 0 && ::ioctl(any, SIOCSIFFLAGS, &loopback) == 0;
  ::close(any);
  return up;
}

}  // namespace

OwnLoopback::OwnLoopback() : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  if (before_ < 0 || ::unshare(CLONE_NEWNET) != 0 || !bring_up_loopback())
    fail("cannot have a loopback of its own");
}

OwnLoopback::~OwnLoopback() {
  ::setns(before_, CLONE_NEWNET);
  ::close(before_);
}

Sniffer::Sniffer() : socket_(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP))) {
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_IP);
  at.sll_ifindex = static_cast<int>(::if_nametoindex("lo"));
  const timeval wait{0, kWaitUs};
  if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0 ||
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &kBufferBytes, sizeof kBufferBytes) < 0 ||
      ::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) < 0)
    fail("cannot listen to the loopback");
  thread_ = std::thread([this] { listen(); });
}

Sniffer::~Sniffer() {
  stop();
  ::close(socket_);
}

void Sniffer::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Sniffer::listen() {
  std::vector<std::byte> packet(kPacketMax);
  while (!stop_ && bytes_ < kBytesMax) {
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    const ssize_t size =
        ::recvfrom(socket_, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
    // The loopback shows each packet on its way out, too.
    if (size > 0 && from.sll_pkttype == PACKET_HOST) take(packet.data(), static_cast<std::size_t>(size));
  }
}

void Sniffer::take(const std::byte* packet, std::size_t size) {
  iphdr ip{};
  tcphdr tcp{};
  if (size < sizeof ip) return;
  std::memcpy(&ip, packet, sizeof ip);
  const std::size_t at = std::size_t{4} * ip.ihl;
  if (ip.protocol != IPPROTO_TCP || size < at + sizeof tcp) return;
  std::memcpy(&tcp, packet + at, sizeof tcp);
  const std::size_t begin = at + std::size_t{4} * tcp.doff;
  const std::size_t end = std::min(size, std::size_t{ntohs(ip.tot_len)});
  const bool begins = tcp.syn != 0 && tcp.ack == 0;
  if (begin > end || (begin == end && !begins)) return;
  heard_.push_back({ntohs(tcp.source), ntohs(tcp.dest), ntohl(tcp.seq) + (begins ? 1 : 0), begins,
                    std::vector<std::byte>(packet + begin, packet + end)});
  bytes_ += end - begin;
}

std::vector<std::byte> Sniffer::said_to(std::uint16_t port) const {
  const auto first = std::find_if(heard_.begin(), heard_.end(),
                                  [&](const Segment& one) { return one.to == port && one.begins; });
  std::vector<std::byte> words;
  if (first == heard_.end()) return words;
  std::uint32_t next = first->sequence;
  for (auto one = first; one != heard_.end(); ++one) {
    if (one->to != port || one->from != first->from || one->bytes.empty()) continue;
    if (one->sequence != next) continue;  // once more
    words.insert(words.end(), one->bytes.begin(), one->bytes.end());
    next += static_cast<std::uint32_t>(one->bytes.size());
  }
  return words;
}

}  // namespace weir::system_test
