#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/shaping/shaper.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

namespace weir::dcm {

// The credit of slices that are being fetched from other DCMs: one request of the shaper for each slice.
// Pure.
class FetchCredits {
 public:
  // `shaper`: its readouts are the DCMs that keep slices.
  explicit FetchCredits(std::unique_ptr<shaping::Shaper> shaper) : shaper_(std::move(shaper)) {}

  // `demand.readout`: the DCM that keeps the slice. Requires: the slice has no credit.
  [[nodiscard]] shaping::Credit try_take(SliceId slice, Attempt attempt, shaping::Demand demand,
                                         TimeNs now_ns);
  // A frame of the slice has arrived, with the end of a fragment or not. Ignored if the slice has no credit.
  void arrived(SliceId slice, Attempt attempt, std::uint64_t bytes, bool whole, TimeNs now_ns);
  // Nothing more of the slice is awaited from its DCM.
  void ended(SliceId slice, Attempt attempt, TimeNs now_ns);
  // The same of every slice of which this is true.
  void end_if(const std::function<bool(SliceId, Attempt)>& is_over, TimeNs now_ns);
  // The connection to this DCM is lost.
  void lost(std::uint32_t keeper);
  // Returns when a refused request may be repeated although nothing arrives.
  [[nodiscard]] TimeNs next_ns() const { return shaper_->next_ns(); }
  [[nodiscard]] std::uint64_t outstanding() const { return shaper_->outstanding(); }

 private:
  using Charges = std::map<std::pair<SliceId, Attempt>, shaping::Demand>;  // what has not arrived
  Charges::iterator end(Charges::iterator charge, TimeNs now_ns);

  std::unique_ptr<shaping::Shaper> shaper_;
  Charges charges_;
};

}  // namespace weir::dcm
