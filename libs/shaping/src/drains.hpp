#pragma once

#include <weir/base/time.hpp>
#include <weir/shaping/shaper.hpp>

#include <cstdint>

namespace weir::shaping {

// A drain: for a moment next to nothing is requested, queues empty, and the shortest response time shows. The
// first one is due 100 ms after the start, the others at doubling intervals. Every second drain requests two
// pieces at once of one readout at a time: the second one has to wait for the first on the readout's uplink,
// which shows its pace. Pure.
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
  // In a drain with pairs: whether this readout may be asked while so many bytes are outstanding.
  [[nodiscard]] Credit ask(std::uint32_t readout, std::uint64_t taken);
  [[nodiscard]] bool pairs() const { return pairs_; }
  [[nodiscard]] std::uint32_t pair_readout() const { return pair_readout_; }
  // `wants_pairs`: it goes on for a while until there are some, which take longer where uplinks are slow.
  [[nodiscard]] bool over(TimeNs now_ns, bool wants_pairs) const;
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
