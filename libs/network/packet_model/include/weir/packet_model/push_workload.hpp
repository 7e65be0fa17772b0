#pragma once

#include <weir/base/time.hpp>
#include <weir/packet_model/random.hpp>
#include <weir/shaping/burst_cut_off.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::packet_model {

// Bursts of bioluminescence (van Rantwijk 2002, section 4.3.3): at the start of a slice each readout begins
// one with a fixed probability; its duration is uniform from 0 to `longest_ns`.
struct BurstSpec {
  double share = 0;  // of the time that a readout is in bursts; 0: none
  DurationNs longest_ns = 3 * kSecond;
  std::uint32_t fragment_bytes = 150'000;  // in a burst
  std::uint32_t cut_off_slices = 0;        // above 0: only so many first and last slices of a burst are sent
};

// The fragments of all readouts, slice by slice. The same seed gives the same bursts.
class PushWorkload {
 public:
  PushWorkload(std::uint32_t readouts, std::uint32_t fragment_bytes, DurationNs slice_ns,
               const BurstSpec& bursts, std::uint64_t seed);

  struct Fragment {
    std::uint32_t bytes = 0;
    // An earlier slice: its fragment of this readout turned out to be in the middle of a burst and is not
    // sent.
    std::optional<std::uint32_t> cut_off;
  };
  // Requires: for each readout in order of slices, from 0.
  [[nodiscard]] Fragment next(std::uint32_t readout, std::uint32_t slice);
  // Returns how many readouts are in a burst in the slice of the last call for each of them.
  [[nodiscard]] std::uint32_t in_burst() const { return in_burst_; }
  // Returns the probability with which a burst begins at a slice.
  [[nodiscard]] double start_probability() const { return start_; }

 private:
  std::uint32_t fragment_bytes_;
  DurationNs slice_ns_;
  BurstSpec bursts_;
  double start_ = 0;
  Random random_;
  std::vector<std::uint32_t> left_;  // slices of the current burst, by readout
  shaping::BurstCutOff cut_off_;
  std::uint32_t in_burst_ = 0;
};

}  // namespace weir::packet_model
