#pragma once

#include "hit_run.hpp"
#include "run_scan.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace coincidence {

// Finds the level-1 coincidences of a floor as the README defines them: sorts all of its hits by time and
// walks through them. The reference, and the faster way where most hits are in coincidences.
class MergeSearch {
 public:
  explicit MergeSearch(double pair_window_ns) : window_ns_(pair_window_ns) {}

  // Appends the coincidences of floor `floor` to `level1`, ascending in time.
  void find(std::span<const HitRun> runs, std::uint32_t floor, Level1List& level1);

 private:
  void merge_runs();

  double window_ns_;
  std::vector<PackedHit> hits_;  // sorted runs
  std::vector<PackedHit> scratch_;
  std::vector<std::size_t> starts_;  // of the runs in hits_
};

// The same without sorting, for floors where coincidences are rare. Each hit marks its bucket of time; a hit
// with a mark of another source within the window, or a neighbour in its own run, is a candidate: one of
// every chain of hits is, and one of a hundred others. Only the surroundings of candidates are put in order.
class BucketSearch {
 public:
  BucketSearch(double pair_window_ns, RunScan scan);

  // Appends what MergeSearch::find() appends, in the same order. Returns false, with nothing appended, if a
  // run has a waveform or is not ascending (`bad_run()` is its index), or if most hits are candidates
  // (`bad_run()` is runs.size()).
  [[nodiscard]] bool find(std::span<const HitRun> runs, std::uint32_t floor, Level1List& level1);
  [[nodiscard]] std::size_t bad_run() const { return bad_run_; }

 private:
  // The times of a run, and the part of it that belongs to the chain under construction.
  struct Times {
    const std::uint32_t* times = nullptr;
    std::uint32_t count = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  struct Candidate {
    std::uint32_t time_ns = 0;
    std::uint32_t index = 0;  // in candidates_
  };

  [[nodiscard]] bool read_times(std::span<const HitRun> runs);
  void clear_buckets();
  void collect_candidates();
  void keep_candidates_with_neighbours();
  std::uint32_t collect_chain(const Candidate& candidate);
  void append_chain(std::span<const HitRun> runs, std::uint32_t floor, Level1List& level1);

  double window_ns_;
  std::uint32_t whole_window_ns_;
  RunScan scan_;
  std::size_t bad_run_ = 0;
  std::vector<std::uint32_t> times_;
  std::vector<Times> runs_;
  std::vector<std::uint32_t> words_;
  TimeBuckets buckets_;
  std::vector<std::uint32_t> candidates_;
  std::size_t candidate_count_ = 0;
  std::vector<std::uint32_t>
      positions_;  // of each candidate in each run: the first hit that is not before it
  std::vector<std::uint32_t>
      within_window_;  // hits near each candidate, itself included; more than two per run are not counted
  std::vector<Candidate> kept_;
  std::vector<PackedHit> chain_;
};

}  // namespace coincidence
