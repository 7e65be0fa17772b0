#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <array>
#include <memory>
#include <string>

namespace weir::lab {

// The long line of a lab of topology wan, in user space: takes frames from one TAP device, keeps them for
// their time (DelayLine), and gives them to the other, both ways, in a thread of its own. A frame takes two
// system calls, so that a core carries some hundred thousand frames a second.
class Relay {
 public:
  // `plan.line` is there; `network` is one that was made from it.
  [[nodiscard]] static Expected<Relay, std::string> open(const LabPlan& plan, const Network& network);
  ~Relay();  // ends the thread
  Relay(Relay&& other) noexcept;
  Relay& operator=(Relay&& other) noexcept;

  void start();
  // Runs in the calling thread until a device is removed.
  void run();
  // From any thread: towards the second switch, and back.
  [[nodiscard]] std::array<PortCount, 2> counts() const;

 private:
  class Loop;
  explicit Relay(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace weir::lab
