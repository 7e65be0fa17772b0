#pragma once

#include <weir/base/time.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/source/source.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace weir::emulation {

// Faults of fragments that can be injected on purpose.
enum class InjectedFault : std::uint8_t {
  drop,       // lost in transit, and known to be: missing, gap
  silence,    // its source is silent for a time: missing, deadline
  delay,      // arrives later
  reorder,    // arrives behind the next one of its source
  duplicate,  // arrives twice
  truncate,   // its second half is cut off, and it is marked
  corrupt     // one bit differs from its checksum
};
constexpr std::size_t kInjectedFaults = 7;
[[nodiscard]] constexpr std::string_view name(InjectedFault fault) {
  constexpr std::string_view kNames[] = {"drop",      "silence",  "delay",  "reorder",
                                         "duplicate", "truncate", "corrupt"};
  return kNames[static_cast<std::size_t>(fault)];
}

// Rates, as shares of a source's fragments from 0 to 1. The members have the names of the farm file's keys.
struct FaultRates {
  double drop = 0;
  double delay = 0;
  double reorder = 0;
  double duplicate = 0;
  double truncate = 0;
  double corrupt = 0;
  DurationNs delay_ns = 50 * kMillisecond;
  // From the run's begin on, the source is silent for the last part of each period of this length; 0: never.
  DurationNs silent_every_ns = 0;
  DurationNs silent_for_ns = 0;
};

// Makes emulated sources as faulty as real ones. A wrapped source returns its fragments as before, except
// late ones: the injector delivers these into the readout's buffer when they are due. Until then the buffer
// reserves their bytes, and if it gives one up, the injector releases its memory. The fault of a fragment is
// a function of seed, source, slice and, for silences, of the time since the run's begin. Not thread-safe;
// uses no clock.
class FaultInjector {
 public:
  explicit FaultInjector(std::uint64_t seed) : seed_(seed) {}
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  // Returns the source for the buffer. Requires: it is destroyed before this object and the buffer.
  [[nodiscard]] std::unique_ptr<source::FragmentSource> wrap(std::unique_ptr<source::FragmentSource> source,
                                                             const FaultRates& rates);

  [[nodiscard]] bool has_sources() const { return has_sources_; }
  void begin_run(TimeNs now);
  // Drops fragments that have not been delivered.
  void end_run();
  // Sets the time of the slices that are made next. Requires: called before FragmentBuffer::make_some().
  void tick(TimeNs now) { now_ = now; }
  // Delivers due fragments. To be called often, and after each FragmentBuffer::make_some().
  void pass(TimeNs now, source::FragmentBuffer& buffer, source::AnswerSink& sink);

  // Returns the number of fragments with each fault since begin_run(). A fragment can have several.
  [[nodiscard]] const std::array<std::uint64_t, kInjectedFaults>& counts() const { return counts_; }
  // Returns the number of fragments that were not delayed, because the limit was reached.
  [[nodiscard]] std::uint64_t not_delayed() const { return not_delayed_; }

  static constexpr std::size_t kDelayedMax = 65'536;

 private:
  class Wrapped;
  // A fragment that its source holds, by its id.
  struct Late {
    TimeNs due = 0;
    Wrapped* source = nullptr;
    SliceId slice;
    bool twice = false;
  };
  [[nodiscard]] source::SourceFragment make(Wrapped& source, const source::Trigger& trigger);
  // Returns the fragment, or a pending one if it arrives later.
  [[nodiscard]] source::SourceFragment schedule(Wrapped& source, SliceId slice,
                                                source::SourceFragment fragment);
  void keep(const Late& late);
  static void deliver(const Late& late, source::FragmentBuffer& buffer, source::AnswerSink& sink);
  [[nodiscard]] bool is_silent(const FaultRates& rates, TimeNs now) const;
  bool draw(InjectedFault fault, double rate, SourceId source, SliceId slice);

  std::uint64_t seed_;
  bool has_sources_ = false;
  TimeNs begun_ = 0;
  TimeNs now_ = 0;
  std::deque<Late> late_;          // delayed, ascending in `due`
  std::vector<Late> repeats_;      // second copies of fragments that arrived at once
  std::vector<Wrapped*> holding_;  // sources with a fragment that waits for their next one
  std::array<std::uint64_t, kInjectedFaults> counts_{};
  std::uint64_t not_delayed_ = 0;
};

}  // namespace weir::emulation
