#include "weir_catch.hpp"
#include <weir/http/host_rule.hpp>

using namespace weir::http;
using Verdict = HostRule::Verdict;

namespace {

Verdict judged(const HostRule& rule, const std::string& host, const std::string& origin = {},
               const std::string& local = "10.9.0.1") {
  HttpRequest request;
  request.local = local;
  if (!host.empty()) request.headers["host"] = host;
  if (!origin.empty()) request.headers["origin"] = origin;
  return rule.judge(request);
}

}  // namespace

TEST_CASE("loopback names, the requested address and names of the farm file are good, with any port") {
  const HostRule rule({"Farm.example.org", "fd00:0::1"});
  for (const char* host :
       {"localhost", "LOCALHOST:7790", "127.0.0.1:7790", "127.1.2.3", "[::1]:80", "weir.localhost",
        "10.9.0.1", "10.9.0.1:7790", "farm.example.org", "FARM.example.org.:8443", "[fd00::1]:80"}) {
    INFO(host);
    CHECK(judged(rule, host) == Verdict::good);
  }
  CHECK(judged(rule, "[FD00::0:2]", "", "fd00::2") == Verdict::good);
  CHECK(judged(rule, "") == Verdict::good);  // not a browser
}

TEST_CASE("any other name is foreign, because it may have been redirected here") {
  const HostRule rule({"farm.example.org"});
  for (const char* host :
       {"evil.example", "farm.example.org.evil.example", "127.0.0.1.evil.example", "10.9.0.2", "xlocalhost",
        "localhost.evil.example", "evil.example:7790", "[::1", ":80", " "}) {
    INFO(host);
    CHECK(judged(rule, host) == Verdict::foreign_host);
  }
}

TEST_CASE("a page of another site, or of none, may not send requests") {
  const HostRule rule({"farm.example.org"});
  CHECK(judged(rule, "10.9.0.1:7790", "http://10.9.0.1:7790") == Verdict::good);
  CHECK(judged(rule, "localhost:8080", "http://localhost:8080") == Verdict::good);
  CHECK(judged(rule, "127.0.0.1:7790", "https://farm.example.org") ==
        Verdict::good);  // a proxy in front of the server
  for (const char* origin : {"http://evil.example", "null", "http://localhost:3000", "http://10.9.0.1:7791",
                             "http://10.9.0.1", "https://farm.example.org.evil.example", "file://"}) {
    INFO(origin);
    CHECK(judged(rule, "10.9.0.1:7790", origin) == Verdict::foreign_origin);
  }
  CHECK(judged(rule, "", "http://evil.example") == Verdict::foreign_origin);
}
