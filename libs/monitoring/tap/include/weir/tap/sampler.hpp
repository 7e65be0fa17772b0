#pragma once

#include <weir/base/time.hpp>
#include <weir/tap/sample.hpp>
#include <weir/tap/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::tap {

struct SamplerSettings {
  std::uint64_t bytes_per_s = 0;  // mean rate of all samples; a second's unused rate is forgotten
  std::uint64_t sample_bytes_max = 0;
  std::size_t taps_max = 0;
};

struct SampleRequest {
  const TapStream* stream = nullptr;
  std::string tag;                     // under which its samples are published
  std::uint32_t every = 1;             // at least 1
  std::vector<std::uint32_t> sources;  // sorted; empty: all
};

struct Tap {
  SampleRequest request;
  TimeNs until_ns = 0;
  SampleHead head;  // of the next sample
};

struct SamplerCounts {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // of them
  std::uint64_t dropped_rate = 0;
  std::uint64_t dropped_too_large = 0;
  std::uint64_t dropped_bus = 0;  // the bus was unreachable, or its queue full
  std::uint64_t refused = 0;      // requests beyond taps_max
};

// Selects the slices of a DCM that are sampled for each tap. Pure. The order of calls for each slice: due(),
// then for each of its taps may_make(), may_send(), and sent().
class Sampler {
 public:
  // `seed`: samplers with different seeds have different numberings.
  Sampler(SamplerSettings settings, std::uint64_t seed) : settings_(settings), seed_(seed) {}

  // A tap lasts until `lease` after its last request. Returns false if it is refused, which is counted.
  bool renew(SampleRequest request, DurationNs lease, TimeNs now);
  void end(const std::string& tag);
  void expire(TimeNs now);
  [[nodiscard]] bool is_empty() const { return taps_.empty(); }

  // Counts a slice, raw or accepted into these streams, and appends the taps for which it is sampled. The
  // pointers are valid until the next renew(), end() or expire().
  void due_raw(std::vector<Tap*>& out);
  void due_accepted(std::uint64_t streams, std::vector<Tap*>& out);
  // Returns whether any rate is left. A sample may exceed it; later ones wait until that is paid.
  [[nodiscard]] bool may_make(Tap& tap, TimeNs now);
  [[nodiscard]] bool may_send(Tap& tap, std::uint64_t bytes);
  // `taken`: the bus accepted it.
  void sent(Tap& tap, std::uint64_t bytes, bool taken);

  [[nodiscard]] const SamplerCounts& counts() const { return counts_; }

 private:
  void pass_by(Tap& tap, std::vector<Tap*>& out) const;
  void drop(Tap& tap, std::uint64_t& reason);

  SamplerSettings settings_;
  std::uint64_t seed_;
  std::uint64_t numberings_ = 0;
  std::vector<std::unique_ptr<Tap>> taps_;
  std::int64_t credit_ = 0;  // bytes, times a second in ns
  TimeNs credit_ns_ = 0;     // time of the last update
  bool credited_ = false;
  SamplerCounts counts_;
};

}  // namespace weir::tap
