#pragma once

#include "record.hpp"
#include <weir/assembly/built_slice.hpp>
#include <weir/node/node.hpp>
#include <weir/tap/sampler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::v1 {
class Report;
class TapWish;
}  // namespace weir::v1

namespace weir::dcm {

struct SliceSamplesSettings {
  std::string self;  // name of this DCM
  std::uint64_t incarnation;
  node::SampleSink* sink;  // null: no samples
  tap::SamplerSettings sampler;
  RecordContext record;
};

// Samples of slices for clients of the bus: records made when a slice is complete and when it is confirmed.
// Makes none without a sink.
class SliceSamples {
 public:
  explicit SliceSamples(const SliceSamplesSettings& settings);

  void wish(const v1::TapWish& wish, TimeNs now_ns);
  void expire(TimeNs now_ns) {
    if (!sampler_.is_empty()) sampler_.expire(now_ns);
  }
  // The slice is complete, or past its deadline, and unfiltered.
  void complete(const assembly::BuiltSlice& slice, TimeNs now_ns) {
    if (!sampler_.is_empty()) sample_raw(slice, now_ns);
  }
  // Confirmed for the first time.
  void accepted(const assembly::BuiltSlice& slice, StoreEpoch epoch, TimeNs now_ns) {
    if (!sampler_.is_empty()) sample_accepted(slice, epoch, now_ns);
  }
  void add_to(v1::Report& report) const;

 private:
  void sample_raw(const assembly::BuiltSlice& slice, TimeNs now_ns);
  void sample_accepted(const assembly::BuiltSlice& slice, StoreEpoch epoch, TimeNs now_ns);
  void sample(const assembly::BuiltSlice& slice, StoreEpoch epoch, bool undecided, TimeNs now_ns);

  SliceSamplesSettings settings_;
  tap::Sampler sampler_;
  std::vector<tap::Tap*> due_;
  std::vector<std::byte> sample_;
};

}  // namespace weir::dcm
