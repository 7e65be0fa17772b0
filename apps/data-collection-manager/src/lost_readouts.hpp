#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace weir::dcm {

// The readouts that this DCM cannot reach, and the farm's verdict on them: readouts that are down for all
// DCMs are given up until they are no longer lost; readouts that other DCMs reach are waited for, and a DCM
// that is cut off returns its waiting slices. Pure.
class LostReadouts {
 public:
  explicit LostReadouts(std::uint32_t readouts) : readouts_(readouts) {}

  // `lost`: the readout is not connected, or silent.
  void set_lost(std::uint32_t readout, bool lost);
  void set_verdict(const std::vector<bool>& missing, bool cut_off);
  // Its connection is up: it is no longer given up.
  void connected(std::uint32_t readout) { readouts_[readout].given_up = false; }
  // It takes part in the run again: it is judged anew.
  void forget_verdict(std::uint32_t readout) {
    readouts_[readout].given_up = readouts_[readout].missing = false;
  }
  // It is missing for good, for now.
  void give_up(std::uint32_t readout) { readouts_[readout].given_up = true; }

  [[nodiscard]] const std::vector<std::uint32_t>& all() const { return lost_; }
  [[nodiscard]] bool is_given_up(std::uint32_t readout) const { return readouts_[readout].given_up; }
  [[nodiscard]] bool any_given_up() const;
  [[nodiscard]] bool is_to_be_given_up(std::uint32_t readout) const {
    return readouts_[readout].lost && readouts_[readout].missing && !readouts_[readout].given_up;
  }
  // True if its fragments may still arrive.
  [[nodiscard]] bool is_waited_for(std::uint32_t readout) const {
    return readouts_[readout].lost && !readouts_[readout].given_up;
  }

  // A slice wants something that it did not.
  void note_work() { may_strand_ = true; }
  // This DCM is cut off, and there may be slices that wait for a lost readout and were not found yet.
  [[nodiscard]] bool take_look() { return cut_off_ && std::exchange(may_strand_, false); }

 private:
  struct Readout {
    bool lost = false;     // not connected, or silent
    bool missing = false;  // when it is lost
    bool given_up = false;
  };
  std::vector<Readout> readouts_;
  std::vector<std::uint32_t> lost_;
  bool cut_off_ = false;
  bool may_strand_ = false;
};

}  // namespace weir::dcm
