#include "datagram_reader.hpp"

#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>

#include <cstring>
#include <ctime>

namespace weir::probe {
namespace {

constexpr int kReceiveBuffer = 16 << 20;
constexpr int kBatchesAtOnce = 8;

}  // namespace

void prepare_receiver(int socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  if (::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBuffer, sizeof kReceiveBuffer) != 0)
    ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
}

DatagramReader::DatagramReader(int socket)
    : socket_(socket), space_(kBatch), control_(kBatch), from_(kBatch), pieces_(kBatch), headers_(kBatch) {}

void DatagramReader::read(const std::function<void(const ReceivedDatagram&, const Address& from)>& take) {
  for (int batch = 0; batch < kBatchesAtOnce; ++batch) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces_[i] = {space_[i].data(), space_[i].size()};
      from_[i].size = sizeof from_[i].bytes;
      msghdr& header = headers_[i].msg_hdr;
      header = {};
      header.msg_name = &from_[i].bytes;
      header.msg_namelen = from_[i].size;
      header.msg_iov = &pieces_[i];
      header.msg_iovlen = 1;
      header.msg_control = control_[i].data();
      header.msg_controllen = control_[i].size();
    }
    const int got = ::recvmmsg(socket_, headers_.data(), kBatch, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < got; ++i) {
      const auto at = static_cast<std::size_t>(i);
      WEIR_ASSERT(headers_[at].msg_len <= space_[at].size());
      msghdr& header = headers_[at].msg_hdr;
      ReceivedDatagram received;
      received.bytes = ConstBytes(space_[at]).first(headers_[at].msg_len);
      for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        timespec time{};
        if (part->cmsg_type == SCM_TIMESTAMPNS) {
          std::memcpy(&time, CMSG_DATA(part), sizeof time);
          received.arrived_ns = time.tv_sec * kSecond + time.tv_nsec;
        } else if (part->cmsg_type == SO_RXQ_OVFL) {
          std::memcpy(&drops_, CMSG_DATA(part), sizeof drops_);
        }
      }
      if (received.arrived_ns == 0) received.arrived_ns = utc_now_ns();
      received.drops = drops_;
      from_[at].size = header.msg_namelen;
      if (const auto datagram = decode_datagram(received.bytes)) {
        received.header = *datagram;
        take(received, from_[at]);
      } else {
        ++malformed_;
      }
    }
    if (got < static_cast<int>(kBatch)) return;
  }
}

}  // namespace weir::probe
