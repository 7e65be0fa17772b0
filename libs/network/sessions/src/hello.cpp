#include "hello.hpp"

#include <weir/base/text.hpp>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <limits>

namespace weir::sessions {
namespace {

constexpr std::size_t kSentenceBytesMax = 500;
constexpr int kPlanesMax = 8;

}  // namespace

std::string one_line(std::string_view text) { return clean_quoted(text, kSentenceBytesMax); }

bool is_text(const v1::Hello& hello) {
  const auto good = [](std::string_view text) { return utf8_prefix(text) == text.size(); };
  return good(hello.name()) && good(hello.farm()) && good(hello.software()) && good(hello.listen_host()) &&
         std::all_of(hello.planes().begin(), hello.planes().end(),
                     [&](const v1::Address& address) { return good(address.host()); });
}

bool fits(const v1::Hello& hello) {
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint16_t>::max();
  return hello.index() <= kMax && hello.listen_port() <= kMax && hello.planes_size() <= kPlanesMax &&
         std::all_of(hello.planes().begin(), hello.planes().end(),
                     [](const v1::Address& address) { return address.port() <= kMax; });
}

PeerInfo from_hello(const v1::Hello& hello) {
  PeerInfo info;
  if (v1::Role_IsValid(hello.role())) info.role = static_cast<Role>(hello.role());
  info.name = one_line(hello.name());
  info.index = NodeIndex(static_cast<std::uint16_t>(hello.index()));
  info.run = RunNumber(hello.run());
  info.incarnation = Incarnation(hello.incarnation());
  info.farm = one_line(hello.farm());
  info.listen = {one_line(hello.listen_host()), static_cast<std::uint16_t>(hello.listen_port())};
  for (const v1::Address& address : hello.planes())
    info.planes.push_back({one_line(address.host()), static_cast<std::uint16_t>(address.port())});
  info.credits = hello.credits();
  info.wants_timing = hello.wants_timing();
  info.burst = hello.burst();
  info.heartbeats = hello.heartbeats();
  info.last_pass = hello.last_pass();
  return info;
}

}  // namespace weir::sessions
