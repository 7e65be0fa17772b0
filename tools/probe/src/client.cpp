#include "client.hpp"

#include "handshake.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

namespace weir::probe {
namespace {

using line_figures::Arrival;
using line_figures::Echo;
using line_figures::FloodPart;

constexpr DurationNs kConnectNs = 5 * kSecond;
constexpr DurationNs kAnswerNs = 30 * kSecond;
constexpr DurationNs kResponseNs = 120 * kSecond;
constexpr DurationNs kEchoNs = kSecond;
constexpr DurationNs kQuietNs = 150 * kMillisecond;
constexpr std::size_t kEchoBytes = 64;
constexpr std::size_t kReceiveChunk = std::size_t{256} * 1024;
constexpr double kUdpHeader = 8;
constexpr double kIpv4Header = 20;
constexpr double kIpv6Header = 40;

OwnedDescriptor connected_datagrams(const Address& server) {
  OwnedDescriptor socket(::socket(server.bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open() || ::connect(socket.get(), server.get(), server.size) != 0)
    throw PeerError(std::string("cannot be sent datagrams: ") + std::strerror(errno));
  prepare_receiver(socket.get());
  return socket;
}

double thread_cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

bool wait_readable(int socket, DurationNs wait_ns) {
  if (wait_ns <= 0) return false;
  pollfd poll{socket, POLLIN, 0};
  const timespec time{wait_ns / kSecond, wait_ns % kSecond};
  return ::ppoll(&poll, 1, &time, nullptr) > 0;
}

double us(DurationNs ns) { return static_cast<double>(ns) / static_cast<double>(kMicrosecond); }

// The arrivals of one server's stream.
struct Reception {
  std::vector<Arrival> arrivals;
  std::uint32_t id = 0;
  std::uint32_t drops_before = 0;
  std::uint32_t drops = 0;
  bool server_done = false;
  StreamEnd end;

  void take(const ReceivedDatagram& received) {
    if (received.header.kind != DatagramKind::stream || received.header.stream != id) return;
    arrivals.push_back(
        {received.header.sequence, received.header.sent_ns, received.arrived_ns, received.drops != drops});
    drops = received.drops;
  }
  [[nodiscard]] FloodPart part() {
    FloodPart part;
    part.arrivals = std::move(arrivals);
    part.sent = end.sent;
    part.first_sent_ns = static_cast<UtcNs>(end.first_sent_ns);
    part.last_sent_ns = static_cast<UtcNs>(end.last_sent_ns);
    part.dropped_by_sender = end.dropped_by_sender;
    part.dropped_here = drops - drops_before;
    part.held_up = end.held_up;
    return part;
  }
};

}  // namespace

ProbeClient::ProbeClient(const ProbeClientSettings& settings)
    : server_(settings.server),
      socket_(connect_to(settings.server, kConnectNs, settings.receive_buffer_bytes), kConnectNs),
      datagrams_(connected_datagrams(settings.server)),
      reader_(datagrams_.get()) {
  greet_server(socket_, settings.key);
  welcome_ = socket_.expect<Acceptance>();
}

double ProbeClient::ip_header() const { return server_.is_v6() ? kIpv6Header : kIpv4Header; }

std::uint16_t ProbeClient::full_payload() const {
  int mtu = 0;
  socklen_t size = sizeof mtu;
  ::getsockopt(datagrams_.get(), server_.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP,
               server_.is_v6() ? IPV6_MTU : IP_MTU, &mtu, &size);
  constexpr int kEthernet = 1500;
  if (mtu <= 0) mtu = kEthernet;
  if (welcome_.mtu > 0)
    mtu = std::min(mtu, static_cast<int>(std::min<std::uint32_t>(welcome_.mtu, UINT16_MAX)));
  const int payload = mtu - static_cast<int>(ip_header() + kUdpHeader);
  return static_cast<std::uint16_t>(
      std::clamp(payload, static_cast<int>(kDatagramHeaderBytes), static_cast<int>(kDatagramBytesMax)));
}

double ProbeClient::least_round_trip_us() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_rtt;
}

std::vector<Echo> ProbeClient::exchange_echoes(std::uint32_t count, DurationNs spacing_ns) {
  std::vector<Echo> echoes;
  std::array<std::byte, kEchoBytes> bytes{};
  const auto take = [&](const ReceivedDatagram& received, const Address&) {
    const Datagram& answer = received.header;
    if (answer.kind != DatagramKind::answer || answer.token != welcome_.token) return;
    echoes.push_back({answer.echo_sent_ns, answer.echo_arrived_ns, answer.sent_ns, received.arrived_ns});
  };
  TimeNs due = monotonic_now_ns();
  for (std::uint32_t i = 0; i < count; ++i) {
    Datagram echo;
    echo.kind = DatagramKind::echo;
    echo.token = welcome_.token;
    echo.sequence = i;
    echo.sent_ns = utc_now_ns();
    encode_datagram(echo, bytes);
    (void)::send(datagrams_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    due += spacing_ns;
    while (wait_readable(datagrams_.get(), due - monotonic_now_ns())) reader_.read(take);
  }
  const TimeNs ends = monotonic_now_ns() + kEchoNs;
  while (echoes.size() < count && wait_readable(datagrams_.get(), ends - monotonic_now_ns()))
    reader_.read(take);
  return echoes;
}

void ProbeClient::apply(const Settings& settings) {
  socket_.restart_deadline(kAnswerNs);
  socket_.send(settings);
  (void)socket_.expect<Done>();
}

std::vector<WindowSample> ProbeClient::stop_watching(std::uint32_t& left_out) {
  socket_.send(WindowWatch{false});
  std::vector<WindowSample> all;
  for (bool more = true; more;) {
    const auto part = socket_.expect<WindowSamples>();
    all.insert(all.end(), part.samples.begin(), part.samples.end());
    left_out = part.left_out;
    more = part.more;
  }
  return all;
}

Series ProbeClient::run_series(const SeriesSettings& settings) {
  Series series;
  space_.resize(std::min<std::size_t>(settings.response_bytes, kReceiveChunk));
  socket_.restart_deadline(kAnswerNs);
  socket_.send(WindowWatch{true});
  (void)socket_.expect<Done>();
  const TimeNs begin = monotonic_now_ns();
  Request request;
  request.response_bytes = settings.response_bytes;
  for (std::uint32_t i = 0; i < settings.count; ++i) {
    if (i > 0 && settings.pause_ns > 0) {
      // Nothing is due in a pause; a server that closes the connection ends it.
      (void)wait_readable(socket_.descriptor(), settings.pause_ns);
    }
    socket_.restart_deadline(kResponseNs);
    const TimeNs sent = monotonic_now_ns();
    socket_.send(request);
    for (std::size_t left = settings.response_bytes; left > 0;) {
      const std::size_t now = std::min(left, space_.size());
      socket_.receive_bytes(Bytes(space_).first(now));
      left -= now;
    }
    series.at_us.push_back(us(sent - begin));
    series.latency_us.push_back(us(monotonic_now_ns() - sent));
  }
  socket_.restart_deadline(kAnswerNs);
  series.window = stop_watching(series.window_samples_left_out);
  return series;
}

MessageTimes ProbeClient::time_messages(std::uint32_t bytes, std::uint32_t count) {
  space_.resize(std::max<std::size_t>(space_.size(), bytes));
  socket_.restart_deadline(kResponseNs);
  WEIR_ASSERT(count > 0 && bytes > 0);
  const double before = thread_cpu_us();
  socket_.send(Burst{bytes, count});
  for (std::uint32_t i = 0; i < count; ++i) socket_.receive_plainly(Bytes(space_).first(bytes));
  const double used = thread_cpu_us() - before;
  const auto end = socket_.expect<BurstEnd>();
  return {us(static_cast<DurationNs>(end.cpu_ns)) / count, used / count};
}

std::vector<FloodPart> receive_streams(std::vector<std::unique_ptr<ProbeClient>>& clients,
                                       StreamRequest stream) {
  std::vector<Reception> receptions(clients.size());
  std::vector<pollfd> polls;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ProbeClient& client = *clients[i];
    client.reader_.read([](const ReceivedDatagram&, const Address&) {});  // late ones
    receptions[i].drops = receptions[i].drops_before = client.reader_.drops();
    receptions[i].id = stream.id = ++client.streams_;
    client.socket_.restart_deadline(kAnswerNs);
    client.socket_.send(stream);
    polls.push_back({client.datagrams_.get(), POLLIN, 0});
    polls.push_back({client.socket_.descriptor(), POLLIN, 0});
  }
  WEIR_ASSERT(polls.size() == 2 * clients.size());
  std::size_t done = 0;
  TimeNs last = monotonic_now_ns();
  const TimeNs ends = last + kAnswerNs;
  while (done < clients.size() || monotonic_now_ns() < last + kQuietNs) {
    if (monotonic_now_ns() > ends) throw PeerError("did not end a stream in time");
    ::poll(polls.data(), polls.size(), static_cast<int>(kQuietNs / kMillisecond / 4));
    for (std::size_t i = 0; i < clients.size(); ++i) {
      Reception& reception = receptions[i];
      const std::size_t before = reception.arrivals.size();
      clients[i]->reader_.read(
          [&](const ReceivedDatagram& received, const Address&) { reception.take(received); });
      if (reception.arrivals.size() != before) last = monotonic_now_ns();
      if (reception.server_done || polls[2 * i + 1].revents == 0) continue;
      reception.end = clients[i]->socket_.expect<StreamEnd>();
      reception.server_done = true;
      polls[2 * i + 1].fd = -1;
      last = monotonic_now_ns();
      ++done;
    }
  }
  std::vector<FloodPart> parts;
  for (Reception& reception : receptions) parts.push_back(reception.part());
  return parts;
}

}  // namespace weir::probe
