#pragma once

#include <weir/assignment/trigger_file.hpp>
#include <weir/assignment/types.hpp>
#include <weir/base/expected.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// One trigger that is offered: whether it becomes a slice is the supervisor's answer.
struct TriggerOffer {
  std::optional<SliceId> slice;  // without: the next free id
  TriggerInfo info;
  ConstBytes payload;  // valid until the source is asked again
};

// Both clocks, read together.
struct Now {
  TimeNs mono = 0;
  UtcNs utc = 0;
};

// Makes the triggers of a run. It knows nothing of room or limits: what it offers in vain is vetoed and
// counted by its user, and never offered again. One thread.
class TriggerSource {
 public:
  virtual ~TriggerSource() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // The run begins. Called once, before all others.
  virtual void start(const Now& now) = 0;
  // After start(): the run began at `begun`, and earlier processes offered, or gave up, so many triggers of
  // this source. The series goes on where it was: what fell due meanwhile is overdue, as after a stall.
  virtual void resume(std::uint64_t /*offered*/, const Now& /*begun*/) {}
  // The earliest trigger that is due and was not offered yet; false when none is.
  [[nodiscard]] virtual bool next(const Now& now, TriggerOffer& offer) = 0;
  // Gives up triggers that fell due more than kCatchUpMaxNs ago; how many.
  virtual std::uint64_t skip_overdue(const Now&) { return 0; }
  // There will be none any more.
  [[nodiscard]] virtual bool exhausted() const { return false; }
  // To be asked only when a trigger would be taken: back-pressure instead of vetoes.
  [[nodiscard]] virtual bool waits_for_room() const { return false; }
  // Takes offers from outside.
  [[nodiscard]] virtual bool open() const { return false; }
  // When the next trigger is due by the monotonic clock, if that is known; in the past: now.
  [[nodiscard]] virtual std::optional<TimeNs> next_due(const Now&) const { return std::nullopt; }
};

// What was due for longer than this is lost (a stopped process, a clock that was set).
constexpr DurationNs kCatchUpMaxNs = kSecond;

struct TriggerSettings {
  std::string mode = "max";       // one of trigger_modes()
  double rate_hz = 1000;          // rate, poisson: mean rate, above 0, up to kRateMaxHz
  std::uint64_t seed = 1;         // poisson
  DurationNs slice_ns = 0;        // clock: length of a time slice; elsewhere what TriggerInfo::duration says
  SliceId first_slice;            // clock: the id of the first time slice
  TriggerType type;               // max, rate, poisson, clock: what TriggerInfo::type says
  std::vector<FileTrigger> file;  // file
  bool file_pace = false;  // file: at the distances of the file's times, instead of as fast as possible
};
constexpr double kRateMaxHz = 1e8;

// `max`      as fast as there is room; nothing is vetoed
// `rate`     every 1 / rate_hz, without drift
// `poisson`  exponentially distributed distances, a function of the seed. Another process goes on with the
//            distances, and begins at the mean time of the trigger that it begins with
// `clock`    one per slice_ns, aligned to the UTC period: time k * slice_ns, announced when it begins. The id
//            counts periods, so that it is a function of the time, through restarts of the supervisor, too; a
//            vetoed slice leaves a gap in the ids
// `file`     what the file says, in its order
// `network`  only what comes from outside
[[nodiscard]] std::vector<std::string_view> trigger_modes();
[[nodiscard]] Expected<std::unique_ptr<TriggerSource>, Failure> make_trigger_source(TriggerSettings settings);

}  // namespace weir::assignment
