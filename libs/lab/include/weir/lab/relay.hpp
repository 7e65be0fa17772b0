#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <array>
#include <memory>
#include <string>

namespace weir::lab {

// The long line of topology wan, in user space. In its own thread it moves frames from one TAP device to the
// other after their time (DelayLine), in both directions. A frame takes two system calls, so that a core
// carries some hundred thousand frames a second.
class Relay {
 public:
  // Requires: `plan` has a line, and `network` was made from it.
  [[nodiscard]] static Expected<Relay, std::string> open(const LabPlan& plan, const LabNetwork& network);
  ~Relay();  // ends the thread
  Relay(Relay&& other) noexcept;
  Relay& operator=(Relay&& other) noexcept;

  void start();
  // Runs in the calling thread until a device is removed.
  void run();
  // While the line is down, frames that reach it are dropped and counted. Thread-safe.
  void set_down(bool down);
  // Returns the counts towards the second switch, and back. Thread-safe.
  [[nodiscard]] std::array<PortCount, 2> counts() const;

 private:
  class Loop;
  explicit Relay(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace weir::lab
