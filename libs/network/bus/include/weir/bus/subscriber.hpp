#pragma once

#include <weir/base/time.hpp>
#include <weir/security/keys.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::bus {

struct Published {
  std::string tag;
  std::string payload;
};

struct SubscriberSettings {
  std::string host;
  std::uint16_t port = 0;  // the hub's subscribe port
  std::optional<security::CurveKeys> keys;
  int queue_max = 1000;  // messages waiting for take(); beyond, this subscriber loses its own
  std::size_t message_bytes_max = 256U << 20;
};

// Receives messages published under tags that begin with one of the given prefixes. Used from one thread.
class Subscriber {
 public:
  explicit Subscriber(SubscriberSettings settings);
  ~Subscriber();
  void subscribe(const std::string& tag);
  // Returns nothing if no message arrives within `wait`.
  [[nodiscard]] std::optional<Published> take(DurationNs wait);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::bus
