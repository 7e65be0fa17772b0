#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace weir::system_test {

// A gateway on loopback that translates addresses: connections to its outside port go on to a process that
// will listen at its inside port.
class Gateway {
 public:
  Gateway();
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  [[nodiscard]] std::string inside() const { return std::to_string(inside_); }
  [[nodiscard]] std::string outside() const { return std::to_string(outside_); }
  // Connections that reached the process.
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void run();

  std::uint16_t inside_ = 0;
  std::uint16_t outside_ = 0;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

}  // namespace weir::system_test
