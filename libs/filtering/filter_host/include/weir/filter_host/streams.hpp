#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::filter_host {

// The farm's streams and their bits in a decision: "default" is bit 0, "debug" bit 63, the others follow from
// bit 1 in the order of the farm file.
class StreamTable {
 public:
  static constexpr std::size_t kOwnStreamsMax = 62;

  StreamTable() : StreamTable(std::vector<std::string>{}) {}
  // `names` may or may not hold the two fixed ones. Throws std::runtime_error on an empty or double name, and
  // when there are too many.
  explicit StreamTable(const std::vector<std::string>& names);

  // One bit; 0 when there is no such stream.
  [[nodiscard]] std::uint64_t bit(std::string_view name) const;
  // The names of a mask, joined by commas.
  [[nodiscard]] std::string names(std::uint64_t mask) const;
  [[nodiscard]] std::uint64_t mask() const { return mask_; }

 private:
  std::vector<std::string> own_;  // own_[i] is bit i + 1
  std::uint64_t mask_ = 0;
};

}  // namespace weir::filter_host
