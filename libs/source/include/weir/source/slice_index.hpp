#pragma once

#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::source {

// Slice id -> small number. Ids that ascend densely, which is the rule, each find their own place in a table
// by their low bits; one whose place is taken goes to a hash map. So any ids work, and the usual ones
// cost one memory access. One thread.
class SliceIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // `expected` ids at a time; more work, slower.
  explicit SliceIndex(std::size_t expected) : table_(std::bit_ceil(2 * expected + 1)) {}

  // kNone when it is not there.
  [[nodiscard]] std::uint32_t find(SliceId slice) const {
    const Place& place = table_[slot(slice)];
    if (place.value != kNone && place.slice == slice) return place.value;
    if (overflow_.empty()) return kNone;
    const auto at = overflow_.find(slice.value);
    return at == overflow_.end() ? kNone : at->second;
  }
  // `slice` must not be there; `value` is not kNone.
  void insert(SliceId slice, std::uint32_t value) {
    Place& place = table_[slot(slice)];
    if (place.value == kNone) {
      place = {slice, value};
    } else {
      overflow_.emplace(slice.value, value);
    }
  }
  void erase(SliceId slice) {
    Place& place = table_[slot(slice)];
    if (place.value != kNone && place.slice == slice) {
      place.value = kNone;
    } else {
      overflow_.erase(slice.value);
    }
  }

 private:
  struct Place {
    SliceId slice;
    std::uint32_t value = kNone;
  };

  [[nodiscard]] std::size_t slot(SliceId slice) const { return slice.value & (table_.size() - 1); }

  std::vector<Place> table_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> overflow_;
};

// Slices that will not be made although they may still be asked for or announced, each with the answer to
// give. At most `capacity`; beyond, the one noted first is forgotten. One thread.
class SliceNotes {
 public:
  explicit SliceNotes(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::optional<MissingReason> find(SliceId slice) const {
    if (notes_.empty()) return std::nullopt;
    const auto at = notes_.find(slice.value);
    return at == notes_.end() ? std::nullopt : std::optional(at->second);
  }
  // Returns how many notes were forgotten for it (0 or 1). A slice that is noted already keeps its first
  // reason.
  std::size_t add(SliceId slice, MissingReason reason) {
    if (!notes_.emplace(slice.value, reason).second) return 0;
    order_.push_back(slice);
    if (order_.size() <= capacity_) return 0;
    notes_.erase(order_.front().value);
    order_.pop_front();
    return 1;
  }
  void clear() {
    notes_.clear();
    order_.clear();
  }

 private:
  std::size_t capacity_;
  boost::unordered_flat_map<std::uint64_t, MissingReason> notes_;
  std::deque<SliceId> order_;
};

}  // namespace weir::source
