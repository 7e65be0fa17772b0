#include "wire_client.hpp"

#include <weir/wire/batch.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace weir::system_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kPayloadMax = 64U << 20;
constexpr Seconds kAccountPatience{60};
constexpr Seconds kHelloPatience{10};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::vector<std::byte> framed(wire::FrameType type, const google::protobuf::MessageLite& message) {
  std::vector<std::byte> payload(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(payload.data()));
  std::vector<std::byte> frame;
  wire::append_frame(type, payload, frame);
  return frame;
}

Seconds left(std::chrono::time_point<Clock, Seconds> end) {
  return std::max(Seconds(0), Seconds(end - Clock::now()));
}

template <class Visit>
void for_each_counter(const v1::RunSummary& account, const std::string& node, Visit visit) {
  for (const v1::Report& report : account.nodes()) {
    if (report.name() != node) continue;
    for (const auto& [name, value] : report.counters()) visit(name, value);
  }
}

}  // namespace

TakenPort::TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, any, size) != 0 || ::listen(socket_, 1) != 0 ||
      ::getsockname(socket_, any, &size) != 0) {
    throw std::runtime_error("no port can be had");
  }
  port_ = ntohs(address.sin_port);
}

TakenPort::~TakenPort() { ::close(socket_); }

RawClient::RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
}

RawClient::RawClient(RawClient&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

RawClient::~RawClient() {
  if (socket_ >= 0) ::close(socket_);
}

bool RawClient::send(ConstBytes bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

std::vector<std::byte> RawClient::receive(Seconds patience) const {
  pollfd ready{socket_, POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  if (::poll(&ready, 1, static_cast<int>(milliseconds)) <= 0) return {};
  std::array<std::byte, 65536> buffer{};
  const ssize_t size = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size <= 0) return {};
  return {buffer.begin(), buffer.begin() + size};
}

bool RawClient::closed_by_peer(Seconds patience) const {
  const auto end = Clock::now() + patience;
  while (Clock::now() < end) {
    pollfd ready{socket_, POLLIN, 0};
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(left(end)).count();
    if (::poll(&ready, 1, static_cast<int>(milliseconds)) <= 0) continue;
    std::array<std::byte, 4096> buffer{};
    if (::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

WireClient::WireClient(std::uint16_t port, v1::Role role, const std::string& name, const std::string& farm,
                       std::uint32_t run, std::uint32_t version, const ports::Authenticator* authenticator)
    : raw_(port) {
  v1::Hello hello;
  hello.set_version(version);
  hello.set_role(role);
  hello.set_name(name);
  hello.set_run(run);
  hello.set_farm(farm);
  hello.set_incarnation(1);
  if (authenticator != nullptr) {
    const ports::Nonce nonce = authenticator->make_nonce();
    hello.set_nonce(nonce.data(), nonce.size());
  }
  said_ = framed(wire::FrameType::hello, hello);
  raw_.send(said_);
  if (authenticator == nullptr) return;
  const auto challenge = receive(kHelloPatience);
  if (!challenge || challenge->header.type != wire::FrameType::hello)
    throw std::runtime_error("the other side says no hello");
  const ports::Proof made =
      authenticator->prove(ports::ConnectionSide::connecting,
                           {ConstBytes(said_).subspan(wire::kHeaderBytes), ConstBytes(challenge->payload)});
  v1::Hello proof;
  proof.mutable_proof()->set_key(made.key);
  proof.mutable_proof()->set_mac(made.mac.data(), made.mac.size());
  const std::vector<std::byte> frame = framed(wire::FrameType::hello, proof);
  raw_.send(frame);
  said_.insert(said_.end(), frame.begin(), frame.end());
}

void WireClient::send(const v1::Control& message) const {
  raw_.send(framed(wire::FrameType::control, message));
}

std::optional<WireClient::Frame> WireClient::receive(Seconds patience) {
  const auto end = Clock::now() + patience;
  while (true) {
    if (received_.size() >= wire::kHeaderBytes) {
      const auto header = wire::decode_header(std::span(received_).first<wire::kHeaderBytes>(), kPayloadMax);
      if (!header) throw std::runtime_error("not a frame: " + std::string(wire::name(header.error())));
      const std::size_t whole = wire::kHeaderBytes + header->length;
      if (received_.size() >= whole) {
        const auto from = received_.begin();
        const auto behind = from + static_cast<std::ptrdiff_t>(whole);
        Frame frame{*header, {from + static_cast<std::ptrdiff_t>(wire::kHeaderBytes), behind}};
        received_.erase(from, behind);
        return frame;
      }
    }
    const std::vector<std::byte> more = raw_.receive(left(end));
    if (more.empty()) return std::nullopt;
    received_.insert(received_.end(), more.begin(), more.end());
  }
}

std::optional<v1::Control> WireClient::receive_control(Seconds patience) {
  const auto end = Clock::now() + patience;
  while (auto frame = receive(left(end))) {
    if (frame->header.type != wire::FrameType::control) continue;
    v1::Control message;
    if (!message.ParseFromArray(frame->payload.data(), static_cast<int>(frame->payload.size()))) {
      throw std::runtime_error("not a control message");
    }
    return message;
  }
  return std::nullopt;
}

std::string WireClient::receive_refusal(Seconds patience) {
  const auto end = Clock::now() + patience;
  while (auto frame = receive(left(end))) {
    if (frame->header.type != wire::FrameType::refuse) continue;
    v1::Refuse refusal;
    (void)refusal.ParseFromArray(frame->payload.data(), static_cast<int>(frame->payload.size()));
    return refusal.reason();
  }
  return {};
}

FarmWatcher::FarmWatcher(std::uint16_t supervisor_port, const std::string& farm,
                         const ports::Authenticator* authenticator)
    : client_(supervisor_port, v1::ROLE_CONTROL, "watcher", farm, 1, wire::kVersion, authenticator) {}

v1::RunSummary FarmWatcher::account() {
  while (const auto message = client_.receive_control(kAccountPatience)) {
    if (message->has_summary()) return message->summary();
  }
  throw std::runtime_error("the supervisor sent no account of the run");
}

bool FarmWatcher::wait_for_report(const std::string& node, Seconds patience,
                                  const std::function<bool(const v1::Report&)>& good) {
  const auto end = Clock::now() + patience;
  while (const auto message = client_.receive_control(left(end))) {
    for (const v1::Report& report : message->status().nodes()) {
      if (report.name() == node && good(report)) return true;
    }
  }
  return false;
}

bool FarmWatcher::wait_for_counter(const std::string& node, const std::string& counter,
                                   std::uint64_t at_least, Seconds patience) {
  return wait_for_report(node, patience, [&](const v1::Report& report) {
    const auto found = report.counters().find(counter);
    return found != report.counters().end() && found->second >= at_least;
  });
}

bool FarmWatcher::wait_for_state(const std::string& node, const std::string& text, Seconds patience) {
  return wait_for_report(node, patience, [&](const v1::Report& report) {
    return report.state().find(text) != std::string::npos;
  });
}

v1::Report FarmWatcher::report_of(const std::string& node, Seconds patience) {
  v1::Report found;
  const bool came = wait_for_report(node, patience, [&](const v1::Report& report) {
    found = report;
    return true;
  });
  if (!came) throw std::runtime_error("no report of " + node);
  return found;
}

std::uint64_t counter_of(const v1::RunSummary& account, const std::string& node, const std::string& counter) {
  std::uint64_t found = 0;
  for_each_counter(account, node, [&](const std::string& name, std::uint64_t value) {
    if (name == counter) found += value;
  });
  return found;
}

std::uint64_t counters_of(const v1::RunSummary& account, const std::string& node, const std::string& prefix) {
  std::uint64_t found = 0;
  for_each_counter(account, node, [&](const std::string& name, std::uint64_t value) {
    if (name.starts_with(prefix)) found += value;
  });
  return found;
}

}  // namespace weir::system_test
