#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>
#include <weir/reports/lab.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::lab {

// Schedule of a flow's bytes. Pure.
class Pace {
 public:
  // `start_ns`, `stop_ns` (0: never) after the flow's clock began.
  Pace(std::uint64_t rate_bits_per_s, DurationNs start_ns, DurationNs stop_ns)
      : rate_(rate_bits_per_s), start_ns_(start_ns), stop_ns_(stop_ns) {}

  // Returns the bytes that may be sent now, after `sent`.
  [[nodiscard]] std::uint64_t room(DurationNs elapsed_ns, std::uint64_t sent) const;
  [[nodiscard]] bool over(DurationNs elapsed_ns) const { return stop_ns_ != 0 && elapsed_ns >= stop_ns_; }
  // Returns the time until more may be sent, a second at most.
  [[nodiscard]] DurationNs wait_ns(DurationNs elapsed_ns) const;
  // Returns how long the flow has been sending by then.
  [[nodiscard]] DurationNs active_ns(DurationNs elapsed_ns) const;

 private:
  std::uint64_t rate_;
  DurationNs start_ns_;
  DurationNs stop_ns_;
};

// The lab's foreign traffic: a bulk TCP connection per entry, all in one thread of this process.
class Traffic {
 public:
  // Connects. `congestion_control` is for sending hosts without their own; empty: the system's.
  [[nodiscard]] static Expected<Traffic, std::string> open(const LabPlan& plan, const LabNetwork& network,
                                                           const std::string& congestion_control);
  ~Traffic();  // ends the traffic
  Traffic(Traffic&& other) noexcept;
  Traffic& operator=(Traffic&& other) noexcept;

  // The run began this long ago.
  void start(DurationNs ago_ns);
  // Ends the traffic.
  [[nodiscard]] std::vector<reports::ForeignReport> stop();

 private:
  class Flows;
  explicit Traffic(std::unique_ptr<Flows> flows);
  std::unique_ptr<Flows> flows_;
};

}  // namespace weir::lab
