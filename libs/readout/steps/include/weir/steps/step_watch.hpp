#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/stamp.hpp>
#include <weir/base/time.hpp>
#include <weir/steps/slip_tracker.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::steps {

struct WatchSettings {
  std::uint32_t counter_bits = 0;    // of the front-ends' counters; 0: these are not compared
  DurationNs time_tolerance_ns = 0;  // 0: times are not compared
  // Corrections of a source. A counter with a correction is compared with the slice's number itself, others
  // with their first fragments of the run.
  struct Offset {
    std::optional<std::int64_t> counter;
    DurationNs time_ns = 0;
  };
  std::vector<std::pair<SourceId, Offset>> offsets;
};

// A source with a counter or time that does not fit the slices. `slip`: what its counter or time says, less
// the slice that it comes with; above 0 its data are early. 0: unknown, as for a clock that drifts.
struct Slipped {
  SourceId source;
  std::int64_t slip = 0;
  SliceId since;
  bool by_time = false;
  bool operator==(const Slipped&) const = default;
};

// Where a fragment belongs, and whether its counter and time fit there.
struct Placed {
  SliceId slice;
  bool fits = true;
};

// Compares the counters and times of a readout's sources with the slices that their fragments come with. Each
// fragment that does not fit is found; a source is named once the same slip holds for a few of them. One
// thread; uses no clock.
//
// A counter is compared modulo its range, so a slip by its whole range is not seen. A time is compared with
// that of its slice's trigger; for a fragment that arrives before the announcement, announce() has the
// result.
class StepWatch {
 public:
  // Fragments of a source that agree before its counter counts as anchored.
  static constexpr std::uint32_t kAnchor = 4;
  static constexpr std::size_t kTriggersMax = 16384;  // triggers whose times are remembered
  static constexpr std::size_t kEarlyMax = 65536;     // fragments that wait for their announcement
  static constexpr std::size_t kUnmatchedMax = 64;    // of a source, ahead of all announced times
  static constexpr std::uint64_t kFar = 32;           // from the latest announced slice

  // Requires: `sources` ascend.
  StepWatch(const WatchSettings& settings, std::span<const SourceId> sources);

  void begin_run();
  // Returns the fragment's slice, and whether it fits as far as is known. Other sources' fragments fit.
  [[nodiscard]] Placed take(SourceId source, SliceId slice, const Stamp& stamp);
  // Calls misfit(source, slice) for each fragment of this slice that came before, and does not fit.
  template <class Misfit>
  void announce(SliceId slice, UtcNs time, Misfit&& misfit) {
    misfits_.clear();
    remember(slice, time);
    for (const SourceId source : misfits_) misfit(source, slice);
  }
  // The source has slipped, as was found before this object began; its first counter is taken so. Ignored for
  // a source that is compared already.
  void recall(const Slipped& known);
  // The source's fragments belong to the slice `slip` above the one that they come with; 0: to it. Late ones
  // from before the slip stay: their counter and time fit the latter only.
  void realign(SourceId source, std::int64_t slip);

  // Returns the sources that are compared, and those of them that have slipped. Ascending.
  [[nodiscard]] std::vector<SourceId> compared() const;
  [[nodiscard]] std::vector<Slipped> slipped() const;
  // Returns whether either list has changed since the last call.
  [[nodiscard]] bool take_news() { return std::exchange(news_, false); }

  [[nodiscard]] std::uint64_t misfits() const { return misfit_count_; }
  // Returns the number of fragments with a time that came too early, or too late, to be compared.
  [[nodiscard]] std::uint64_t not_compared() const { return not_compared_; }

 private:
  struct Ahead {
    SliceId slice;
    UtcNs time = 0;
    bool far = false;  // its slice is not announced: it need not fit any
  };
  struct Source {
    SourceId id;
    WatchSettings::Offset offset;
    std::optional<std::uint64_t> base;  // counter less slice of a fragment in step
    std::uint32_t anchored = 0;         // fragments that agree with `base`, up to kAnchor
    SlipTracker counter;
    SlipTracker time;
    std::deque<Ahead> unmatched;
    std::int64_t shift = 0;
    std::int64_t recalled = 0;  // slip of its first counter
    bool compared = false;
  };
  struct Early {
    std::uint32_t column = 0;
    bool fits = true;  // by its counter
    UtcNs time = 0;
    std::int64_t shift = 0;  // by which it was moved
  };

  [[nodiscard]] Source* find(SourceId source);
  [[nodiscard]] std::int64_t wrapped(std::uint64_t difference) const;
  // Requires: the source is realigned. Returns whether a fragment belongs to the slice that it comes with.
  [[nodiscard]] bool stays(const Source& source, SliceId label, const Stamp& stamp) const;
  // Returns nothing if that is not known.
  [[nodiscard]] std::optional<bool> may_be_of(const Source& source, SliceId slice, const Stamp& stamp) const;
  [[nodiscard]] bool counter_fits(Source& source, SliceId label, std::int64_t shift, std::uint64_t counter);
  [[nodiscard]] bool time_fits(Source& source, SliceId label, std::int64_t shift, UtcNs time,
                               UtcNs trigger_time);
  [[nodiscard]] bool is_far(SliceId slice) const;
  void look_far(Source& source, SliceId label, UtcNs time);
  void wait_for_trigger(Source& source, const Ahead& one);
  void see_own(Source& source, const Ahead& one);
  void keep_early(SliceId slice, const Early& one);
  void remember(SliceId slice, UtcNs time);
  void match_ahead(Source& source, UtcNs upto);
  [[nodiscard]] std::optional<SliceId> slice_at(UtcNs time) const;
  void see_time(Source& source, SliceId slice, const Deviation& deviation);

  WatchSettings settings_;
  std::vector<Source> sources_;
  boost::unordered_flat_map<std::uint64_t, UtcNs> times_;  // of triggers, by slice
  std::deque<Ahead> triggers_;                             // the same, in order of announcement
  // Of the newest triggers: none of them is earlier than one before it, but for the tolerance.
  std::size_t ascending_ = 0;
  UtcNs latest_ = 0;  // time of these
  boost::unordered_flat_map<std::uint64_t, std::vector<Early>> early_;
  std::deque<SliceId> early_order_;
  std::size_t early_count_ = 0;
  std::size_t with_unmatched_ = 0;  // sources
  std::vector<SourceId> misfits_;   // of the slice that is being announced
  std::uint64_t misfit_count_ = 0;
  std::uint64_t not_compared_ = 0;
  bool news_ = false;
};

}  // namespace weir::steps
