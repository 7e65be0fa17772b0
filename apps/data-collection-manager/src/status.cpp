#include "status.hpp"

#include <weir/base/held_up.hpp>

namespace weir::dcm {
namespace {

using slice_rows::HoldReason;

// Most credits are in the filter; nearly all of the memory is in use.
constexpr std::size_t kMost = 3;
constexpr std::size_t kMostParts = 4;
constexpr std::size_t kFull = 7;
constexpr std::size_t kFullParts = 8;

}  // namespace

HoldReason what_holds_up(const Workload& load) {
  if (load.held_back > 0) return HoldReason::writer_too_slow;
  if (load.with_filter > load.units && kMostParts * load.with_filter >= kMost * load.credits)
    return HoldReason::filter_too_slow;
  if (kFullParts * load.bytes_used >= kFull * load.bytes_total) return HoldReason::dcm_buffer_full;
  return HoldReason::none;
}

std::string status_of(const RunPhases& course, const Workload& load, const std::string& name) {
  if (course.is_ending()) return "ending";
  if (!course.has_begun()) return "ready";
  const HoldReason reason = what_holds_up(load);
  return reason == HoldReason::none ? "running"
                                    : held_up_state(Hold::blocked, slice_rows::name(reason), name);
}

}  // namespace weir::dcm
