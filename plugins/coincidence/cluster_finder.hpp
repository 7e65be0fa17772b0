#pragma once

#include "geometry.hpp"
#include "level1_search.hpp"
#include <weir/base/bytes.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace coincidence {

// How level-1 coincidences are found. All three find the same.
enum class Search {
  vector,     // BucketSearch with the vector instructions of the CPU
  scalar,     // BucketSearch without
  reference,  // MergeSearch
};

struct FinderSettings {
  double pair_window_ns = 20;   // between two hits of a level-1 coincidence
  double extra_window_ns = 20;  // on top of the light's way between two floors: scattering, size of a floor
  std::uint32_t minimum = 0;    // floors of a cluster; 0: choose_minimum()
  // For choose_minimum() only:
  double background_hz = 70e3;              // single hits per module
  double accidentals_per_slice_max = 5e-3;  // clusters that background alone may make
  double slice_ns = 10e6;
  Search search = Search::vector;
};

// The least number of floors at which background alone makes fewer clusters than the settings allow, at
// least 2. An upper bound of the accidental rate, sum over floors of R x (mean number of other floors'
// level-1 hits that are causally connected with one)^(n-1) / (n-1)!, with R the accidental level-1 rate of a
// floor: it takes hits that are connected with one as connected with each other.
[[nodiscard]] std::uint32_t choose_minimum(const Geometry& geometry, const FinderSettings& settings);

struct FoundHit {
  std::uint32_t source = 0;
  std::uint32_t time_ns = 0;  // from the beginning of the slice
  std::uint8_t channel = 0;
  std::uint8_t tot_ns = 0;
};

// Hits on different floors, every two of them causally connected. Hits `first_hit` and on of
// ClusterFinder::hits().
struct Cluster {
  std::uint32_t floors = 0;
  std::uint32_t first_hit = 0;
  std::uint32_t hit_count = 0;  // sorted by time
};

// Level-1 coincidences (hits of different modules of one floor within pair_window_ns) and clusters of them
// that can come from one track: between any two, |dt| <= distance / (speed of light in water) +
// extra_window_ns. Time is proportional to the hits, memory is kept from slice to slice. One thread.
class ClusterFinder {
 public:
  ClusterFinder(Geometry geometry, const FinderSettings& settings);

  // A new slice.
  void clear();
  // Adds all hits of one source, in the format of weir/hits.hpp. Ignores sources outside the geometry.
  // Requires: the bytes stay valid until find() returns.
  void add(std::uint32_t source, weir::ConstBytes fragment);
  // Returns the clusters of the added hits, in the order of their first level-1 coincidence. Valid until
  // clear().
  [[nodiscard]] std::span<const Cluster> find();
  [[nodiscard]] std::span<const FoundHit> hits() const { return found_hits_; }

  [[nodiscard]] std::uint32_t minimum() const { return settings_.minimum; }
  // Of the slice, after find():
  [[nodiscard]] std::uint64_t hit_count() const { return hit_count_; }  // all sources
  [[nodiscard]] std::uint64_t level1_count() const { return level1_.found.size(); }
  [[nodiscard]] std::uint64_t malformed_count() const { return malformed_count_; }  // damaged fragments

 private:
  struct Input {
    weir::ConstBytes fragment;
    const SourcePlace* source = nullptr;
    std::uint32_t place = 0;  // on the floor
  };
  struct Floor {
    std::vector<Input> inputs;
    std::vector<std::uint32_t> sources;
  };

  void find_level1(std::uint32_t floor_index);
  void rewrite(const Input& input, std::size_t index);
  void sort_level1();
  [[nodiscard]] bool connected(const Level1& a, const Level1& b) const;
  void collect_candidates(std::size_t seed);
  void reduce_to_clique();
  [[nodiscard]] std::uint32_t count_floors();
  void append_cluster(std::uint32_t floors);

  Geometry geometry_;
  FinderSettings settings_;
  std::vector<float> reach_ns_;  // floors x floors: largest |dt| that is causal
  double reach_max_ns_ = 0;

  std::vector<Floor> floors_;
  std::vector<std::uint32_t> place_on_floor_;  // of geometry_.sources[i], index into Floor::sources
  MergeSearch merge_search_;
  BucketSearch bucket_search_;
  std::vector<HitRun> runs_;                       // of the floor under search
  std::vector<std::vector<std::byte>> rewritten_;  // the hits of runs_[i], if not those of its fragment
  std::vector<PackedHit> packed_;
  std::uint64_t hit_count_ = 0;
  std::uint64_t malformed_count_ = 0;
  std::size_t next_source_ = 0;  // in geometry_.sources, after the last added
  Level1List level1_;
  std::vector<std::uint64_t> order_;
  std::vector<Level1> sorted_;
  std::vector<std::size_t> candidates_;
  std::vector<std::uint32_t> partners_;
  std::vector<std::uint32_t> floors_seen_;
  std::vector<FoundHit> found_hits_;
  std::vector<Cluster> clusters_;
};

}  // namespace coincidence
