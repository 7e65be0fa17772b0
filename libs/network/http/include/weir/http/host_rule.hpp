#pragma once

#include <weir/http/message.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::http {

// Decides whether a browser's request comes from one of this server's own pages. A browser sends requests of
// any page to any address. Origin reveals a page of another site; Host reveals a name that was redirected
// here (DNS rebinding). Clients that send neither are not browsers and are accepted.
class HostRule {
 public:
  enum class Verdict : std::uint8_t { good, foreign_host, foreign_origin };

  // `names` (hosts without ports, in any case) are accepted in addition to loopback names and the address
  // that the request reached. Their pages may use any port, as behind a proxy.
  explicit HostRule(std::vector<std::string> names);
  [[nodiscard]] Verdict judge(const HttpRequest& request) const;

 private:
  [[nodiscard]] bool is_named(const std::string& host) const;

  std::vector<std::string> names_;
};

// Returns "Farm.Example.org.:8080" -> "farm.example.org", "[::1]:80" -> "::1"; empty: no host.
[[nodiscard]] std::string host_of(const std::string& authority);

}  // namespace weir::http
