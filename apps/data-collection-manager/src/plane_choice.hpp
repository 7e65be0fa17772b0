#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::dcm {

struct PlaneSettings {
  std::uint32_t planes = 0;
  std::uint32_t home = 0;  // the plane of this DCM (Jereczek 2017, algorithm 6.1)
  std::uint32_t turn = 0;  // of the search for another one: DCMs of one plane spread over the others
  std::size_t readouts = 0;
  DurationNs period_ns = 0;  // between two beats
  std::uint32_t misses = 0;
  DurationNs hold_ns = 0;
};

// Chooses the plane through which a DCM receives (Jereczek 2017, algorithm 6.2, for this DCM alone).
//
// Inputs: which readouts were heard through which plane, lost carriers, and a beat in each period, when all
// readouts are probed. A readout misses a beat in a plane if nothing of it came through this plane since the
// last beat and something came through another one. So a plane that is slow, a readout that is stopped, and a
// DCM that did not run miss nothing. A plane lacks a readout that has missed `misses` beats in succession.
//
// A plane to which this host has no carrier left lacks all readouts at once. Its return alone says nothing.
//
// A DCM leaves its plane if another one lacks fewer readouts. It returns to its home when the home has heard
// every readout that the present plane hears, for hold_ns. Two moves are hold_ns apart. Pure.
class PlaneChoice {
 public:
  explicit PlaneChoice(const PlaneSettings& settings);

  // Something of this readout arrived through this plane.
  void heard(std::uint32_t plane, std::size_t readout) { at(plane, readout).fresh = true; }

  struct Move {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::size_t lacking = 0;  // readouts that `from` lacked; 0: the DCM returns
  };
  // To be called once per period. Returns the move that is due.
  [[nodiscard]] std::optional<Move> beat(TimeNs now_ns);
  // The links of this host to these planes have lost their carriers. Returns the move that is due.
  [[nodiscard]] std::optional<Move> carriers_lost(const std::vector<std::size_t>& planes, TimeNs now_ns);

  [[nodiscard]] std::uint32_t plane() const { return plane_; }
  [[nodiscard]] bool is_home() const { return plane_ == settings_.home; }
  // True if the plane lacks this readout, which another one has heard.
  [[nodiscard]] bool lacks(std::uint32_t plane, std::size_t readout) const {
    return at(plane, readout).missed >= settings_.misses;
  }
  // True if nothing has come from this readout through this plane for `misses` beats.
  [[nodiscard]] bool is_silent(std::uint32_t plane, std::size_t readout) const {
    return at(plane, readout).silent >= settings_.misses;
  }
  // True while a lost readout is not the farm's business: the DCM is about to move to a plane that reaches
  // it, or has just moved there and connects.
  [[nodiscard]] bool is_deciding(std::size_t readout, TimeNs now_ns) const;
  // True if two moves were less than hold_ns apart.
  [[nodiscard]] bool has_broken_hold() const { return broken_hold_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

 private:
  struct Hearing {
    bool fresh = false;        // since the last beat
    std::uint32_t missed = 0;  // beats in succession in which another plane heard the readout
    std::uint32_t silent = 0;  // beats in succession
  };
  [[nodiscard]] Hearing& at(std::uint32_t plane, std::size_t readout) {
    return hearings_[plane * settings_.readouts + readout];
  }
  [[nodiscard]] const Hearing& at(std::uint32_t plane, std::size_t readout) const {
    return hearings_[plane * settings_.readouts + readout];
  }
  void count(std::size_t readout);
  std::optional<Move> move_if_due(TimeNs now_ns);
  [[nodiscard]] std::size_t lacking(std::uint32_t plane) const;
  [[nodiscard]] bool home_is_as_good() const;
  [[nodiscard]] bool misses_nothing(std::uint32_t plane) const;
  [[nodiscard]] bool may_move(TimeNs now_ns) const;
  [[nodiscard]] std::optional<Move> choose(TimeNs now_ns) const;

  PlaneSettings settings_;
  std::uint32_t plane_;
  std::vector<Hearing> hearings_;  // by plane, then by readout
  std::optional<TimeNs> moved_ns_;
  std::optional<TimeNs> home_good_ns_;  // since when the home could be returned to
  std::uint64_t moves_ = 0;
  bool broken_hold_ = false;
};

}  // namespace weir::dcm
