#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/reports/lab.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::lab {

// All links of a lab with a delay, and the long line of topology wan, in user space; with back-pressure, or
// with software switches, all switches instead. One thread, at real-time priority where the system grants it,
// moves frames from one TAP device to another after their time (LinkDelays, SwitchFabric), or between the
// switches' interfaces (PacketSwitch). A frame between TAP devices takes two system calls, so that a core
// carries some hundred thousand of them a second.
class Relay {
 public:
  // Requires: `plan` needs a relay, and `network` was made from it.
  [[nodiscard]] static Expected<Relay, std::string> open(const LabPlan& plan, const LabNetwork& network);
  ~Relay();  // ends the thread
  Relay(Relay&& other) noexcept;
  Relay& operator=(Relay&& other) noexcept;

  void start();
  // Runs in the calling thread until a device is removed.
  void run();
  // While the line is down, frames that reach it are dropped and counted. Thread-safe.
  void set_down(bool down);
  // Returns the long line's counts towards the second switch, and back. Requires: the plan has one.
  // Thread-safe.
  [[nodiscard]] std::array<PortCount, 2> line_counts() const;
  // Returns a function for the counts of LabPlan::ports beside the kernel's: all of a fabric's, and the
  // frames that wait in or were dropped by a software switch. Valid as long as this object or one that it was
  // moved to. Thread-safe.
  [[nodiscard]] std::function<std::vector<PortCount>()> port_counter() const;
  // Returns the counts since start(). Thread-safe.
  [[nodiscard]] reports::RelayReport report() const;

 private:
  class Loop;
  explicit Relay(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace weir::lab
