#pragma once

#include "tuning.hpp"
#include <weir/base/time.hpp>
#include <weir/shaping/shaper.hpp>

#include <cstdint>

namespace weir::shaping {

// Drains: for a moment almost nothing is requested, queues empty, and the shortest response time appears. The
// first drain is due 100 ms after the start, later ones at doubling intervals. Every second drain requests
// two pieces at once from one readout at a time: the second piece waits for the first on the readout's
// uplink, which shows its rate. Pure.
class Drains {
 public:
  // The first call, at the end of the first epoch, plans the first drain.
  [[nodiscard]] bool due(TimeNs now_ns);

  // `base_ns`: the shortest response time so far.
  void begin(TimeNs now_ns, DurationNs base_ns);
  // Begins a drain of this length for foreign traffic, without pairs.
  void begin_probe(TimeNs now_ns, DurationNs length_ns);
  // In a drain with pairs: returns whether this readout may be asked with this many bytes outstanding.
  [[nodiscard]] Credit ask(std::uint32_t readout, std::uint64_t taken);
  [[nodiscard]] bool pairs() const { return pairs_; }
  [[nodiscard]] std::uint32_t pair_readout() const { return pair_readout_; }
  // `wants_pairs`: the drain is extended until it has some, which takes longer with slow uplinks.
  [[nodiscard]] bool over(TimeNs now_ns, bool wants_pairs) const;
  void end(TimeNs now_ns);

 private:
  TimeNs next_ns_ = 0;  // 0: not planned
  DurationNs every_ns_ = tuning::kDrainFirst;
  TimeNs until_ns_ = 0;
  bool pairs_next_ = true;
  bool pairs_ = false;
  std::uint32_t pair_readout_ = 0;
  std::uint32_t pair_left_ = 0;  // pieces that may still be requested from it
};

}  // namespace weir::shaping
