#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::assignment {

// Where slices are pushed from `from` on, until the next epoch: slice s to dcms[s mod N].
struct DestinationEpoch {
  std::uint32_t number = 0;
  SliceId from;
  std::vector<NodeIndex> dcms;
};

// Which DCM is sent which slice in push running. The supervisor changes it, readouts and DCMs are told the
// whole of it: so all three agree on a slice, whenever they look. Pure; one thread.
class DestinationTable {
 public:
  static constexpr std::size_t kEpochsMax = 64;  // older ones are forgotten: their slices are not pushed

  // From this slice on, which no node was told of yet.
  void change(SliceId from, std::vector<NodeIndex> dcms);
  // As told by the supervisor. False, and nothing taken, when numbers or slices do not ascend or are too
  // many.
  [[nodiscard]] bool replace(std::vector<DestinationEpoch> epochs);

  // None: the slice is not pushed to anyone.
  [[nodiscard]] std::optional<NodeIndex> of(SliceId slice) const;
  [[nodiscard]] const std::vector<DestinationEpoch>& epochs() const { return epochs_; }  // ascending
  [[nodiscard]] std::uint32_t number() const { return epochs_.empty() ? 0 : epochs_.back().number; }
  // N of the newest epoch.
  [[nodiscard]] std::size_t width() const { return epochs_.empty() ? 0 : epochs_.back().dcms.size(); }

 private:
  std::vector<DestinationEpoch> epochs_;
};

}  // namespace weir::assignment
