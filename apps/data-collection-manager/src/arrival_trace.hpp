#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::dcm {

// Records when the bytes of some slices arrived, for plots: dcm.trace_slices. Costs a comparison if it is
// off. Arrivals beyond kArrivalsMax are counted and dropped.
class ArrivalTrace {
 public:
  static constexpr std::size_t kArrivalsMax = std::size_t{1} << 20;

  // Records the first `slices` slices with a first request at or after `from_ns`.
  void start(std::size_t slices, TimeNs from_ns);
  [[nodiscard]] bool on() const { return slices_max_ > 0; }
  // `bytes` of frames, headers included.
  void arrived(const assembly::BuiltSlice& slice, std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns);

  // A line per arrival, after a heading: slice, readout's index, us since the slice's first request, bytes.
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Arrival {
    std::uint64_t slice = 0;
    std::uint32_t readout = 0;
    DurationNs after_ns = 0;
    std::uint64_t bytes = 0;
  };

  std::size_t slices_max_ = 0;
  TimeNs from_ns_ = 0;
  std::vector<std::uint64_t> slices_;
  std::vector<Arrival> arrivals_;
  std::uint64_t left_out_ = 0;
};

}  // namespace weir::dcm
