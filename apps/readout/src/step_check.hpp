#pragma once

#include <weir/base/expected.hpp>
#include <weir/source/fragment_buffer.hpp>
#include <weir/source/source.hpp>
#include <weir/steps/judgement.hpp>
#include <weir/steps/step_watch.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::readout {

// Compares the fragments of a readout with their slices by counter and time, marks misfits, reports slipped
// sources to the supervisor, and treats them as its verdict says. Inputs: fragments as they arrive or are
// made, announcements, verdicts, time. Outputs: their place and status, messages, texts. One thread.
class StepCheck {
 public:
  // Requires: `sources` ascend.
  StepCheck(const steps::WatchSettings& settings, std::vector<SourceId> sources);

  // A source that makes its fragments, with each of them checked. Requires: it is destroyed before this
  // object.
  [[nodiscard]] std::unique_ptr<source::FragmentSource> wrap(std::unique_ptr<source::FragmentSource> source);

  // The verdict of the supervisor survives: the front-ends have not changed by it.
  void begin_run();
  // Marks a misfit, replaces a fragment of a masked source by a missing one, and returns the fragment's
  // slice.
  [[nodiscard]] SliceId check(SourceId source, SliceId slice, const Stamp& stamp,
                              source::SourceFragment& fragment);
  // Returns the slice that a source means by this number.
  [[nodiscard]] SliceId place(SourceId source, SliceId slice) const;
  // Marks the fragments in the buffer that the times of these triggers show not to fit. Requires: called
  // before the buffer's announce().
  void announced(std::span<const source::Trigger> triggers, source::FragmentBuffer& buffer);

  // Sets the sources with numbers that are compared with the farm's, and their jumps. Both ascend.
  void set_jumped(std::vector<SourceId> delivering, std::vector<steps::Slipped> jumped);
  // Returns the message that the supervisor lacks, if any.
  [[nodiscard]] std::optional<v1::Control> take_message(TimeNs now_ns);
  // A new connection: the supervisor knows nothing.
  void forget() { resend_ = true; }
  void take_verdict(const v1::StepVerdict& verdict);
  // Returns the sources of this readout that the supervisor has named.
  [[nodiscard]] std::span<const steps::Slipped> named() const { return named_; }

  // Returns whether the supervisor has named this source.
  [[nodiscard]] bool has_named(SourceId source) const;
  // Returns the named sources of this readout; empty: none.
  [[nodiscard]] std::string text() const;
  void add_to(v1::Report& report) const;

 private:
  [[nodiscard]] std::vector<SourceId> compared() const;
  [[nodiscard]] std::vector<steps::Slipped> slipped() const;
  class Checked;
  struct Treatment {
    bool masked = false;
    std::int64_t shift = 0;
  };

  std::vector<SourceId> sources_;
  steps::StepWatch watch_;
  std::vector<SourceId> delivering_;    // by number
  std::vector<steps::Slipped> jumped_;  // likewise
  std::vector<steps::Slipped> told_;
  bool resend_ = false;
  bool changed_ = false;
  TimeNs told_ns_ = 0;
  std::vector<steps::Slipped> named_;  // by the supervisor, of this readout
  std::unordered_map<SourceId, Treatment> treatments_;
  std::vector<SourceId> made_;  // cannot be realigned: they are asked for one slice at a time
  std::uint64_t realigned_ = 0;
};

}  // namespace weir::readout
