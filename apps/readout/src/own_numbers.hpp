#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/stamp.hpp>
#include <weir/base/time.hpp>
#include <weir/node/supervisor_client.hpp>
#include <weir/numbering/counter_track.hpp>
#include <weir/numbering/jump_watch.hpp>
#include <weir/numbering/seen_numbers.hpp>
#include <weir/steps/step_watch.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::readout {

struct OwnNumbersSettings {
  std::uint32_t bits;             // width of the counters
  SliceId first;                  // the run's first number
  numbering::TimeSettings times;  // where front-ends send times, which are those of the slices
  DurationNs apart_ns;            // differences of times for which a counter has not jumped
  struct Offset {
    std::int64_t counter = 0;  // added to its counter
    DurationNs time = 0;       // added to its time
  };
  std::map<std::uint32_t, Offset> offsets;  // by source
};

// The numbers that front-ends count themselves (build.by: number): places each fragment's counter, and tells
// the supervisor the numbers that it has not announced yet. One thread.
class OwnNumbers {
 public:
  // `sources`: ascending.
  OwnNumbers(const OwnNumbersSettings& settings, std::vector<SourceId> sources);

  // `first_slice`: the readout takes part from this number on.
  void begin_run(SliceId first_slice);
  // All readouts take part from this number on: the farm stood still there.
  void stood_still(SliceId at);
  // The source's counter had jumped before this process began.
  void recall(const steps::Slipped& known);
  // Returns the number of a fragment with this counter; none: it cannot be placed, and is dropped. `utc`: the
  // time of its arrival. Requires: a source of this readout.
  [[nodiscard]] std::optional<SliceId> take(SourceId source, std::uint64_t counter, const Stamp& stamp,
                                            UtcNs utc, TimeNs now);
  // Returns the number that the counter stands for now.
  [[nodiscard]] std::optional<SliceId> place(SourceId source, std::uint64_t counter) const;
  // The fragment is in the buffer. `trusted`: its source is not out of step.
  void arrived(SourceId source, SliceId number, const Stamp& stamp, UtcNs utc, TimeNs now, bool trusted);
  // `time`: of this slice; none: it was vetoed.
  void announced(SliceId upto, std::optional<UtcNs> time);
  // Sends the new numbers, in messages of bounded length. Requires: the supervisor is connected.
  void tell(node::SupervisorClient& supervisor, TimeNs now);
  // The connection is new.
  void repeat() { seen_.repeat(); }

  // Returns whether delivering() or jumped() has changed since the last call.
  [[nodiscard]] bool take_news() { return std::exchange(news_, false); }
  [[nodiscard]] std::vector<SourceId> delivering() const;    // ascending
  [[nodiscard]] std::vector<steps::Slipped> jumped() const;  // by their counters; ascending

  void add_to(v1::Report& report) const;
  // Returns a sentence about a source with a counter that could not be placed, for the first time in the run;
  // empty: none.
  [[nodiscard]] std::string take_fault();

 private:
  [[nodiscard]] std::size_t place_of(SourceId source) const;
  // Returns the front-end's time with its offset; none: it sends no time, or an impossible one.
  [[nodiscard]] std::optional<UtcNs> own_time(SourceId source, const Stamp& stamp) const;

  const OwnNumbersSettings settings_;
  const std::vector<SourceId> sources_;
  std::vector<numbering::CounterTrack> tracks_;
  std::vector<numbering::JumpWatch> jumps_;
  bool news_ = false;
  std::vector<bool> told_;  // a fault was made of its counter
  numbering::SeenNumbers seen_;
  std::optional<SliceId> latest_;
  std::vector<numbering::SeenNumber> batch_;
  std::string fault_;
};

}  // namespace weir::readout
