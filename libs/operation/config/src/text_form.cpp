#include "text_form.hpp"

#include "node_names.hpp"
#include <weir/config/rate.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace weir::config {
namespace {

constexpr std::size_t kNameMax = 64;
constexpr std::size_t kHostMax = 253;  // RFC 1035, 2.3.4

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_ipv6(std::string_view text) {
  return text.find(':') != std::string_view::npos && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || c == ':' || c == '.' || c == '%';
         });
}

bool is_host(std::string_view text) {
  if (text.empty() || text.size() > kHostMax) return false;
  if (is_ipv6(text)) return true;
  return is_alphanumeric(text.front()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
         });
}

bool is_port(std::string_view text) {
  std::uint32_t port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
         port <= std::numeric_limits<std::uint16_t>::max();
}

bool is_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_port(text.substr(colon + 1))) return false;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) return is_ipv6(host.substr(1, host.size() - 2));
  return is_host(host) && !is_ipv6(host);
}

}  // namespace

const char* check_form(v1::TextForm form, std::string_view text) {
  switch (form) {
    case v1::TEXT_NAME:
      return is_name(text) ? nullptr : "is not a name: 1 to 64 letters, digits, '_', '-' and '.'";
    case v1::TEXT_NAMES:
      return is_name(numbered(text, 0))
                 ? nullptr
                 : "is not a name: 1 to 64 letters, digits, '_', '-' and '.', and {i} or {i:03} for "
                   "a number";
    case v1::TEXT_ENDPOINT:
      return is_endpoint(text) ? nullptr : "is not host:port with a port up to 65535";
    case v1::TEXT_HOST:
      return is_host(text) ? nullptr : "is not a host name or address";
    case v1::TEXT_RATE:
      return parse_rate(text) ? nullptr : "is not a rate: write 1gbit, 200mbit, 2.5gbit or unlimited";
    case v1::TEXT_BUFFER:
      return parse_buffer(text) ? nullptr : "is not a size: write bytes, or as in 100k (102400 bytes), 4m";
    case v1::TEXT_ANY:
      break;
  }
  return nullptr;
}

}  // namespace weir::config
