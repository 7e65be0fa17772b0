#include "plane_choice.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>

namespace weir::dcm {

PlaneChoice::PlaneChoice(const PlaneSettings& settings)
    : settings_(settings), plane_(settings.home), hearings_(settings.planes * settings.readouts) {
  WEIR_ASSERT(settings.planes > 0 && settings.home < settings.planes && settings.misses > 0);
}

std::optional<PlaneChoice::Move> PlaneChoice::beat(TimeNs now_ns) {
  for (std::size_t readout = 0; readout < settings_.readouts; ++readout) count(readout);
  if (is_home() || !home_is_as_good()) {
    home_good_ns_.reset();
  } else if (!home_good_ns_) {
    home_good_ns_ = now_ns;
  }
  return may_move(now_ns) ? move_if_due(now_ns) : std::nullopt;
}

std::optional<PlaneChoice::Move> PlaneChoice::carriers_lost(const std::vector<std::size_t>& planes,
                                                            TimeNs now_ns) {
  for (const std::size_t plane : planes) {
    WEIR_ASSERT(plane < settings_.planes);
    for (std::size_t readout = 0; readout < settings_.readouts; ++readout)
      at(static_cast<std::uint32_t>(plane), readout) = {false, settings_.misses, settings_.misses};
    if (plane == settings_.home) home_good_ns_.reset();
  }
  return may_move(now_ns) || planted(Planted::rush_carrier) ? move_if_due(now_ns) : std::nullopt;
}

std::optional<PlaneChoice::Move> PlaneChoice::move_if_due(TimeNs now_ns) {
  const auto move = choose(now_ns);
  if (!move) return std::nullopt;
  WEIR_ASSERT(move->to < settings_.planes && move->to != plane_);
  broken_hold_ = broken_hold_ || (moved_ns_ && now_ns - *moved_ns_ < settings_.hold_ns);
  plane_ = move->to;
  moved_ns_ = now_ns;
  home_good_ns_.reset();
  ++moves_;
  return move;
}

// Forgets the misses of a readout that no plane hears: it may have ended.
void PlaneChoice::count(std::size_t readout) {
  std::uint32_t hearing = 0;
  bool all_silent = true;
  for (std::uint32_t plane = 0; plane < settings_.planes; ++plane) {
    Hearing& here = at(plane, readout);
    if (here.fresh) ++hearing;
    here.silent = here.fresh ? 0 : std::min(here.silent + 1, settings_.misses);
    all_silent = all_silent && here.silent >= settings_.misses;
  }
  for (std::uint32_t plane = 0; plane < settings_.planes; ++plane) {
    Hearing& here = at(plane, readout);
    if (here.fresh || all_silent) {
      here.missed = 0;
    } else if (hearing > 0) {
      here.missed = std::min(here.missed + 1, settings_.misses);
    }
    here.fresh = false;
  }
}

std::size_t PlaneChoice::lacking(std::uint32_t plane) const {
  std::size_t lacking = 0;
  for (std::size_t readout = 0; readout < settings_.readouts; ++readout)
    lacking += lacks(plane, readout) ? 1 : 0;
  return lacking;
}

bool PlaneChoice::home_is_as_good() const {
  bool hears_any = false;
  for (std::size_t readout = 0; readout < settings_.readouts; ++readout) {
    const bool home_hears = !is_silent(settings_.home, readout);
    if (lacks(settings_.home, readout) || (!home_hears && !is_silent(plane_, readout))) return false;
    hears_any = hears_any || home_hears;
  }
  return hears_any;
}

bool PlaneChoice::misses_nothing(std::uint32_t plane) const {
  for (std::size_t readout = 0; readout < settings_.readouts; ++readout) {
    if (at(plane, readout).missed > 0) return false;
  }
  return true;
}

bool PlaneChoice::may_move(TimeNs now_ns) const {
  return !moved_ns_ || now_ns - *moved_ns_ >= settings_.hold_ns || planted(Planted::move_again);
}

std::optional<PlaneChoice::Move> PlaneChoice::choose(TimeNs now_ns) const {
  const std::size_t here = lacking(plane_);
  std::uint32_t best = plane_;
  std::size_t fewest = here;
  for (std::uint32_t step = 0; here > 0 && step < settings_.planes; ++step) {
    const std::uint32_t plane = (settings_.turn + step) % settings_.planes;
    const std::size_t there = lacking(plane);
    if (there >= fewest) continue;
    best = plane;
    fewest = there;
  }
  if (best != plane_) return Move{plane_, best, here};
  const bool returns =
      home_good_ns_ && now_ns - *home_good_ns_ >= settings_.hold_ns && misses_nothing(settings_.home);
  return returns ? std::optional(Move{plane_, settings_.home, 0}) : std::nullopt;
}

bool PlaneChoice::is_deciding(std::size_t readout, TimeNs now_ns) const {
  const DurationNs bound_ns = settings_.period_ns * settings_.misses;
  if (moved_ns_ && now_ns - *moved_ns_ < bound_ns) return !is_silent(plane_, readout);
  return may_move(now_ns) && at(plane_, readout).missed > 0 && !lacks(plane_, readout);
}

}  // namespace weir::dcm
