#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::shaping {

// How the next readout is chosen among those from which the oldest slice still needs data.
enum class ReadoutOrder : std::uint8_t {
  in_order,  // the first one in the farm
  rotated,   // the first one from this DCM's own place on: DCMs start with different readouts
  // The one that owes this DCM the fewest bytes; among equals the one with the most bytes left to request, so
  // that all readouts of a slice finish together; then as rotated (barrel shifting).
  least_loaded,
};

// The data that may be requested from a readout.
struct Claim {
  std::uint64_t slice = 0;  // place in line of the oldest slice that needs data of it
  std::uint64_t owed = 0;   // bytes requested and not received
  std::uint64_t left = 0;   // bytes of that slice not yet requested
};

// The readouts that may be asked now, sorted: first by the oldest slice, then by the order. A heap with an
// index: a change at one readout costs the logarithm of their number. Pure.
class ReadoutChoice {
 public:
  // `first`: this DCM's own place among `readouts` readouts.
  ReadoutChoice(ReadoutOrder order, std::uint32_t first, std::uint32_t readouts);

  // Allows requests to this readout; replaces its earlier claim.
  void set(std::uint32_t readout, const Claim& claim);
  // Forbids requests to this readout.
  void remove(std::uint32_t readout);
  [[nodiscard]] bool holds(std::uint32_t readout) const { return place_[readout] != kOut; }
  [[nodiscard]] std::optional<std::uint32_t> best() const;
  // Returns how many places in the heap have been visited so far: the cost of the choice.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Key {
    std::uint64_t slice = 0;
    std::uint64_t owed = 0;
    std::uint64_t taken = 0;  // all ones minus the bytes left
    std::uint32_t turn = 0;
    auto operator<=>(const Key&) const = default;
  };
  static constexpr std::uint32_t kOut = UINT32_MAX;

  void put(std::size_t place, std::uint32_t readout);
  void up(std::size_t place, std::uint32_t readout);
  void down(std::size_t place, std::uint32_t readout);

  bool by_load_;
  std::vector<Key> keys_;             // by readout
  std::vector<std::uint32_t> heap_;   // readouts
  std::vector<std::uint32_t> place_;  // by readout, in the heap; kOut
  std::uint64_t steps_ = 0;
};

}  // namespace weir::shaping
