#pragma once

#include <weir/http/message.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::http {

// Whether a request that a browser sends is one of this server's own pages. A browser sends what any page
// asks of it, to whatever address a name leads: a page of another site that commands says so in Origin, and
// one whose name was led here (DNS rebinding) in Host. What is no browser, and sends neither, is not judged.
class HostRule {
 public:
  enum class Verdict : std::uint8_t { good, foreign_host, foreign_origin };

  // `names` (hosts without ports, whatever the case) are good besides loopback names and the address that the
  // request came to; pages of theirs may ask with any port, as behind a proxy.
  explicit HostRule(std::vector<std::string> names);
  [[nodiscard]] Verdict judge(const Request& request) const;

 private:
  [[nodiscard]] bool is_named(const std::string& host) const;

  std::vector<std::string> names_;
};

// "Farm.Example.org.:8080" -> "farm.example.org", "[::1]:80" -> "::1"; empty: there is none.
[[nodiscard]] std::string host_of(const std::string& authority);

}  // namespace weir::http
