#pragma once

#include <weir/source/time_ring.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace weir::source {

struct WindowSettings {
  RingLimits ring;  // of each source
  // Of time slices, on both sides.
  DurationNs overlap_ns = 0;
  // Of events.
  DurationNs before_ns = 0;
  DurationNs after_ns = 0;
  std::map<SourceId, DurationNs> offsets;  // added to times of these sources
};

// Returns the window of an announced slice.
[[nodiscard]] TimeWindow window_of(const Trigger& trigger, const WindowSettings& settings);

// The time from a piece's end to its arrival, in UTC: transport, buffering, and the error of the source's
// clock.
class ArrivalDelays {
 public:
  static constexpr std::size_t kSamples = 1023;  // of the latest pieces, for the median

  void add(DurationNs delay) {
    least_ = count_ == 0 ? delay : std::min(least_, delay);
    if (samples_.size() < kSamples) {
      samples_.push_back(delay);
    } else {
      samples_[count_ % kSamples] = delay;
    }
    ++count_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Requires: count() > 0, here and below. The least delay since the run began.
  [[nodiscard]] DurationNs least() const { return least_; }
  [[nodiscard]] DurationNs median() const;
  void clear() { *this = {}; }

 private:
  std::uint64_t count_ = 0;
  DurationNs least_ = 0;
  std::vector<DurationNs> samples_;
};

// The windows of all sources of a readout: a TimeRing for each. The caller delivers the made fragments to the
// FragmentBuffer. Its WindowedSource reports fragments that are no longer needed. Not thread-safe;
// uses no clock.
class TimeWindows {
 public:
  // Requires: sources ascend, without repetition.
  TimeWindows(std::span<const SourceId> sources, const WindowSettings& settings);

  void begin_run(std::optional<UtcNs> from);
  void end_run();

  // Requires: the source is one of this readout's, here and below. `piece` has the source's own time.
  void add(SourceId source, Piece piece, UtcNs utc);
  // A piece that came without a time.
  void add_timeless(SourceId source) { ring(source).ring.drop(PieceDrop::no_time); }
  // `time`: of the source's own clock.
  void pass(SourceId source, UtcNs time, bool gap, UtcNs utc);
  // Opens the window of each slice for each source. Requires: not announced before.
  void announced(std::span<const Trigger> triggers);
  // Closes the window of the slice, for one source or all.
  void close(SourceId source, SliceId slice) { ring(source).ring.close(slice); }
  void close(SliceId slice);

  [[nodiscard]] bool has_made() const { return !made_.empty(); }
  // Returns the fragments made since the last call.
  [[nodiscard]] std::vector<MadeWindow> take_made() { return std::exchange(made_, {}); }

  struct OneSource {
    TimeRing ring;
    DurationNs offset = 0;
    ArrivalDelays delays;
  };
  [[nodiscard]] std::span<const OneSource> sources() const { return rings_; }  // ascending
  [[nodiscard]] PieceCounters counters() const;                                // of all sources

 private:
  [[nodiscard]] OneSource& ring(SourceId source);

  WindowSettings settings_;
  std::vector<OneSource> rings_;
  std::vector<MadeWindow> made_;
};

// A source with windows' pieces as fragments. Requires: `windows` outlives it.
class WindowedSource final : public FragmentSource {
 public:
  WindowedSource(SourceId id, TimeWindows& windows) : id_(id), windows_(windows) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] SourceFragment produce(const Trigger&) override { return pending_fragment(0); }
  [[nodiscard]] Timing timing() const override { return Timing::later; }
  void given_up(SliceId slice) override { windows_.close(id_, slice); }

 private:
  SourceId id_;
  TimeWindows& windows_;
};

}  // namespace weir::source
