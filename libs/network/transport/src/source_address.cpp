#include <weir/transport/source_address.hpp>

#include <arpa/inet.h>
#include <charconv>
#include <string>

namespace weir::transport {

std::optional<SourceAddress> parse_source(std::string_view text) {
  constexpr unsigned kBits = 32;
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const std::string_view length = text.substr(slash + 1);
  in_addr address{};
  unsigned bits = 0;
  const auto read = std::from_chars(length.data(), length.data() + length.size(), bits);
  const bool valid = read.ec == std::errc() && read.ptr == length.data() + length.size() && bits > 0 &&
                     bits <= kBits &&
                     ::inet_pton(AF_INET, std::string(text.substr(0, slash)).c_str(), &address) == 1;
  if (!valid) return std::nullopt;
  return SourceAddress{ntohl(address.s_addr), UINT32_MAX << (kBits - bits)};
}

}  // namespace weir::transport
