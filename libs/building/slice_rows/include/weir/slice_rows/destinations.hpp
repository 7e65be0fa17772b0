#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::slice_rows {

// The destinations of pushed slices from `from` on, until the next epoch: slice s goes to dcms[s mod N].
struct DestinationEpoch {
  std::uint32_t number = 0;
  SliceId from;
  std::vector<NodeIndex> dcms;
};

// Maps slices to DCMs in push runs. The supervisor changes the table; readouts and DCMs receive all of it, so
// all three always agree on a slice. Pure; one thread.
class DestinationTable {
 public:
  static constexpr std::size_t kEpochsMax = 64;  // older ones are forgotten: their slices are not pushed

  // Begins an epoch. Requires: no node has been notified of slice `from` yet.
  void change(SliceId from, std::vector<NodeIndex> dcms);
  // Replaces the table by a received one. Returns false and changes nothing if numbers or slices do not
  // ascend, or the table has too many epochs.
  [[nodiscard]] bool replace(std::vector<DestinationEpoch> epochs);

  // Returns nullopt if the slice is not pushed.
  [[nodiscard]] std::optional<NodeIndex> of(SliceId slice) const;
  [[nodiscard]] const std::vector<DestinationEpoch>& epochs() const { return epochs_; }  // ascending
  [[nodiscard]] std::uint32_t number() const { return epochs_.empty() ? 0 : epochs_.back().number; }
  // Number of DCMs in the newest epoch.
  [[nodiscard]] std::size_t width() const { return epochs_.empty() ? 0 : epochs_.back().dcms.size(); }

 private:
  std::vector<DestinationEpoch> epochs_;
};

}  // namespace weir::slice_rows
