#include "space.hpp"
#include <weir/lab/counters.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <map>
#include <net/if.h>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>

namespace weir::lab {

struct PortCounters::Reader {
  OwnedDescriptor socket;
  std::map<int, std::size_t> ports;  // by device index
  std::optional<std::size_t> host;   // host that loses frames, in this namespace

  [[nodiscard]] bool reads() const { return !ports.empty() || host; }
};

namespace {

constexpr std::size_t kReplyBytes = 32768;

struct Request {
  nlmsghdr header;
  tcmsg message;
};

OwnedDescriptor netlink_socket() {
  OwnedDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.is_open())
    throw std::runtime_error(std::string("cannot open a netlink socket: ") + std::strerror(errno));
  // The kernel answers within the call; the timeout is for a kernel that does not.
  const timeval patience{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

// Calls `take(type, data, size)` for each attribute in the bytes.
template <class Take>
void for_each_attribute(const char* bytes, std::size_t size, const Take& take) {
  while (size >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, bytes, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > size) return;
    take(attribute.rta_type, bytes + sizeof attribute, attribute.rta_len - sizeof attribute);
    const std::size_t step = std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), size);
    bytes += step;
    size -= step;
  }
}

template <class Value>
Value read_value(const char* bytes, std::size_t size) {
  Value value{};
  std::memcpy(&value, bytes, std::min(size, sizeof value));
  return value;
}

void read_statistics(const char* bytes, std::size_t size, PortCount& count) {
  for_each_attribute(bytes, size, [&](unsigned type, const char* data, std::size_t length) {
    if (type == TCA_STATS_BASIC) {
      const auto basic = read_value<gnet_stats_basic>(data, length);
      count.bytes = basic.bytes;
      if (count.packets < basic.packets) count.packets = basic.packets;
    } else if (type == TCA_STATS_PKT64) {
      count.packets = read_value<std::uint64_t>(data, length);
    } else if (type == TCA_STATS_QUEUE) {
      const auto queue = read_value<gnet_stats_queue>(data, length);
      count.drops = queue.drops;
      count.backlog_bytes = queue.backlog;
    }
  });
}

}  // namespace

void add_counts(std::vector<PortCount>& counts, const std::vector<PortCount>& more) {
  for (std::size_t i = 0; i < std::min(counts.size(), more.size()); ++i) {
    counts[i].bytes += more[i].bytes;
    counts[i].packets += more[i].packets;
    counts[i].drops += more[i].drops;
    counts[i].backlog_bytes += more[i].backlog_bytes;
    counts[i].pauses += more[i].pauses;
    counts[i].paused_ns += more[i].paused_ns;
  }
}

std::uint64_t machine_drops() {
  std::ifstream file("/proc/net/softnet_stat");
  std::uint64_t drops = 0;
  // A line per CPU, in hexadecimal: frames received, frames dropped, and more.
  for (std::string line; std::getline(file, line);) {
    std::istringstream columns(line);
    std::uint64_t taken = 0;
    std::uint64_t dropped = 0;
    if (columns >> std::hex >> taken >> dropped) drops += dropped;
  }
  return drops;
}

PortCounters::PortCounters() = default;
PortCounters::~PortCounters() = default;
PortCounters::PortCounters(PortCounters&& other) noexcept = default;
PortCounters& PortCounters::operator=(PortCounters&& other) noexcept = default;

Expected<PortCounters, std::string> PortCounters::open(const LabPlan& plan, const LabNetwork& network) {
  PortCounters counters;
  counters.counts_.resize(plan.ports.size());
  counters.lost_.resize(plan.hosts.size());
  try {
    for (Space space = 0; space < plan.spaces(); ++space) {
      auto reader = std::make_unique<Reader>();
      in_space(network.space(space), [&] {
        for (std::size_t i = 0; i < plan.ports.size(); ++i) {
          if (plan.ports[i].space != space || plan.has_fabric()) continue;
          reader->ports[static_cast<int>(::if_nametoindex(plan.ports[i].device.c_str()))] = i;
        }
        if (space >= kFirstHost && plan.hosts[space - kFirstHost].loses_frames())
          reader->host = space - kFirstHost;
        if (reader->reads()) reader->socket = netlink_socket();
      });
      if (reader->reads()) counters.readers_.push_back(std::move(reader));
    }
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
  return counters;
}

const std::vector<PortCount>& PortCounters::read() {
  alignas(nlmsghdr) std::array<char, kReplyBytes> reply{};
  for (const auto& reader : readers_) {
    Request request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETQDISC;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.message.tcm_family = AF_UNSPEC;
    if (::send(reader->socket.get(), &request, sizeof request, 0) < 0) continue;
    for (bool more = true; more;) {
      const ssize_t size = ::recv(reader->socket.get(), reply.data(), reply.size(), 0);
      if (size <= 0) break;
      auto left = static_cast<unsigned>(size);
      for (auto* header = reinterpret_cast<nlmsghdr*>(reply.data()); NLMSG_OK(header, left);
           header = NLMSG_NEXT(header, left)) {
        more = header->nlmsg_type != NLMSG_DONE && header->nlmsg_type != NLMSG_ERROR;
        if (header->nlmsg_type != RTM_NEWQDISC || header->nlmsg_len < NLMSG_LENGTH(sizeof(tcmsg))) continue;
        const auto* message = static_cast<const tcmsg*>(NLMSG_DATA(header));
        const bool lossy = reader->host && message->tcm_parent == TC_H_CLSACT;
        const auto port = reader->ports.find(message->tcm_ifindex);
        if (!lossy && (port == reader->ports.end() || message->tcm_parent != TC_H_ROOT)) continue;
        PortCount lost;
        PortCount& count = lossy ? lost : counts_[port->second];
        const auto* attributes = reinterpret_cast<const char*>(message) + NLMSG_ALIGN(sizeof(tcmsg));
        for_each_attribute(attributes, header->nlmsg_len - NLMSG_LENGTH(sizeof(tcmsg)),
                           [&](unsigned type, const char* data, std::size_t length) {
                             if (type == TCA_STATS2) read_statistics(data, length, count);
                           });
        if (lossy) lost_[*reader->host] = lost.drops;
      }
    }
  }
  return counts_;
}

}  // namespace weir::lab
