#pragma once

#include "window.hpp"

#include <vector>

namespace weir::shaping {

class Paced final : public Shaper {
 public:
  explicit Paced(const ShaperSettings& settings);

  Credit try_take(const Demand& demand, TimeNs now_ns) override;
  void take(const Demand& demand, TimeNs now_ns) override;
  void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) override;
  void answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes, TimeNs now_ns) override;
  void readout_lost(std::uint32_t readout) override { accounts_.lost(readout); }
  std::uint64_t piece_bytes() const override { return piece_bytes_; }
  TimeNs next_ns() const override { return next_ns_; }
  std::uint64_t outstanding() const override { return accounts_.taken(); }
  std::uint64_t window() const override { return 0; }

 private:
  // Fills at the given rate up to the burst. A request is granted if the bucket is not in debt, and may put
  // it into debt, so that pieces larger than the burst are granted and paid for later.
  struct Bucket {
    double tokens = 0;  // bytes
    TimeNs at_ns = 0;
  };
  Bucket& bucket_of(std::uint32_t readout, TimeNs now_ns);

  Accounts accounts_;
  std::vector<Bucket> buckets_;  // one, or one per readout
  double rate_;                  // bytes per ns, of each bucket
  double burst_;
  std::uint64_t piece_bytes_;
  TimeNs next_ns_ = kNever;
};

}  // namespace weir::shaping
