#include <weir/http/host_rule.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <array>

namespace weir::http {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// Normalises an IPv6 address to inet_ntop's form; returns other text unchanged.
std::string normal(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return host;
  return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) == nullptr ? host : text.data();
}

bool is_loopback(const std::string& host) {
  in_addr address{};
  const bool v4 = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  constexpr unsigned kLoopback = 127;
  if (v4) return ntohl(address.s_addr) >> 24 == kLoopback;
  return host == "localhost" || host.ends_with(".localhost") || host == "::1";
}

std::string header(const HttpRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string() : found->second;
}

}  // namespace

std::string host_of(const std::string& authority) {
  std::string host = lower(authority);
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == host.npos ? std::string() : normal(host.substr(1, end - 1));
  }
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

HostRule::HostRule(std::vector<std::string> names) {
  for (std::string& name : names) {
    std::string host = normal(lower(std::move(name)));
    if (host.ends_with('.')) host.pop_back();
    if (!host.empty()) names_.push_back(std::move(host));
  }
}

bool HostRule::is_named(const std::string& host) const {
  return std::find(names_.begin(), names_.end(), host) != names_.end();
}

HostRule::Verdict HostRule::judge(const HttpRequest& request) const {
  const bool says_host = request.headers.contains("host");
  const std::string authority = lower(header(request, "host"));
  const std::string host = host_of(authority);
  if (says_host && !is_loopback(host) && !is_named(host) && host != normal(request.local))
    return Verdict::foreign_host;
  if (!request.headers.contains("origin")) return Verdict::good;
  const std::string origin = lower(header(request, "origin"));
  const std::size_t scheme = origin.find("://");
  if (scheme == origin.npos) return Verdict::foreign_origin;  // "null": a page without a known origin
  const std::string page = origin.substr(scheme + 3);
  const bool own = says_host && page == authority;
  return own || is_named(host_of(page)) ? Verdict::good : Verdict::foreign_origin;
}

}  // namespace weir::http
