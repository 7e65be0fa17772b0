#pragma once

#include <weir/packet_model/pull_network.hpp>
#include <weir/packet_model/random.hpp>

#include <algorithm>

namespace weir::packet_model {

// A host's process: when it gets a core.
class HostProcess {
 public:
  HostProcess(const Cpu& cpu, std::uint64_t seed) : cpu_(cpu), random_(seed) {
    phase_ns_ = static_cast<DurationNs>(random_.uniform() * cpu.pause_every_ms * kMillisecond);
  }

  // It slept, and something comes for it: when it runs.
  [[nodiscard]] TimeNs wakes(TimeNs now_ns) {
    double later = 1000 * (1 + random_.exponential(cpu_.wake_us));
    if (random_.chance(cpu_.late_share)) later += wait_ns();
    return begun_ns_ = after_pause(now_ns + static_cast<DurationNs>(later));
  }
  // It has done something and has more to do.
  [[nodiscard]] TimeNs goes_on(TimeNs now_ns) {
    const bool spent =
        cpu_.slice_ms > 0 && static_cast<double>(now_ns - begun_ns_) > cpu_.slice_ms * kMillisecond;
    if (spent) begun_ns_ = now_ns += static_cast<DurationNs>(wait_ns());
    return after_pause(now_ns);
  }
  [[nodiscard]] const Cpu& cpu() const { return cpu_; }

 private:
  static constexpr double kLatest = 5;  // relative to the mean

  double wait_ns() {
    return std::min(random_.exponential(cpu_.late_ms), kLatest * cpu_.late_ms) * kMillisecond;
  }
  [[nodiscard]] TimeNs after_pause(TimeNs at_ns) const {
    if (cpu_.pause_ms <= 0) return at_ns;
    const auto every = static_cast<DurationNs>(cpu_.pause_every_ms * kMillisecond);
    const auto pause = static_cast<DurationNs>(cpu_.pause_ms * kMillisecond);
    const DurationNs within = (at_ns + phase_ns_) % every;
    return within < pause ? at_ns + pause - within : at_ns;
  }

  Cpu cpu_;
  Random random_;
  DurationNs phase_ns_ = 0;
  TimeNs begun_ns_ = 0;
};

}  // namespace weir::packet_model
