#pragma once

#include <weir/ports/network.hpp>

#include <string>

namespace weir::http::test {

// One TCP connection that says what it is told and waits for what comes, a few seconds at most.
class RawClient {
 public:
  explicit RawClient(const ports::Endpoint& at, int receive_buffer_bytes = 0);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(const std::string& text) const;
  // Until `mark` has come `times` times, or the connection ends; everything received since the last call.
  std::string until(const std::string& mark, int times = 1);
  // Until the connection ends.
  std::string rest() { return until({}); }
  // The other end has closed.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  int fd_;
  bool ended_ = false;
};

}  // namespace weir::http::test
