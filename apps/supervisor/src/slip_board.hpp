#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/slice_codec/bad_row.hpp>
#include <weir/steps/judgement.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::supervisor {

struct StepSettings {
  v1::BuildSettings::OnOutOfStep policy;
  std::unordered_map<std::uint32_t, NodeIndex> readout_of;  // by source, without masked ones
  std::optional<SliceId> first_number = {};                 // where front-ends number the slices
};

// Judges which sources of the farm are out of step, from what its readouts report. Inputs: their messages.
// Outputs: the verdict for all readouts, sentences about sources that are named anew. One thread.
class SlipBoard {
 public:
  static constexpr std::size_t kSentencesMax = 20;  // remembered, and given as faults

  explicit SlipBoard(StepSettings settings) : settings_(std::move(settings)) {}

  // Returns the row at fault if a source is not the readout's, or occurs twice.
  [[nodiscard]] Expected<void, slice_codec::BadRow> take(NodeIndex readout, const v1::OutOfStep& message);
  // Returns whether the verdict has changed since the last call.
  [[nodiscard]] bool take_change() { return std::exchange(changed_, false); }
  [[nodiscard]] const v1::Control& verdict() const { return verdict_; }
  [[nodiscard]] bool names_any() const { return !judgement_.named.empty(); }
  // Returns the sentences of slips that were not named before in this run.
  [[nodiscard]] std::vector<std::string> take_news();
  // Returns why the run has to end; empty: it goes on.
  [[nodiscard]] std::string why_stop() const;

 private:
  void judge();
  [[nodiscard]] std::string sentence_of(const steps::Slipped& one) const;

  StepSettings settings_;
  std::unordered_map<std::uint32_t, steps::Slipped> found_;  // by source; in step: slip 0, not by time
  std::map<NodeIndex, std::vector<std::uint32_t>> listed_;   // sources of each readout's last message
  steps::Judgement judgement_;
  v1::Control verdict_;
  bool changed_ = false;
  std::set<std::string> told_;
  std::vector<std::string> news_;
};

}  // namespace weir::supervisor
