#pragma once

#include <weir/base/time.hpp>
#include <weir/lab/counters.hpp>
#include <weir/reports/lab.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

// The history of a lab's ports, from readings of their counters. Pure.
class PortRecord {
 public:
  explicit PortRecord(std::vector<Port> ports);

  // Another time than 1 s for drops_after_1s. Requires: called before the first reading.
  void set_settling(DurationNs settling_ns) { settling_ns_ = settling_ns; }
  // Takes a reading. Requires: times ascend, about every kSampleInterval.
  void take(TimeNs now_ns, const std::vector<PortCount>& counts);
  // The port has another rate from now on.
  void change_rate(std::size_t port, std::uint64_t rate_bits_per_s);
  // Returns the reports. `run_s` is the time over which `use` is computed; `mean_rates`, if given, has a rate
  // for each port.
  [[nodiscard]] std::vector<reports::PortReport> report(double run_s,
                                                        const std::vector<double>& mean_rates = {}) const;
  // Returns the share of its rate that each port carried between the last two readings.
  [[nodiscard]] const std::vector<double>& use_now() const { return use_now_; }

 private:
  struct History {
    PortCount first;
    PortCount last;
    std::optional<TimeNs> begin_ns;  // when it first carried more than connection set-up
    std::uint64_t drops_at_1s = 0;   // of the last reading not later than 1 s after that
    TimeNs last_drop_ns = 0;
    TimeNs second_from_ns = 0;
    std::uint64_t second_from_bytes = 0;
    double busiest_use = 0;
  };

  DurationNs settling_ns_ = kSecond;
  std::vector<Port> ports_;
  std::vector<std::uint64_t> rates_;  // current rates
  std::vector<History> histories_;
  std::vector<double> use_now_;
  std::optional<TimeNs> last_ns_;
};

constexpr DurationNs kSampleInterval = 100 * kMillisecond;

}  // namespace weir::lab
