#pragma once

#include <weir/base/fragment_status.hpp>
#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assembly {

// Fragments of one source that arrived with data.
struct SourceTally {
  std::uint64_t received = 0;
  std::uint64_t bytes = 0;
  TimeNs last_ns = 0;  // arrival of the last one; 0: none
};

// Counts the fragments of each source, by its place among the assembler's sources. Memory: 24 bytes a source,
// and 8 more for each reason that has occurred.
class SourceTallies {
 public:
  explicit SourceTallies(std::size_t sources) : arrived_(sources) {}

  void receive(std::size_t source, std::uint32_t bytes, TimeNs now_ns) {
    SourceTally& tally = arrived_[source];
    ++tally.received;
    tally.bytes += bytes;
    tally.last_ns = now_ns;
  }
  void miss(std::size_t source, MissingReason reason) {
    std::vector<std::uint64_t>& column = missing_[static_cast<std::size_t>(reason)];
    if (column.empty()) column.resize(arrived_.size());
    ++column[source];
  }
  // Takes back a miss(): its attempt does not count.
  void overtake(std::size_t source, MissingReason reason) {
    --missing_[static_cast<std::size_t>(reason)][source];
  }

  [[nodiscard]] std::size_t size() const { return arrived_.size(); }
  [[nodiscard]] const SourceTally& arrived(std::size_t source) const { return arrived_[source]; }
  // Returns false if no fragment of any source was missing for this reason.
  [[nodiscard]] bool has(MissingReason reason) const {
    return !missing_[static_cast<std::size_t>(reason)].empty();
  }
  [[nodiscard]] std::uint64_t missing(std::size_t source, MissingReason reason) const {
    const std::vector<std::uint64_t>& column = missing_[static_cast<std::size_t>(reason)];
    return column.empty() ? 0 : column[source];
  }

 private:
  std::vector<SourceTally> arrived_;
  std::array<std::vector<std::uint64_t>, kMissingReasons> missing_;
};

}  // namespace weir::assembly
