#include "text_client.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::system_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kUnansweredMax = 2000;  // below what the supervisor remembers
constexpr unsigned kLostPermille = 100;
constexpr unsigned kTwicePermille = 100;
constexpr unsigned kLatePermille = 20;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

}  // namespace

std::uint16_t free_text_port() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int tcp = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int udp = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in at = loopback(0);
    socklen_t length = sizeof at;
    const bool free = ::bind(tcp, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 &&
                      ::getsockname(tcp, reinterpret_cast<sockaddr*>(&at), &length) == 0 &&
                      ::bind(udp, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    ::close(tcp);
    ::close(udp);
    if (free) return ntohs(at.sin_port);
  }
  throw std::runtime_error("no port is free");
}

TextClient::TextClient(Kind kind, std::uint16_t port)
    : socket_(::socket(AF_INET, (kind == Kind::tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0)) {
  const sockaddr_in at = loopback(port);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
}

TextClient::~TextClient() { ::close(socket_); }

bool TextClient::send(const std::string& text) const {
  return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

bool TextClient::receive(Seconds patience) {
  pollfd waits{socket_, POLLIN, 0};
  if (::poll(&waits, 1, static_cast<int>(1e3 * patience.count())) <= 0) return false;
  char buffer[65536];
  const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
  ended_ = size == 0 || (size < 0 && errno == ECONNRESET);
  if (size > 0) got_.append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

std::string TextClient::line(Seconds patience) {
  std::size_t end = got_.find('\n');
  while (end == got_.npos && receive(patience)) end = got_.find('\n');
  if (end == got_.npos) return {};
  const std::string line = got_.substr(0, end);
  got_.erase(0, end + 1);
  return line;
}

bool TextClient::closed(Seconds patience) {
  while (receive(patience)) {
  }
  return ended_;
}

LossyClient::LossyClient(std::uint16_t port, std::uint64_t triggers)
    : client_(TextClient::Kind::udp, port), triggers_(triggers), answers_(triggers + 1) {}

void LossyClient::send(std::uint64_t number) {
  const std::string line = "trigger client=lossy session=1 n=" + std::to_string(number) + "\n";
  if (chance(kLostPermille)) return;
  if (chance(kLatePermille)) return late_.push_back(line);
  (void)client_.send(line);
  if (chance(kTwicePermille)) (void)client_.send(line);
}

void LossyClient::repeat_unanswered() {
  for (std::uint64_t number = lowest_; number <= sent_; ++number) {
    if (!answers_[number].empty()) continue;
    ++account_.repeats;
    send(number);
  }
  // Long answered, most of them.
  for (const std::string& line : late_) (void)client_.send(line);
  late_.clear();
}

void LossyClient::take(const std::string& line) {
  const std::size_t mark = line.find(" n=");
  if (line.starts_with("error") || mark == line.npos) {
    ++account_.contradictions;
    return;
  }
  std::string& answer = answers_.at(std::stoull(line.substr(mark + 3)));
  const std::string text = line.substr(0, mark);
  if (!answer.empty()) {
    account_.contradictions += answer == text ? 0U : 1U;
    return;
  }
  if (chance(kLostPermille)) return;
  answer = text;
  ++answered_;
  const bool taken = text.starts_with("taken ");
  ++(taken ? account_.taken : account_.busy);
  if (taken && slices_.insert(text).second) ++account_.slices;
  while (lowest_ <= sent_ && !answers_[lowest_].empty()) ++lowest_;
}

bool LossyClient::run_until(std::uint64_t answered, Seconds patience) {
  constexpr auto kRepeatAfter = std::chrono::milliseconds(50);
  const auto until = Clock::now() + patience;
  auto repeat_at = Clock::now() + kRepeatAfter;
  while (answered_ < answered) {
    if (Clock::now() > until) return false;
    while (sent_ < triggers_ && sent_ + 1 < lowest_ + kUnansweredMax && sent_ < answered_ + kUnansweredMax) {
      send(++sent_);
      if (sent_ % 32 == 0) break;
    }
    for (std::string line = client_.line(Seconds(0)); !line.empty(); line = client_.line(Seconds(0)))
      take(line);
    if (Clock::now() < repeat_at) continue;
    repeat_at = Clock::now() + kRepeatAfter;
    repeat_unanswered();
  }
  return true;
}

}  // namespace weir::system_test
