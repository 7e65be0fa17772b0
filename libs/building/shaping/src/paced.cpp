#include "paced.hpp"

#include <algorithm>
#include <cmath>

namespace weir::shaping {

Paced::Paced(const ShaperSettings& settings)
    : accounts_(settings.readouts),
      buckets_(settings.pace_pairs ? std::max(1U, settings.readouts) : 1),
      rate_(static_cast<double>(std::max<std::uint64_t>(1, settings.bytes_per_s)) /
            static_cast<double>(kSecond) / static_cast<double>(buckets_.size())),
      burst_(static_cast<double>(settings.burst_bytes) / static_cast<double>(buckets_.size())),
      piece_bytes_(settings.range_bytes > 0 ? settings.range_bytes
                                            : std::max<std::uint64_t>(1, settings.burst_bytes / 2)) {
  for (Bucket& bucket : buckets_) bucket.tokens = burst_;
}

Paced::Bucket& Paced::bucket_of(std::uint32_t readout, TimeNs now_ns) {
  Bucket& bucket = buckets_[buckets_.size() == 1 ? 0 : readout];
  if (now_ns > bucket.at_ns) {
    bucket.tokens = std::min(burst_, bucket.tokens + rate_ * static_cast<double>(now_ns - bucket.at_ns));
    bucket.at_ns = now_ns;
  }
  return bucket;
}

Credit Paced::try_take(const Demand& demand, TimeNs now_ns) {
  if (next_ns_ <= now_ns) next_ns_ = kNever;
  const Bucket& bucket = bucket_of(demand.readout, now_ns);
  if (bucket.tokens < 0) {
    next_ns_ = std::min(next_ns_, now_ns + static_cast<DurationNs>(std::ceil(-bucket.tokens / rate_)));
    return buckets_.size() == 1 ? Credit::full : Credit::readout_full;
  }
  take(demand, now_ns);
  return Credit::granted;
}

void Paced::take(const Demand& demand, TimeNs now_ns) {
  const std::uint64_t charge = demand.bytes > 0 ? demand.bytes : piece_bytes_;
  bucket_of(demand.readout, now_ns).tokens -= static_cast<double>(charge);
  accounts_.take(demand.readout, demand.fragments, charge);
}

void Paced::arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs) {
  accounts_.give_back(readout, bytes);
}

void Paced::answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes, TimeNs now_ns) {
  // Refunds the unused part of a charge that was larger than the answer.
  Bucket& bucket = bucket_of(readout, now_ns);
  bucket.tokens = std::min(burst_, bucket.tokens + static_cast<double>(bytes));
  accounts_.give_back(readout, bytes);
  accounts_.answered(readout, fragments);
}

}  // namespace weir::shaping
