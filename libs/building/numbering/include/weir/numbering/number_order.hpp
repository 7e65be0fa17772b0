#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/numbering/time_vote.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace weir::numbering {

constexpr std::uint32_t kCounterBitsMin = 8;
constexpr std::uint64_t kFarAhead = 32;  // numbers by which a front-end may be ahead of the others
constexpr SliceId kNumberMax{(1ULL << 62U) - (1ULL << 32U) - 1};  // as for triggers from outside

// Counts since begin().
struct OrderCounts {
  std::uint64_t closed = 0;       // gaps that were closed
  std::uint64_t left_out = 0;     // numbers in them: no front-end sent them in time
  std::uint64_t late = 0;         // reports of numbers below the next one that were never offered
  std::uint64_t unconfirmed = 0;  // numbers that waited behind a gap, were not confirmed, and were given up
  bool operator==(const OrderCounts&) const = default;
};

// The state of a NumberOrder that outlives its process.
struct OrderState {
  SliceId next;  // the first number that was neither offered nor passed over
  OrderCounts counts;
  bool operator==(const OrderState&) const = default;
};

// Makes triggers, in ascending order, of the numbers that readouts have seen. The number after the previous
// one is due at once; where times are compared, as soon as most readouts agree on its time, or after
// `skew_ns`. One that was reported far ahead has to be reached by most readouts: a readout that is ahead of
// all others does not draw the farm along. A number behind a gap waits until more than half of the readouts
// that delivered lately have reached it, and for `skew_ns` from then on; then the gap before it is closed. At
// most kHeldMax numbers wait; beyond, the highest is given up. Not thread-safe.
class NumberOrder {
 public:
  static constexpr std::size_t kHeldMax = 65536;
  static constexpr std::size_t kGapsMax = 1024;                // remembered, to count late numbers
  static constexpr DurationNs kDeliveredLately = 1 * kSecond;  // or 10 times the skew
  // A number that waits for longer behind a gap belongs to a front-end out of step.
  static constexpr DurationNs kConfirmedWithin = 10 * kSecond;

  struct Due {
    SliceId number;
    UtcNs time = 0;
  };

  // `tolerance_ns`: of times that are compared; 0: the first readout's time counts.
  NumberOrder(std::size_t readouts, DurationNs skew_ns, DurationNs tolerance_ns = 0);

  // Begins a run with this number. Every readout counts as one that delivers until it has been silent.
  // Numbers that were reported earlier stay: their readout has begun the run with an earlier process of the
  // supervisor.
  void begin(SliceId first, TimeNs now);
  // Continues a run of an earlier process. Late numbers of its gaps are not counted.
  void resume(const OrderState& state, TimeNs now);
  // A readout has fragments of this number. `time`: of the trigger, as its front-end says.
  void seen(std::size_t readout, SliceId number, UtcNs time, TimeNs now);
  // Returns the next number that is due.
  [[nodiscard]] std::optional<Due> next(TimeNs now);

  // Returns whether the number was offered earlier, as far as is known: it is not in a gap.
  [[nodiscard]] bool was_offered(SliceId number) const { return number < next_ && !is_in_gap(number); }

  [[nodiscard]] const OrderCounts& counts() const { return counts_; }
  [[nodiscard]] OrderState state() const { return {next_, counts_}; }
  [[nodiscard]] std::size_t waiting() const { return held_.size(); }

 private:
  struct Held {
    UtcNs time = 0;
    TimeNs since = 0;
    TimeNs confirmed = 0;  // when most readouts had reached it; 0: not yet
    bool near = false;     // when a readout reported it, it was not far ahead of the others
    TimeVote vote;
    std::vector<std::size_t> voters;
  };
  struct Reader {
    SliceId at;
    TimeNs heard = 0;
  };
  struct Gap {
    SliceId from;
    SliceId until;  // the first one behind
  };
  // Returns the highest number that more than half of the readouts that deliver have reached.
  [[nodiscard]] SliceId reached_by_most(TimeNs now);
  void confirm(TimeNs now);
  [[nodiscard]] bool has_a_time(const Held& held, TimeNs now);
  void close_gap(SliceId number);
  [[nodiscard]] bool is_in_gap(SliceId number) const;
  void give_up_unconfirmed(TimeNs now);

  DurationNs skew_ns_;
  DurationNs tolerance_ns_;
  std::vector<Reader> readers_;
  std::vector<SliceId> at_;  // of those that deliver
  SliceId next_;
  SliceId near_;  // behind the highest number that was not far ahead
  SliceId confirmed_upto_;
  std::optional<UtcNs> time_;  // of the previous number, where times are compared
  std::map<SliceId, Held> held_;
  std::deque<Gap> gaps_;  // the latest, ascending
  TimeNs checked_ = 0;
  OrderCounts counts_;
};

}  // namespace weir::numbering
