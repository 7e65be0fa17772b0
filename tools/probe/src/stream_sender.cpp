#include "stream_sender.hpp"

#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <thread>
#include <vector>

namespace weir::probe {
namespace {

constexpr std::size_t kBatch = 8;
constexpr std::size_t kShortBatch = 2;       // of a stream that keeps the own queue short
constexpr std::uint32_t kUnreportedMax = 1;  // batches
constexpr int kSocketBytes = 32 << 20;       // with the kernel's own bookkeeping
constexpr DurationNs kSpinNs = 60 * kMicrosecond;

// Follows the datagrams of a socket through the host's own output queue: which of them the device has (by the
// kernel's time stamps of sending), and which the queue dropped (ENOBUFS). Restores the socket's options.
class OutputWatch {
 public:
  OutputWatch(int socket, bool is_v6)
      : socket_(socket), level_(is_v6 ? IPPROTO_IPV6 : IPPROTO_IP), is_v6_(is_v6) {
    set_reports(1, SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY);
    const int never = is_v6 ? IPV6_PMTUDISC_DO : IP_PMTUDISC_DO;  // divides no datagram
    ::setsockopt(socket, level_, is_v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &never, sizeof never);
    if (::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &kSocketBytes, sizeof kSocketBytes) != 0)
      ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  }
  ~OutputWatch() {
    set_reports(0, 0);
    while (take_report()) {
    }
  }
  OutputWatch(const OutputWatch&) = delete;
  OutputWatch& operator=(const OutputWatch&) = delete;

  // Returns whether the last datagrams of more than kUnreportedMax batches are in the own queue. False if the
  // device reports none.
  [[nodiscard]] bool queue_is_long(std::uint32_t batches) {
    while (take_report()) {
    }
    return reported_ > 0 && batches > reported_ + kUnreportedMax;
  }

 private:
  void set_reports(int errors, int stamps) const {
    ::setsockopt(socket_, level_, is_v6_ ? IPV6_RECVERR : IP_RECVERR, &errors, sizeof errors);
    ::setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
  }
  bool take_report() {
    char control[256];
    msghdr message{};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(socket_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != level_ || part->cmsg_type != (is_v6_ ? IPV6_RECVERR : IP_RECVERR)) continue;
      sock_extended_err report{};
      std::memcpy(&report, CMSG_DATA(part), sizeof report);
      if (report.ee_origin != SO_EE_ORIGIN_TIMESTAMPING) continue;
      if (reported_ == 0) first_id_ = report.ee_data;
      reported_ = std::max(reported_, report.ee_data - first_id_ + 1);
    }
    return true;
  }

  int socket_;
  int level_;
  bool is_v6_;
  std::uint32_t first_id_ = 0;  // of the first batch that the device has reported
  std::uint32_t reported_ = 0;  // batches up to the latest one that was reported
};

// A control message of one number.
template <class Number>
class Control {
 public:
  Control(int level, int type, Number number) {
    cmsghdr header{};
    header.cmsg_len = CMSG_LEN(sizeof number);
    header.cmsg_level = level;
    header.cmsg_type = type;
    std::memcpy(bytes_.data(), &header, sizeof header);
    std::memcpy(bytes_.data() + CMSG_LEN(0), &number, sizeof number);
  }
  void append_to(std::vector<unsigned char>& control) const {
    control.insert(control.end(), bytes_.begin(), bytes_.end());
  }

 private:
  std::array<unsigned char, CMSG_SPACE(sizeof(Number))> bytes_{};
};

// Headers and payloads of a batch. The device reports its last datagram.
class Batch {
 public:
  Batch(const Address& to, const Token& token, const StreamRequest& stream)
      : to_(to), payloads_(kBatch, std::vector<std::byte>(stream.payload_bytes)) {
    datagram_.kind = DatagramKind::stream;
    datagram_.token = token;
    datagram_.stream = stream.id;
    Control<std::uint32_t>(SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_TX_SOFTWARE).append_to(stamp_);
    divided_ = stamp_;
    Control<std::uint16_t>(SOL_UDP, UDP_SEGMENT, stream.payload_bytes).append_to(divided_);
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces_[i] = {payloads_[i].data(), payloads_[i].size()};
      headers_[i] = {};
      headers_[i].msg_hdr.msg_name = to_.get();
      headers_[i].msg_hdr.msg_namelen = to_.size;
      headers_[i].msg_hdr.msg_iov = &pieces_[i];
      headers_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  // Returns the number of datagrams that were passed on, or -1, as sendmmsg(). `at_once`: all or none, as one
  // long datagram that the kernel divides.
  [[nodiscard]] int send(int socket, std::uint32_t first, std::size_t count, UtcNs now, bool at_once) {
    WEIR_ASSERT(count > 0 && count <= kBatch);
    datagram_.sent_ns = now;
    for (std::size_t i = 0; i < count; ++i) {
      datagram_.sequence = first + static_cast<std::uint32_t>(i);
      encode_datagram(datagram_, payloads_[i]);
      headers_[i].msg_hdr.msg_control = i + 1 == count ? stamp_.data() : nullptr;
      headers_[i].msg_hdr.msg_controllen = i + 1 == count ? stamp_.size() : 0;
    }
    if (!at_once) return ::sendmmsg(socket, headers_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    msghdr whole = headers_.front().msg_hdr;
    whole.msg_iovlen = count;
    whole.msg_control = divided_.data();
    whole.msg_controllen = divided_.size();
    return ::sendmsg(socket, &whole, MSG_DONTWAIT) < 0 ? -1 : static_cast<int>(count);
  }

 private:
  Address to_;
  Datagram datagram_;
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<unsigned char> stamp_;
  std::vector<unsigned char> divided_;
  std::array<iovec, kBatch> pieces_{};
  std::array<mmsghdr, kBatch> headers_{};
};

void wait_until_ns(TimeNs due) {
  const TimeNs wake = due - kSpinNs;
  if (monotonic_now_ns() < wake) {
    const timespec time{wake / kSecond, wake % kSecond};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
  }
  while (monotonic_now_ns() < due) {
  }
}

}  // namespace

StreamEnd send_stream(int socket, const Address& to, const Token& token, const StreamRequest& stream,
                      const std::atomic<bool>& stop) {
  WEIR_ASSERT(refusal_of(stream).empty());
  OutputWatch output(socket, to.is_v6());
  Batch batch(to, token, stream);
  StreamEnd end;
  const std::size_t batch_size = stream.spacing_ns > 0                        ? 1
                                 : stream.fill_own_queue || stream.in_batches ? kBatch
                                                                              : kShortBatch;
  bool in_batches = stream.in_batches && stream.spacing_ns == 0;
  std::uint64_t turns = 0;
  std::uint32_t batches = 0;
  std::uint64_t long_queues = 0;
  TimeNs due = monotonic_now_ns();
  const TimeNs ends = due + stream.length_us * kMicrosecond;
  while (end.sent < stream.count_max && !stop) {
    if (stream.spacing_ns > 0) wait_until_ns(due);
    const TimeNs now = monotonic_now_ns();
    if (now >= ends) break;
    due = std::max(due + stream.spacing_ns, now);
    ++turns;
    if (output.queue_is_long(batches) && !stream.fill_own_queue) {
      ++long_queues;
      std::this_thread::yield();
      continue;
    }
    const UtcNs utc = utc_now_ns();
    const std::size_t count = std::min<std::size_t>(batch_size, stream.count_max - end.sent);
    const int sent = batch.send(socket, end.sent, count, utc, in_batches);
    if (sent > 0) {
      if (end.first_sent_ns == 0) end.first_sent_ns = static_cast<std::uint64_t>(utc);
      end.last_sent_ns = static_cast<std::uint64_t>(utc);
      end.sent += static_cast<std::uint32_t>(sent);
      if (static_cast<std::size_t>(sent) == count) ++batches;
    } else if (errno == ENOBUFS) {
      const auto dropped = static_cast<std::uint32_t>(in_batches ? count : 1);
      end.sent += dropped;
      end.dropped_by_sender += dropped;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      ++long_queues;
      pollfd poll{socket, POLLOUT, 0};
      ::poll(&poll, 1, 1);
    } else if (in_batches && errno != EINTR) {
      in_batches = false;  // the device cannot, or the kernel is too old
    } else if (errno != EINTR) {
      break;  // the client's socket is gone, or the datagram is longer than the line allows
    }
  }
  end.held_up = 2 * long_queues > turns;
  return end;
}

}  // namespace weir::probe
