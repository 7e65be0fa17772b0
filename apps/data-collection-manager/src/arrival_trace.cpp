#include "arrival_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weir::dcm {

void ArrivalTrace::start(std::size_t slices, TimeNs from_ns) {
  slices_max_ = slices;
  from_ns_ = from_ns;
}

void ArrivalTrace::arrived(const assembly::BuiltSlice& slice, std::uint32_t readout, std::uint64_t bytes,
                           TimeNs now_ns) {
  if (slice.first_request_ns < from_ns_) return;
  const std::uint64_t id = slice.id().value;
  if (std::find(slices_.begin(), slices_.end(), id) == slices_.end()) {
    if (slices_.size() == slices_max_) return;
    slices_.push_back(id);
  }
  if (arrivals_.size() == kArrivalsMax) {
    ++left_out_;
    return;
  }
  arrivals_.push_back({id, readout, now_ns - slice.first_request_ns, bytes});
}

std::string ArrivalTrace::csv() const {
  std::string text = "slice,readout,us,bytes\n";
  for (const Arrival& arrival : arrivals_) {
    fmt::format_to(std::back_inserter(text), "{},{},{:.3f},{}\n", arrival.slice, arrival.readout,
                   static_cast<double>(arrival.after_ns) / kMicrosecond, arrival.bytes);
  }
  return text;
}

}  // namespace weir::dcm
