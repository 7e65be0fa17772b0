#pragma once

#include "scenario.hpp"
#include "sim_front_ends.hpp"
#include <weir/storage/run_file_reader.hpp>
#include <weir/v1/control.pb.h>

#include <optional>
#include <string>

namespace weir::sim {

// How long after its first wrong event a source was named.
struct SlipDelay {
  DurationNs time_ns = 0;
  std::uint64_t slices = 0;
};

// Compares the stored fragments of a simulated farm with what its front-ends sent: bytes, places and marks.
class FrontEndCheck {
 public:
  FrontEndCheck(const Scenario& scenario, SimFrontEnds& front_ends, const v1::RunSummary& account)
      : scenario_(scenario), plan_(scenario.front_ends), front_ends_(front_ends), account_(account) {}

  // Returns the problem of a fragment that is not missing; empty: none.
  [[nodiscard]] std::string fragment(const storage::SliceRecordView& slice,
                                     const storage::FragmentView& fragment);
  // Returns the problem of a slice as a whole; empty: none.
  [[nodiscard]] std::string slice(const storage::SliceRecordView& slice);
  // Returns whether the front-ends are a reason for this missing fragment.
  [[nodiscard]] bool explains(std::uint64_t slice, const storage::FragmentRecord& missing) const;
  // Returns the problem of the account of the run; empty: none.
  [[nodiscard]] std::string account() const;
  // Returns whether one of the sources slips in this run, whether Weir has to find that, and whether it has.
  [[nodiscard]] bool has_slip() const { return plan_.slipped != 0; }
  [[nodiscard]] bool has_to_name() const;
  [[nodiscard]] bool has_named() const;
  // Returns nothing where that need not be, or where faults of readouts or the supervisor, or a pause, delay
  // it.
  [[nodiscard]] std::optional<SlipDelay> slip_delay() const;

 private:
  [[nodiscard]] std::string event_fragment(const storage::SliceRecordView& slice,
                                           const storage::FragmentView& fragment);
  [[nodiscard]] std::string window_fragment(const storage::SliceRecordView& slice,
                                            const storage::FragmentView& fragment);
  // Returns the event of which these are the data.
  [[nodiscard]] std::optional<std::uint64_t> event_of(std::uint32_t source, std::uint64_t slice,
                                                      ConstBytes bytes);
  [[nodiscard]] bool is_content(std::uint32_t source, std::uint64_t event, ConstBytes bytes);
  [[nodiscard]] bool a_readout_died() const;
  [[nodiscard]] bool no_readout_was_left() const;
  // Returns whether a fault hit a readout or the supervisor.
  [[nodiscard]] bool is_disturbed() const;
  // Returns whether run control removed the source's readout from the run for a while.
  [[nodiscard]] bool was_removed(SourceId source) const;
  // By number: returns whether these data arrived before their readout began the run. It was cut off from the
  // supervisor then, and other readouts were not.
  [[nodiscard]] bool preceded_begin(SourceId source, std::uint64_t number) const;
  // Returns the front-ends and their slip, for a failure.
  [[nodiscard]] std::string describe() const;
  // By number: whether most sources are in time for each slice, so that the one that differs is known.
  [[nodiscard]] bool knows_the_right_one() const;
  // By trigger: returns whether the time of an event is another than that of the slice's trigger.
  [[nodiscard]] bool shows_by_time(std::uint32_t source, std::uint64_t event, std::uint64_t slice) const;
  // Returns whether a misfit of the source that slips is seen.
  [[nodiscard]] bool is_seen() const;
  [[nodiscard]] std::string slip_named() const;
  [[nodiscard]] std::uint64_t misfits() const;
  // Returns the sum of a counter over all nodes.
  [[nodiscard]] std::uint64_t in_all(const std::string& counter) const;
  // By number: where all front-ends send everything in time, each number becomes a slice or is vetoed, and a
  // counter that joins too late is refused. Returns the problem; empty: none.
  [[nodiscard]] std::string numbers_given() const;
  // By time: returns whether no window that begins here or later has a reason to be truncated.
  [[nodiscard]] bool keeps_all_from(std::uint32_t source, UtcNs begin);
  // By number: whether its counter is so far from the right one that this shows without times.
  [[nodiscard]] bool jumps_far() const;
  [[nodiscard]] std::string pieces_balance() const;

  const Scenario& scenario_;
  const FrontEndPlan& plan_;
  SimFrontEnds& front_ends_;
  const v1::RunSummary& account_;
  emulation::DummyVerifier verifier_;
  std::uint64_t behind_ = 0;  // the highest stored slice
};

}  // namespace weir::sim
