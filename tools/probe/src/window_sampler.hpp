#pragma once

#include "messages.hpp"
#include <weir/base/time.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace weir::probe {

// Reads the kernel's state of a TCP connection (TCP_INFO) each millisecond, in a thread, until it is stopped.
// Keeps up to a minute.
class WindowSampler {
 public:
  // Requires: the socket outlives this object.
  explicit WindowSampler(int socket);
  ~WindowSampler();
  WindowSampler(const WindowSampler&) = delete;
  WindowSampler& operator=(const WindowSampler&) = delete;

  // Ends the thread. Returns the samples; `left_out` receives the number of those beyond the limit.
  [[nodiscard]] std::vector<WindowSample> stop(std::uint32_t& left_out);

 private:
  void run();

  int socket_;
  TimeNs begin_ns_;
  std::atomic<bool> stops_{false};
  std::vector<WindowSample> samples_;  // the thread's until it has ended, as the next
  std::uint32_t left_out_ = 0;
  std::thread thread_;
};

}  // namespace weir::probe
