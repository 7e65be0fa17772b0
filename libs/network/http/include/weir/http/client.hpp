#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http {

enum class ClientError : std::uint8_t {
  bad_url,        // not http[s]://HOST[:PORT][/PATH]
  no_such_host,   // the name cannot be resolved
  not_connected,  // refused or unreachable
  timeout,        // no answer in time
  not_trusted,    // its certificate is of no known authority, of another name, or expired; or it has none
  malformed,      // not HTTP, or ended early
  too_large       // more than `bytes_max`
};
[[nodiscard]] std::string_view name(ClientError error);

struct ClientResponse {
  unsigned status = 0;
  std::string body;
};

struct ClientLimits {
  DurationNs timeout_ns = 5 * kSecond;  // from the call to the last byte; resolving a name may take longer
  std::size_t bytes_max = 64U << 20;
  std::string authority = {};  // file with certificates to trust, for https; empty: those of the system
};

// Sends one request over one connection, in HTTP/1.0 so that the response comes in one piece, and waits for
// it. `url`: http[s]://HOST[:PORT][/PATH[?QUERY]], also without http://; [::1] for IPv6 addresses.
[[nodiscard]] Expected<ClientResponse, ClientError> get(const std::string& url,
                                                        const ClientLimits& limits = {});
// Like get(), with a JSON body. `token`, if not empty, is sent as `Authorization: Bearer`.
[[nodiscard]] Expected<ClientResponse, ClientError> post(const std::string& url, const std::string& body,
                                                         const std::string& token = {},
                                                         const ClientLimits& limits = {});

}  // namespace weir::http
