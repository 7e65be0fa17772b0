#include "space.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/clock/clock.hpp>
#include <weir/lab/network_tracer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

constexpr unsigned kHeaderBytes = 120;  // the longest IPv4 and TCP headers together
constexpr int kSocketBytes = 1 << 22;
constexpr unsigned kIpWord = 4;  // bytes of a unit of IHL and of TCP's data offset
constexpr unsigned kTotalLengthAt = 2;
constexpr unsigned kProtocolAt = 9;
constexpr unsigned kDataOffsetAt = 12;

constexpr sock_filter statement(unsigned code, std::uint32_t k) {
  return {static_cast<std::uint16_t>(code), 0, 0, k};
}
constexpr sock_filter unless_equal(std::uint32_t k, unsigned char skip) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, skip, k};
}

// Passes the headers of outgoing IPv4 frames of TCP with payload.
constexpr std::array<sock_filter, 17> kPayloadFilter = {
    statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)),
    unless_equal(PACKET_OUTGOING, 14),
    statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PROTOCOL)),
    unless_equal(ETH_P_IP, 12),
    statement(BPF_LD | BPF_B | BPF_ABS, kProtocolAt),
    unless_equal(IPPROTO_TCP, 10),
    statement(BPF_LDX | BPF_B | BPF_MSH, 0),  // X: length of the IP header
    statement(BPF_LD | BPF_B | BPF_IND, kDataOffsetAt),
    statement(BPF_ALU | BPF_RSH | BPF_K, 4),
    statement(BPF_ALU | BPF_LSH | BPF_K, 2),
    statement(BPF_ALU | BPF_ADD | BPF_X, 0),
    statement(BPF_MISC | BPF_TAX, 0),  // X: length of both headers
    statement(BPF_LD | BPF_H | BPF_ABS, kTotalLengthAt),
    statement(BPF_ALU | BPF_SUB | BPF_X, 0),
    {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0},
    statement(BPF_RET | BPF_K, kHeaderBytes),
    statement(BPF_RET | BPF_K, 0),
};

OwnedDescriptor packet_socket() {
  OwnedDescriptor socket(
      ::socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));  // bound after its filter is set
  const auto failed = [](const char* what) {
    return std::runtime_error(fmt::format("network trace: {}: {}", what, std::strerror(errno)));
  };
  if (!socket.is_open()) throw failed("cannot open a packet socket");
  const sock_fprog program{kPayloadFilter.size(), const_cast<sock_filter*>(kPayloadFilter.data())};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw failed("the kernel refuses the filter of requests");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBytes, sizeof kSocketBytes);
  sockaddr_ll device{};
  device.sll_family = AF_PACKET;
  device.sll_protocol = htons(ETH_P_ALL);  // outgoing frames reach no socket of a single protocol
  device.sll_ifindex = static_cast<int>(::if_nametoindex("data"));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&device), sizeof device) != 0)
    throw failed("cannot bind to a host's device");
  return socket;
}

// Returns the TCP payload of the frames that wait at the socket.
std::uint64_t payload_at(const OwnedDescriptor& socket) {
  std::array<std::uint8_t, kHeaderBytes> header{};
  std::uint64_t bytes = 0;
  while (::recv(socket.get(), header.data(), header.size(), 0) > 0) {
    const unsigned total = (unsigned{header[kTotalLengthAt]} << 8U) | header[kTotalLengthAt + 1];
    const unsigned ip = kIpWord * (header[0] & 0xFU);
    const unsigned tcp = kIpWord * (header.at(ip + kDataOffsetAt) >> 4U);
    bytes += total - std::min(total, ip + tcp);
  }
  return bytes;
}

}  // namespace

class NetworkTracer::Sampler {
 public:
  Sampler(const LabPlan& plan, const LabNetwork& network, PortCounters counters,
          std::function<std::vector<PortCount>()> more)
      : counters_(std::move(counters)),
        more_(std::move(more)),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
      if (!plan.hosts[i].has_dcm) continue;
      names.push_back(plan.hosts[i].name);
      in_space(network.space(kFirstHost + i), [&] { taps_.push_back(packet_socket()); });
    }
    requests_.resize(taps_.size());
    trace_ = NetworkTrace(plan.ports, std::move(names));
  }
  ~Sampler() { end(); }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void start(DurationNs ago_ns) {
    if (thread_.joinable()) return;
    began_ns_ = monotonic_now_ns() - ago_ns;
    thread_ = std::thread([this] { run(); });
  }

  const NetworkTrace& stop() {
    end();
    return trace_;
  }

 private:
  void end() {
    ::eventfd_write(stop_.get(), 1);
    if (thread_.joinable()) thread_.join();
  }

  void run() {
    ::prctl(PR_SET_TIMERSLACK, 1);
    // Samples that wait for a CPU are late. Without the right to it the thread stays an ordinary one.
    const sched_param before_others{1};
    ::pthread_setschedparam(::pthread_self(), SCHED_RR, &before_others);
    TimeNs next = monotonic_now_ns();
    pollfd stop{stop_.get(), POLLIN, 0};
    for (;;) {
      std::vector<PortCount> ports = counters_.read();
      if (more_) add_counts(ports, more_());
      for (std::size_t i = 0; i < taps_.size(); ++i) requests_[i] += payload_at(taps_[i]);
      const TimeNs now = monotonic_now_ns();
      trace_.take(now - began_ns_, ports, requests_);
      next += kTraceInterval;
      if (next < now) next = now + kTraceInterval;  // samples that are due already are left out
      const DurationNs wait = next - now;
      const timespec timeout{wait / kSecond, wait % kSecond};
      ::ppoll(&stop, 1, &timeout, nullptr);
      if (stop.revents != 0) return;
    }
  }

  PortCounters counters_;
  std::function<std::vector<PortCount>()> more_;
  OwnedDescriptor stop_;
  std::vector<OwnedDescriptor> taps_;  // by requester
  std::vector<std::uint64_t> requests_;
  NetworkTrace trace_;
  TimeNs began_ns_ = 0;
  std::thread thread_;
};

NetworkTracer::NetworkTracer(std::unique_ptr<Sampler> sampler) : sampler_(std::move(sampler)) {}
NetworkTracer::~NetworkTracer() = default;
NetworkTracer::NetworkTracer(NetworkTracer&& other) noexcept = default;
NetworkTracer& NetworkTracer::operator=(NetworkTracer&& other) noexcept = default;

Expected<NetworkTracer, std::string> NetworkTracer::open(const LabPlan& plan, const LabNetwork& network,
                                                         std::function<std::vector<PortCount>()> counts) {
  auto counters = PortCounters::open(plan, network);
  if (!counters) return Unexpected<std::string>(counters.error());
  try {
    return NetworkTracer(std::make_unique<Sampler>(plan, network, std::move(*counters), std::move(counts)));
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
}

void NetworkTracer::start(DurationNs ago_ns) { sampler_->start(ago_ns); }
const NetworkTrace& NetworkTracer::stop() { return sampler_->stop(); }

}  // namespace weir::lab
