#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::shaping {

// Which of the readouts that the oldest slice still wants something of is asked next.
enum class ReadoutOrder : std::uint8_t {
  in_order,  // the first one of the farm
  rotated,   // the first one from this DCM's own place on: DCMs do not all begin with the same readout
  // The one that owes this DCM least; among equals the one that most is left to be asked of, so that all of a
  // slice's readouts come to their end together; then as rotated (barrel shifting).
  least_loaded,
};

// What a readout may be asked for.
struct Claim {
  std::uint64_t slice = 0;  // place in line of the oldest slice that wants something of it
  std::uint64_t owed = 0;   // bytes that it was asked for and has not sent
  std::uint64_t left = 0;   // bytes of that slice that it was not yet asked for
};

// The readouts that may be asked now, the next one first: the oldest slice goes ahead, then the order counts.
// A heap with an index: what changes of one readout costs the logarithm of their number, whatever the others
// do. Pure.
class ReadoutChoice {
 public:
  // `first`: this DCM's own place among `readouts` readouts.
  ReadoutChoice(ReadoutOrder order, std::uint32_t first, std::uint32_t readouts);

  // This readout may be asked; replaces what was said of it before.
  void set(std::uint32_t readout, const Claim& claim);
  // It may not be asked.
  void remove(std::uint32_t readout);
  [[nodiscard]] bool holds(std::uint32_t readout) const { return place_[readout] != kOut; }
  [[nodiscard]] std::optional<std::uint32_t> best() const;
  // Places in the heap that were looked at, ever: what the choice has cost.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Key {
    std::uint64_t slice = 0;
    std::uint64_t owed = 0;
    std::uint64_t taken = 0;  // all ones minus what is left
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
