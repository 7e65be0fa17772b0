#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/expected.hpp>
#include <weir/slice_rows/trigger_file.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// An offered trigger; the supervisor decides whether it becomes a slice.
struct TriggerOffer {
  std::optional<SliceId> slice;  // nullopt: the next free id
  TriggerInfo info;
  ConstBytes payload;  // valid until the next call of the source
};

// Both clocks, read together.
struct Now {
  TimeNs mono = 0;
  UtcNs utc = 0;
};

// Makes the triggers of a run, without regard to room or limits: the caller vetoes and counts triggers that
// do not fit, and they are not offered again. One thread.
class TriggerSource {
 public:
  virtual ~TriggerSource() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Begins the run. Requires: called once, before all others.
  virtual void start(const Now& now) = 0;
  // After start(): resumes a run that began at `begun` and in which earlier processes offered, or gave up, so
  // many triggers of this source. Triggers that fell due meanwhile are overdue, as after a stall.
  virtual void resume(std::uint64_t /*offered*/, const Now& /*begun*/) {}
  // Returns the earliest due trigger that was not offered yet; false if none is due.
  [[nodiscard]] virtual bool next(const Now& now, TriggerOffer& offer) = 0;
  // Gives up triggers that fell due more than kCatchUpMaxNs ago; returns their number.
  virtual std::uint64_t skip_overdue(const Now&) { return 0; }
  // True if no trigger will follow.
  [[nodiscard]] virtual bool exhausted() const { return false; }
  // True if the source should only be asked when there is room: back-pressure instead of vetoes.
  [[nodiscard]] virtual bool waits_for_room() const { return false; }
  // True if the source takes external triggers.
  [[nodiscard]] virtual bool open() const { return false; }
  // Returns the monotonic time of the next trigger, if known; in the past: now.
  [[nodiscard]] virtual std::optional<TimeNs> next_due(const Now&) const { return std::nullopt; }
};

// Triggers due for longer than this are lost (a stopped process, an adjusted clock).
constexpr DurationNs kCatchUpMaxNs = kSecond;

struct TriggerSettings {
  std::string mode = "max";  // one of trigger_modes()
  double rate_hz = 1000;     // rate, poisson: mean rate, above 0, up to kRateMaxHz
  std::uint64_t seed = 1;    // poisson
  DurationNs slice_ns = 0;   // clock: length of a time slice; other modes: value of TriggerInfo::duration
  SliceId first_slice;       // clock: the id of the first time slice
  TriggerType type;          // max, rate, poisson, clock: value of TriggerInfo::type
  std::vector<FileTrigger> file;  // file
  bool file_pace = false;         // file: at the file's intervals instead of as fast as possible
};
constexpr double kRateMaxHz = 1e8;

// `max`      as fast as there is room; without vetoes
// `rate`     every 1 / rate_hz, without drift
// `poisson`  exponentially distributed intervals, a function of the seed. A resuming process continues the
//            intervals, and begins at the mean time of its first trigger
// `clock`    one per slice_ns, aligned to the UTC period: time k * slice_ns, announced when it begins. The id
//            counts periods, so that it is a function of the time, even after restarts of the supervisor; a
//            vetoed slice leaves a gap in the ids
// `file`     the triggers of the file, in its order
// `network`  external triggers only
[[nodiscard]] std::vector<std::string_view> trigger_modes();
[[nodiscard]] Expected<std::unique_ptr<TriggerSource>, AssignmentFailure> make_trigger_source(
    TriggerSettings settings);

}  // namespace weir::assignment
