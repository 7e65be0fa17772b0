#pragma once

#include <cstddef>
#include <cstdint>

namespace coincidence {

// One bit per bucket of time on a floor: set where a hit was marked. `words` has a word more than the last
// bucket needs.
struct TimeBuckets {
  std::uint32_t* words = nullptr;
  std::uint32_t shift = 0;  // a bucket has 2^shift ns, at least twice the pair window
};

// The loops over all hits of a run, which take nearly all of the trigger's time. Each exists as plain C++ and
// for the vector instructions of the CPU; both give the same results.
struct RunScan {
  // Writes the times of `count` hits to `times`. Returns false if a hit has a waveform or a time is less than
  // the one before; `times` is then unspecified.
  bool (*read_times)(const std::byte* hits, std::uint32_t count, std::uint32_t* times);

  // Writes the times that may belong to a chain of two hits or more: the next time of the run, or a bucket
  // marked before, is within `window_ns`. Returns the end of the written values; `candidates` has room for
  // count + 1. `buckets.words` may be null: nothing is marked yet.
  std::uint32_t* (*find_candidates)(const std::uint32_t* times, std::uint32_t count, std::uint32_t window_ns,
                                    const TimeBuckets& buckets, std::uint32_t* candidates);
};

[[nodiscard]] RunScan scalar_scan();
// Returns the loops for this CPU, or the scalar ones in a build without Highway.
[[nodiscard]] RunScan vector_scan();

// Sets the buckets of `times`.
void mark_buckets(const std::uint32_t* times, std::uint32_t count, const TimeBuckets& buckets);

}  // namespace coincidence
