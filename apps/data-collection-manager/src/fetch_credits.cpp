#include "fetch_credits.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <iterator>

namespace weir::dcm {

shaping::Credit FetchCredits::try_take(SliceId slice, Attempt attempt, shaping::Demand demand,
                                       TimeNs now_ns) {
  // A slice is fetched whole: it fits at least into an empty window.
  if (shaper_->strict())
    demand.fragments =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(demand.fragments, shaper_->window()));
  const shaping::Credit credit = shaper_->try_take(demand, now_ns);
  if (credit == shaping::Credit::granted) charges_.insert_or_assign({slice, attempt}, demand);
  return credit;
}

void FetchCredits::arrived(SliceId slice, Attempt attempt, std::uint64_t bytes, bool whole, TimeNs now_ns) {
  const auto found = charges_.find({slice, attempt});
  if (found == charges_.end()) return;
  shaping::Demand& rest = found->second;
  const std::uint64_t back = std::min(rest.bytes, bytes);
  rest.bytes -= back;
  if (back > 0) shaper_->arrived(rest.readout, back, now_ns);
  if (!whole) return;
  if (rest.fragments == 1) {
    end(found, now_ns);
    return;
  }
  WEIR_ASSERT(rest.fragments > 0);
  --rest.fragments;
  shaper_->answered(rest.readout, 1, 0, now_ns);
}

void FetchCredits::ended(SliceId slice, Attempt attempt, TimeNs now_ns) {
  const auto found = charges_.find({slice, attempt});
  if (found != charges_.end()) end(found, now_ns);
}

void FetchCredits::end_if(const std::function<bool(SliceId, Attempt)>& is_over, TimeNs now_ns) {
  for (auto charge = charges_.begin(); charge != charges_.end();)
    charge = is_over(charge->first.first, charge->first.second) ? end(charge, now_ns) : std::next(charge);
}

FetchCredits::Charges::iterator FetchCredits::end(Charges::iterator charge, TimeNs now_ns) {
  const shaping::Demand& rest = charge->second;
  shaper_->answered(rest.readout, rest.fragments, rest.bytes, now_ns);
  return charges_.erase(charge);
}

void FetchCredits::lost(std::uint32_t keeper) {
  shaper_->readout_lost(keeper);
  std::erase_if(charges_, [keeper](const auto& charge) { return charge.second.readout == keeper; });
}

}  // namespace weir::dcm
