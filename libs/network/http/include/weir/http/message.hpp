#pragma once

#include <map>
#include <string>
#include <vector>

namespace weir::http {

// A client's request. All of it comes from outside: only its lengths are within the server's limits.
struct HttpRequest {
  std::string method;                          // "GET", "POST"
  std::string path;                            // "/api/state", decoded, without the query
  std::map<std::string, std::string> query;    // decoded; the last value of a repeated name
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string peer;   // address of the client, without the port
  std::string local;  // the address that the request reached
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // besides those that the server sets
};

// Parses "a=1&b=%20x+y" -> {a: "1", b: " x y"}; malformed escapes stay unchanged.
[[nodiscard]] std::map<std::string, std::string> parse_query(const std::string& text);
// Returns the part of a target before '?', decoded.
[[nodiscard]] std::string decode_path(const std::string& target);

}  // namespace weir::http
