#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::lab {

// How much of a flow may have been sent by now. Pure.
class Pace {
 public:
  // `start_ns`, `stop_ns` (0: never) after the flow's clock began.
  Pace(std::uint64_t rate_bits_per_s, DurationNs start_ns, DurationNs stop_ns)
      : rate_(rate_bits_per_s), start_ns_(start_ns), stop_ns_(stop_ns) {}

  // Bytes that may be sent now, `sent` of them gone already.
  [[nodiscard]] std::uint64_t room(DurationNs elapsed_ns, std::uint64_t sent) const;
  [[nodiscard]] bool over(DurationNs elapsed_ns) const { return stop_ns_ != 0 && elapsed_ns >= stop_ns_; }
  // How long until there may be room again; a second at most.
  [[nodiscard]] DurationNs wait_ns(DurationNs elapsed_ns) const;
  // How long it has been sending by then.
  [[nodiscard]] DurationNs active_ns(DurationNs elapsed_ns) const;

 private:
  std::uint64_t rate_;
  DurationNs start_ns_;
  DurationNs stop_ns_;
};

struct ForeignReport {
  std::string from;
  std::string to;
  std::uint64_t rate_bits_per_s = 0;  // that was asked for; 0: unlimited
  std::uint64_t bytes = 0;            // received
  double seconds = 0;                 // it was sending
};

// The lab's foreign traffic: a bulk TCP connection per entry, all in one thread of this process.
class Traffic {
 public:
  // Connects. `congestion_control`: where the sending host has none of its own; empty: the system's.
  [[nodiscard]] static Expected<Traffic, std::string> open(const LabPlan& plan, const Network& network,
                                                           const std::string& congestion_control);
  ~Traffic();  // ends it
  Traffic(Traffic&& other) noexcept;
  Traffic& operator=(Traffic&& other) noexcept;

  // The run began so long ago.
  void start(DurationNs ago_ns);
  // Ends it.
  [[nodiscard]] std::vector<ForeignReport> stop();

 private:
  class Flows;
  explicit Traffic(std::unique_ptr<Flows> flows);
  std::unique_ptr<Flows> flows_;
};

}  // namespace weir::lab
