// HTTPS: certificates that are renewed, strangers, handshakes that fail or are slow.
#include "certificate.hpp"
#include "raw_client.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/clock/clock.hpp>
#include <weir/http/client.hpp>
#include <weir/http/server.hpp>

#include <openssl/ssl.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace weir;
using namespace weir::http;
using Catch::ContainsSubstring;
using weir::http::test::RawClient;

namespace {

constexpr const char* kHere = "IP:127.0.0.1,DNS:localhost";

struct Site {
  explicit Site(const Limits& limits = {}) {
    server = std::make_unique<Server>(ports::Endpoint{"127.0.0.1", 0}, limits,
                                      TlsFiles{files.certificate, files.key});
    server->route("GET", "/", [](const HttpRequest&) { return HttpResponse{200, "text/plain", "here", {}}; });
    server->route("GET", "/large", [](const HttpRequest&) {
      return HttpResponse{200, "text/plain", std::string(8U << 20, 'x'), {}};
    });
    server->route("POST", "/", [](const HttpRequest& request) {
      return HttpResponse{200, "text/plain", std::to_string(request.body.size()), {}};
    });
    server->stream("/events", [](const HttpRequest&) { return event_text("hello", "first"); });
    server->start();
  }
  [[nodiscard]] std::string url(const std::string& path = "/", const std::string& scheme = "https") const {
    return scheme + "://127.0.0.1:" + std::to_string(server->endpoint().port) + path;
  }
  [[nodiscard]] ClientLimits trusting() const {
    ClientLimits limits;
    limits.authority = files.certificate;
    return limits;
  }
  [[nodiscard]] std::string certificate_end() const {
    (void)http::get(url(), trusting());
    return std::to_string(server->tls().ends_utc_ns / kSecond);
  }
  // Waits for the counter, which the server's thread increments after the client has seen the end.
  [[nodiscard]] bool counts(std::uint64_t ServerCounters::*which, std::uint64_t expected) const {
    for (int i = 0; i < 2000 && server->counters().*which < expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return server->counters().*which == expected;
  }

  weir::test::TemporaryFolder folder;
  CertificateFiles files = make_certificate(folder.path().string(), "page", kHere);
  std::unique_ptr<Server> server;
};

// A connection in TLS that a test leads step by step.
class TlsClient {
 public:
  explicit TlsClient(const ports::Endpoint& at)
      : context_(::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free) {
    const std::string place = at.host + ":" + std::to_string(at.port);
    BIO* socket = ::BIO_new_connect(place.c_str());
    session_.reset(::SSL_new(context_.get()));
    ::SSL_set_bio(session_.get(), socket, socket);
    REQUIRE(::BIO_do_connect(socket) == 1);
    REQUIRE(::SSL_connect(session_.get()) == 1);
  }
  void send(const std::string& text) {
    REQUIRE(::SSL_write(session_.get(), text.data(), static_cast<int>(text.size())) ==
            static_cast<int>(text.size()));
  }
  // Empty: until the connection ends in order.
  std::string until(const std::string& mark) {
    std::string text;
    char bytes[4096];
    while (mark.empty() || text.find(mark) == text.npos) {
      const int got = ::SSL_read(session_.get(), bytes, sizeof bytes);
      if (got <= 0) {
        in_order_ = ::SSL_get_error(session_.get(), got) == SSL_ERROR_ZERO_RETURN;
        break;
      }
      text.append(bytes, static_cast<std::size_t>(got));
    }
    return text;
  }
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&::SSL_free)> session_{nullptr, ::SSL_free};
  bool in_order_ = false;
};

}  // namespace

TEST_CASE("requests and large responses are served over TLS, to clients that trust the certificate") {
  const Site site;
  CHECK(http::get(site.url(), site.trusting())->body == "here");
  CHECK(http::get(site.url("/large"), site.trusting())->body.size() == 8U << 20);
  CHECK(http::post(site.url(), std::string(100'000, 'x'), {}, site.trusting())->body == "100000");
  CHECK(http::get(site.url()).error() == ClientError::not_trusted);
  ClientLimits other = site.trusting();
  other.authority = make_certificate(site.folder.path().string(), "other", kHere).certificate;
  CHECK(http::get(site.url(), other).error() == ClientError::not_trusted);
  const UtcNs left = site.server->tls().ends_utc_ns - utc_now_ns();
  CHECK((left > 3500 * kSecond && left < 3700 * kSecond));
}

TEST_CASE("a certificate of another name is not trusted") {
  const Site site;
  const auto at = "https://localhost:" + std::to_string(site.server->endpoint().port) + "/";
  CHECK(http::get(at, site.trusting())->status == 200);
  const auto elsewhere = make_certificate(site.folder.path().string(), "elsewhere", "DNS:daq.example");
  Server server({"127.0.0.1", 0}, {}, {elsewhere.certificate, elsewhere.key});
  server.start();
  ClientLimits limits;
  limits.authority = elsewhere.certificate;
  CHECK(http::get("https://127.0.0.1:" + std::to_string(server.endpoint().port), limits).error() ==
        ClientError::not_trusted);
}

TEST_CASE("a connection in TLS is kept for further requests, and ends in order after a refusal") {
  Limits limits;
  limits.body_bytes_max = 1000;
  const Site site(limits);
  TlsClient client(site.server->endpoint());
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK_THAT(client.until("here") + client.until("here"), ContainsSubstring("200 OK"));
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" + std::string(50'000, 'x'));
  CHECK_THAT(client.until({}), ContainsSubstring("413"));
  CHECK(client.in_order());
}

TEST_CASE("a stream of events in TLS has its greeting and later events") {
  const Site site;
  TlsClient client(site.server->endpoint());
  client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK_THAT(client.until("first"), ContainsSubstring("text/event-stream"));
  const std::string news(100'000, 'n');
  site.server->publish("/events", "state", news + "!");
  CHECK(client.until("!").size() > news.size());
  CHECK(site.server->counters().event_clients == 1);
}

TEST_CASE("plain HTTP at an HTTPS port is answered with the remedy") {
  const Site site;
  const auto got = http::get(site.url("/", "http"));
  REQUIRE(got.has_value());
  CHECK(got->status == 400);
  CHECK_THAT(got->body, ContainsSubstring("https://"));
  CHECK(site.counts(&ServerCounters::handshakes_failed, 1));
}

TEST_CASE("handshakes that fail, stop or never begin delay no other client, are counted, and end in time") {
  Limits limits;
  limits.request_timeout_ns = 1500 * kMillisecond;
  const Site site(limits);
  RawClient garbage(site.server->endpoint());
  garbage.send(std::string("\x16\x03\x01\xff\xff") + std::string(200, 'g'));
  const RawClient silent(site.server->endpoint());
  const RawClient torn(site.server->endpoint());
  torn.send(std::string("\x16\x03\x01\x01\x00\x01", 6));  // the head of a ClientHello
  const TimeNs begin = monotonic_now_ns();
  for (int i = 0; i < 5; ++i) CHECK(http::get(site.url(), site.trusting())->body == "here");
  // Each would wait for its end behind one of them.
  CHECK(monotonic_now_ns() - begin < 5 * limits.request_timeout_ns);
  CHECK(site.counts(&ServerCounters::handshakes_failed, 3));
  CHECK(site.server->counters().requests >= 5);
}

TEST_CASE("clients that only connect make room for others") {
  Limits limits;
  limits.connections_max = 8;
  const Site site(limits);
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 40; ++i) crowd.push_back(std::make_unique<RawClient>(site.server->endpoint()));
  CHECK(http::get(site.url(), site.trusting())->body == "here");
  CHECK(site.server->counters().made_room > 0);
}

TEST_CASE("a renewed certificate is used at once, and files that cannot be used leave the earlier one") {
  const Site site;
  const std::string before = site.certificate_end();
  const auto next = make_certificate(site.folder.path().string(), "next", kHere, 7200);
  std::filesystem::rename(next.certificate, site.files.certificate);
  // Until the key is there too, they do not fit each other.
  CHECK(site.certificate_end() == before);
  CHECK_THAT(site.server->tls().problem, ContainsSubstring("page.key': is not the key of"));
  std::filesystem::rename(next.key, site.files.key);
  CHECK(site.certificate_end() != before);
  CHECK(site.server->tls().problem.empty());
  CHECK(http::get(site.url(), site.trusting())->body == "here");
  std::ofstream(site.files.certificate) << "damaged";
  const RawClient any(site.server->endpoint());
  for (int i = 0; i < 2000 && site.server->tls().problem.empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK_THAT(site.server->tls().problem, ContainsSubstring("is not a certificate in PEM"));
}

TEST_CASE("files that cannot be used are refused with file and reason") {
  const weir::test::TemporaryFolder folder;
  const std::string at = folder.path().string();
  const auto good = make_certificate(at, "good", kHere);
  const auto other = make_certificate(at, "other", kHere);
  CHECK(check_tls({good.certificate, good.key}).has_value());
  const auto refused = [](const TlsFiles& files) { return check_tls(files).error(); };
  CHECK_THAT(refused({at + "/none.pem", good.key}).what, ContainsSubstring("No such file"));
  CHECK(refused({good.certificate, other.key}).of_key);
  CHECK_THAT(refused({good.certificate, other.key}).what, ContainsSubstring("is not the key of"));
  CHECK_THAT(refused({good.key, good.key}).what, ContainsSubstring("is not a certificate in PEM"));
  CHECK_THAT(refused({at, good.key}).what, ContainsSubstring("is not a regular file"));
  ::chmod(other.key.c_str(), 0604);
  CHECK_THAT(refused({other.certificate, other.key}).what, ContainsSubstring("chmod o="));
  const std::string locked = at + "/locked.key";
  std::ofstream(locked)
      << "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n";
  ::chmod(locked.c_str(), 0600);
  CHECK_THAT(refused({good.certificate, locked}).what, ContainsSubstring("without a passphrase"));
}
