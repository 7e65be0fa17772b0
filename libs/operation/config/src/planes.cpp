#include <weir/base/assert.hpp>
#include <weir/config/planes.hpp>

#include <arpa/inet.h>
#include <charconv>
#include <system_error>

namespace weir::config {
namespace {

constexpr unsigned kBitsMin = 8;
constexpr unsigned kBitsMax = 30;

std::string dotted(std::uint32_t address) {
  const in_addr bytes{htonl(address)};
  char text[INET_ADDRSTRLEN] = {};
  const char* written = ::inet_ntop(AF_INET, &bytes, text, sizeof text);
  WEIR_ASSERT(written != nullptr);
  return text;
}

}  // namespace

std::optional<std::uint32_t> parse_ipv4(const std::string& text) {
  in_addr bytes{};
  if (::inet_pton(AF_INET, text.c_str(), &bytes) != 1) return std::nullopt;
  return ntohl(bytes.s_addr);
}

std::optional<Ipv4Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto address = parse_ipv4(std::string(text.substr(0, slash)));
  Ipv4Network network;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, network.bits);
  const bool valid = address && read.ec == std::errc() && read.ptr == end && network.bits >= kBitsMin &&
                     network.bits <= kBitsMax;
  if (!valid) return std::nullopt;
  network.address = *address;
  if ((network.address & ~network.mask()) != 0) return std::nullopt;
  return network;
}

std::vector<std::string> addresses_in_planes(const v1::Farm& farm, const std::string& host) {
  std::vector<std::string> addresses;
  if (farm.network().planes().empty()) return addresses;
  const auto first = parse_network(farm.network().planes(0).network());
  const auto address = parse_ipv4(host);
  if (!first || !address || !first->contains(*address)) return addresses;
  for (const v1::PlaneSettings& plane : farm.network().planes()) {
    const auto network = parse_network(plane.network());
    if (!network || network->bits != first->bits) return {};
    addresses.push_back(dotted(network->address | (*address & ~first->mask())));
  }
  return addresses;
}

}  // namespace weir::config
