#include "session.hpp"

#include "handshake.hpp"
#include "stream_sender.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/security/keys.hpp>

#include <algorithm>
#include <ctime>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

namespace weir::probe {
namespace {

constexpr DurationNs kHelloNs = 5 * kSecond;
constexpr DurationNs kIdleNs = 30 * kSecond;
constexpr DurationNs kSessionNs = 600 * kSecond;
constexpr std::size_t kSendChunk = std::size_t{256} * 1024;

Token make_token() {
  Token token{};
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size()))
    throw PeerError("no random numbers");
  return token;
}

std::uint64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec * kSecond + time.tv_nsec);
}

std::uint32_t mtu_of(const MessageSocket& socket, bool is_v6) {
  int mtu = 0;
  socklen_t size = sizeof mtu;
  ::getsockopt(socket.descriptor(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_MTU : IP_MTU, &mtu,
               &size);
  return static_cast<std::uint32_t>(std::max(0, mtu));
}

class Session {
 public:
  Session(MessageSocket& socket, const Token& token, const SessionParts& parts)
      : socket_(socket), token_(token), parts_(parts) {}

  void run() {
    const TimeNs ends = monotonic_now_ns() + kSessionNs;
    while (!*parts_.stop) {
      if (monotonic_now_ns() > ends) refuse(socket_, "a session ends after ten minutes");
      socket_.restart_deadline(kIdleNs);
      const MessageSocket::Received received = socket_.receive();
      socket_.restart_deadline(kIdleNs);
      serve(received);
    }
  }

 private:
  template <class Message>
  static Message as(const MessageSocket::Received& received) {
    return MessageSocket::decoded<Message>(received.body);
  }

  void serve(const MessageSocket::Received& received) {
    switch (received.type) {
      case MessageType::settings:
        return apply(as<Settings>(received));
      case MessageType::request:
        return respond(as<Request>(received));
      case MessageType::watch:
        return watch(as<WindowWatch>(received));
      case MessageType::stream:
        return stream(as<StreamRequest>(received));
      case MessageType::burst:
        return burst(as<Burst>(received));
      default:
        refuse(socket_, "a message that a server does not receive");
    }
  }

  void apply(const Settings& settings) {
    const int fd = socket_.descriptor();
    const auto bytes = static_cast<int>(std::min(settings.send_buffer_bytes, kResponseBytesMax));
    if (bytes > 0) ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    const std::string& control = settings.congestion_control;
    if (!control.empty() && ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control.data(),
                                         static_cast<socklen_t>(control.size())) != 0)
      refuse(socket_, "congestion control '" + control + "' is not available on the server");
    if (settings.idle_restart != IdleRestart::unknown &&
        (!may_change_idle_restart() || !idle_restart_.set(settings.idle_restart)))
      refuse(socket_, "the server may not change net.ipv4.tcp_slow_start_after_idle");
    socket_.send(Done{});
  }

  void respond(const Request& request) {
    check(refusal_of(request));
    filler_.resize(std::min<std::size_t>(request.response_bytes, kSendChunk));
    for (std::uint64_t left = request.response_bytes; left > 0;) {
      const std::size_t now = std::min<std::size_t>(left, filler_.size());
      socket_.send_bytes(ConstBytes(filler_).first(now));
      left -= now;
    }
  }

  void watch(const WindowWatch& watch) {
    if (watch.begins) {
      sampler_.emplace(socket_.descriptor());
      return socket_.send(Done{});
    }
    std::uint32_t left_out = 0;
    const std::vector<WindowSample> all = sampler_ ? sampler_->stop(left_out) : std::vector<WindowSample>();
    sampler_.reset();
    std::size_t at = 0;
    do {
      const std::size_t count = std::min(kSamplesOfMessage, all.size() - at);
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(at);
      at += count;
      socket_.send(
          WindowSamples{{from, from + static_cast<std::ptrdiff_t>(count)}, left_out, at < all.size()});
    } while (at < all.size());
  }

  void stream(const StreamRequest& stream) {
    check(refusal_of(stream));
    const auto to = parts_.client->stream_address();
    if (!to) refuse(socket_, "no echo has arrived: does a firewall stop UDP?");
    parts_.client->set_streaming(true);
    const StreamEnd end = send_stream(parts_.datagrams, *to, token_, stream, *parts_.stop);
    parts_.client->set_streaming(false);
    socket_.restart_deadline(kIdleNs);
    socket_.send(end);
  }

  void burst(const Burst& burst) {
    check(refusal_of(burst));
    filler_.resize(std::max<std::size_t>(filler_.size(), burst.message_bytes));
    const ConstBytes message = ConstBytes(filler_).first(burst.message_bytes);
    const std::uint64_t before = thread_cpu_ns();
    for (std::uint32_t i = 0; i < burst.count; ++i) socket_.send_bytes(message);
    socket_.send(BurstEnd{thread_cpu_ns() - before});
  }

  void check(const std::string& refusal) {
    if (!refusal.empty()) refuse(socket_, refusal);
  }

  MessageSocket& socket_;
  Token token_;
  SessionParts parts_;
  IdleRestartChange idle_restart_;
  std::optional<WindowSampler> sampler_;
  std::vector<std::byte> filler_;
};

}  // namespace

std::optional<std::string> MeasuringClient::begin(const Address& client, const Token& token) {
  const std::lock_guard lock(mutex_);
  if (client_) return client_->text();
  client_ = client;
  streams_to_.reset();
  token_ = token;
  return std::nullopt;
}

void MeasuringClient::end() {
  const std::lock_guard lock(mutex_);
  WEIR_ASSERT(client_.has_value());
  client_.reset();
  streams_to_.reset();
}

bool MeasuringClient::verify(const Address& from, const Token& token) {
  const std::lock_guard lock(mutex_);
  if (!client_ || token != token_ || !from.same_host(*client_)) return false;
  streams_to_ = from;
  return true;
}

std::optional<Address> MeasuringClient::stream_address() const {
  const std::lock_guard lock(mutex_);
  return streams_to_;
}

SessionEnd serve_session(OwnedDescriptor descriptor, const Address& client, const SessionParts& parts) {
  MessageSocket socket(std::move(descriptor), kHelloNs);
  struct Ending {
    MeasuringClient* client = nullptr;
    ~Ending() {
      if (client != nullptr) client->end();
    }
  } ending;
  bool put_off = false;
  try {
    greet_client(socket, parts.key);
    const Token token = make_token();
    if (const auto present = parts.client->begin(client, token)) {
      put_off = true;
      refuse(socket, "busy: " + *present + " is measuring");
    }
    ending.client = parts.client;
    socket.send(
        Acceptance{token, mtu_of(socket, client.is_v6()), read_idle_restart(), may_change_idle_restart()});
    Session(socket, token, parts).run();
    return {.why = "the server ends", .measured = true};
  } catch (const PeerError& error) {
    return {error.what(), ending.client != nullptr, put_off};
  }
}

}  // namespace weir::probe
