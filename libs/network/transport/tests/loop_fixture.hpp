#pragma once

#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/transport/loop.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

// Parties that talk over real loopback connections, and bounded waits for their events.
namespace weir::transport {

constexpr DurationNs kPatience = 30 * kSecond;  // limit after which the test has failed
constexpr DurationNs kWait = 50 * kMillisecond;
inline const ports::Endpoint kAnyPort{"127.0.0.1", 0};

// Runs the loops until `done` returns true; returns false at the time limit.
template <class Done>
bool run_until(std::initializer_list<Loop*> loops, const Done& done) {
  const TimeNs end = (*loops.begin())->now_ns() + kPatience;
  while (!done()) {
    if ((*loops.begin())->now_ns() > end) return false;
    for (Loop* loop : loops) loop->run_once([](TimeNs) {}, loops.size() == 1 ? kWait : kMillisecond);
  }
  return true;
}

// Records its events; the test decides the reaction.
struct Party : ports::StreamHandler {
  void on_connected() override {
    connected = true;
    if (at_connected) at_connected();
  }
  ports::ReceiveSpace receive_space() override {
    ++asked;
    if (placed < target.size()) return {target.subspan(placed), Bytes(spill)};
    return {Bytes(spill), Bytes{}};
  }
  bool on_received(std::size_t bytes) override {
    const std::size_t direct = std::min(bytes, target.size() - placed);
    placed += direct;
    text.append(reinterpret_cast<const char*>(spill.data()), bytes - direct);
    received += bytes;
    if (at_received) at_received();
    return good;
  }
  void on_drained() override {
    if (at_drained) at_drained();
  }
  void on_closed(ports::CloseReason why) override {
    ++closed;
    reason = why;
    if (at_closed) at_closed();
  }
  void say(std::string_view words) { stream->append(std::as_bytes(std::span(words))); }

  std::unique_ptr<ports::Stream> stream;
  Bytes target;  // filled first; further bytes are text
  std::vector<std::byte> spill = std::vector<std::byte>(64 * 1024);
  std::function<void()> at_connected, at_received, at_drained, at_closed;
  std::string text;
  std::size_t placed = 0;
  std::size_t received = 0;
  std::size_t asked = 0;
  bool connected = false;
  bool good = true;
  int closed = 0;
  ports::CloseReason reason = ports::CloseReason::local;
};

struct Server : ports::Acceptor {
  ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> stream) override {
    if (refuse) return nullptr;
    parties.push_back(std::make_unique<Party>());
    parties.back()->stream = std::move(stream);
    if (prepare) prepare(*parties.back());
    return parties.back().get();
  }
  ports::Endpoint open(Loop& loop) {
    auto made = loop.listen(kAnyPort, *this);
    REQUIRE(made.has_value());
    listener = std::move(*made);
    return listener->endpoint();
  }
  Party& first() { return *parties.front(); }

  std::unique_ptr<ports::Listener> listener;
  std::vector<std::unique_ptr<Party>> parties;
  std::function<void(Party&)> prepare;
  bool refuse = false;
};

// A connection between two parties in one loop.
struct Pair {
  Pair() {
    client.stream = loop.connect(server.open(loop), client);
    REQUIRE(run_until({&loop}, [&] { return client.connected && !server.parties.empty(); }));
  }
  Party& far() { return server.first(); }
  template <class Done>
  bool until(const Done& done) {
    return run_until({&loop}, done);
  }

  Loop loop{SocketPolicy{}};
  Server server;
  Party client;
};

inline std::vector<std::byte> noise(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(mix64(i / 8) >> (8 * (i % 8)));
  return bytes;
}

// Returns a port without a listener, for the time being.
inline std::uint16_t free_port(Loop& loop) {
  Server nobody;
  return nobody.open(loop).port;
}

}  // namespace weir::transport
