#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_job/job.hpp>
#include <weir/weir_filter.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace weir::filter_host {

using filter_job::AlertRequest;
using filter_job::EventSpan;
using filter_job::FilterResult;
using filter_job::Job;
using filter_job::Keep;
using filter_job::StepVerdict;

struct RunInfo {
  RunNumber run;
  UtcNs start_time = 0;
  std::vector<std::uint32_t> sources;  // masked ones left out, sorted
};

// A view with its sizes set, no fragments and no state.
[[nodiscard]] inline weir_filter_slice empty_slice() {
  weir_filter_slice slice{};
  slice.struct_size = sizeof slice;
  slice.fragment_stride = sizeof(weir_filter_fragment);
  return slice;
}

// Owns a filter's state of one slice between steps. Give raw() to the view; it must not move while a
// job of the slice is under way. Must be gone before the plugin is.
class KeptState {
 public:
  KeptState() = default;
  KeptState(KeptState&& other) noexcept : raw_(std::exchange(other.raw_, {})) {}
  KeptState& operator=(KeptState&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, {});
    }
    return *this;
  }
  ~KeptState() { reset(); }

  [[nodiscard]] weir_filter_state* raw() { return &raw_; }
  void reset() noexcept {
    const weir_filter_state old = std::exchange(raw_, {});
    if (old.destroy != nullptr) old.destroy(old.data);
  }

 private:
  weir_filter_state raw_{};
};

}  // namespace weir::filter_host
