#pragma once

#include <weir/base/time.hpp>
#include <weir/shaping/shaper.hpp>

#include <cstdint>

namespace weir::shaping {

// When next to nothing is asked for, for a moment, so that queues empty and the shortest response time shows:
// at first 100 ms after the start, then at doubling pauses. Every second drain asks one readout at a time for
// two pieces at once, whose difference is its uplink's pace. Pure.
class Drains {
 public:
  // The first one, from the end of the first epoch on; later calls change nothing. `far`: all readouts are.
  void plan(TimeNs now_ns, DurationNs base_ns, bool far);
  // The next one is due at once.
  void plan_now(TimeNs now_ns) { next_ns_ = now_ns; }
  [[nodiscard]] bool due(TimeNs now_ns) const { return now_ns >= next_ns_; }

  // base_ns: the shortest response time so far.
  void begin(TimeNs now_ns, DurationNs base_ns, bool far);
  // One that is for foreign traffic: so long, without pairs.
  void begin_probe(TimeNs now_ns, DurationNs base_ns, bool far, DurationNs length_ns);
  // In a drain with pairs: may this readout be asked while so many bytes are taken?
  [[nodiscard]] Credit ask(std::uint32_t readout, std::uint64_t taken);
  [[nodiscard]] bool pairs() const { return pairs_; }
  [[nodiscard]] std::uint32_t pair_readout() const { return pair_readout_; }
  // `saw_pair`: there is no need to wait for one, which takes longer than a drain where the uplink is slow.
  [[nodiscard]] bool over(TimeNs now_ns, bool saw_pair) const;
  void end(TimeNs now_ns);

 private:
  static constexpr DurationNs kEvery = 100 * kMillisecond;  // at first; each pause is twice the last one

  TimeNs next_ns_ = 0;  // 0: not planned
  DurationNs every_ns_ = kEvery;
  DurationNs length_ns_ = 0;
  TimeNs until_ns_ = 0;
  bool pairs_next_ = false;
  bool pairs_ = false;
  std::uint32_t pair_readout_ = 0;
  std::uint32_t pair_left_ = 0;  // pieces that may still be asked of it
};

}  // namespace weir::shaping
