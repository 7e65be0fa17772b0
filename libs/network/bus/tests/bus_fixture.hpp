#pragma once

#include <weir/bus/client.hpp>
#include <weir/bus/hub.hpp>
#include <weir/bus/subscriber.hpp>
#include <weir/v1/bus.pb.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::bus::test {

struct Heard {
  Sender from;
  v1::BusMessage message;
};

// A hub that a test polls step by step.
class Middle final : public HubHandler {
 public:
  explicit Middle(HubSettings settings = {}) : hub(std::move(settings)) {}

  void on_message(const Sender& from, const v1::BusMessage& message) override {
    heard.push_back({from, message});
  }
  [[nodiscard]] bool sends_long(const Sender&) const override { return takes_long; }
  void on_published(std::string_view tag, ConstBytes payload) override {
    observed.emplace_back(tag, payload.size());
  }
  // Polls the hub until `done`, for half a minute at most, because a busy machine gives a test little CPU
  // time.
  bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      if (done()) return true;
      hub.poll(10 * kMillisecond, *this);
    }
    return done();
  }

  Hub hub;
  bool takes_long = false;
  std::vector<Heard> heard;
  std::vector<std::pair<std::string, std::size_t>> observed;
};

inline v1::BusMessage heartbeat(std::uint64_t incarnation) {
  v1::BusMessage message;
  message.mutable_heartbeat()->set_incarnation(incarnation);
  return message;
}

inline ConstBytes bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace weir::bus::test
