#include "cluster_finder.hpp"

#include <weir/hits.hpp>

#include <algorithm>
#include <cmath>

namespace coincidence {
namespace {

constexpr double kNsPerS = 1e9;
constexpr std::uint64_t kTimeMax = UINT32_MAX;  // ns from the slice's start

// Level-1 coincidences examined together; the cost per coincidence grows with the square. A window of a
// detector of 900 modules holds one or two, a bright track about ten.
constexpr std::size_t kCandidatesMax = 256;

double reach(const Geometry& geometry, std::size_t a, std::size_t b, double extra_ns) {
  const double distance = weir::emulation::length(geometry.floors[a] - geometry.floors[b]);
  return distance / weir::emulation::kWaterSpeedOfLight + extra_ns;
}

// Level-1 rate per ns of a floor with `modules` modules from background alone.
double level1_rate(std::size_t modules, const FinderSettings& settings) {
  const double single = settings.background_hz / kNsPerS;
  const double pairs = 0.5 * static_cast<double>(modules) * (static_cast<double>(modules) - 1);
  return pairs * 2 * settings.pair_window_ns * single * single;
}

RunScan scan_for(Search search) { return search == Search::vector ? vector_scan() : scalar_scan(); }

}  // namespace

std::uint32_t choose_minimum(const Geometry& geometry, const FinderSettings& settings) {
  std::vector<std::size_t> modules(geometry.floors.size());
  for (const SourcePlace& place : geometry.sources)
    modules[place.floor] += std::max(place.channels, std::uint32_t{1});
  const auto count = static_cast<std::uint32_t>(geometry.floors.size());
  std::vector<double> partners(
      count);  // other floors' level-1 hits that are connected with one of this floor
  for (std::uint32_t a = 0; a < count; ++a) {
    for (std::uint32_t b = 0; b < count; ++b) {
      if (a == b) continue;
      partners[a] += 2 * reach(geometry, a, b, settings.extra_window_ns) * level1_rate(modules[b], settings);
    }
  }
  std::vector<double> accidentals(count);  // per floor, for n floors; n = 1 is the level-1 rate itself
  for (std::uint32_t a = 0; a < count; ++a)
    accidentals[a] = level1_rate(modules[a], settings) * settings.slice_ns;
  for (std::uint32_t n = 2; n < count; ++n) {
    double sum = 0;
    for (std::uint32_t a = 0; a < count; ++a) sum += accidentals[a] *= partners[a] / (n - 1);
    if (sum <= settings.accidentals_per_slice_max) return n;
  }
  return std::max(count, std::uint32_t{2});
}

ClusterFinder::ClusterFinder(Geometry geometry, const FinderSettings& settings)
    : geometry_(std::move(geometry)),
      settings_(settings),
      floors_(geometry_.floors.size()),
      merge_search_(settings.pair_window_ns),
      bucket_search_(settings.pair_window_ns, scan_for(settings.search)) {
  if (settings_.minimum == 0) settings_.minimum = choose_minimum(geometry_, settings_);
  const std::size_t count = geometry_.floors.size();
  reach_ns_.resize(count * count);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      const double ns = reach(geometry_, a, b, settings_.extra_window_ns);
      reach_ns_[a * count + b] = static_cast<float>(ns);
      reach_max_ns_ = std::max(reach_max_ns_, ns);
    }
  }
  for (const SourcePlace& place : geometry_.sources) {
    place_on_floor_.push_back(static_cast<std::uint32_t>(floors_[place.floor].sources.size()));
    floors_[place.floor].sources.push_back(place.source);
  }
  floors_seen_.resize(count);
}

void ClusterFinder::clear() {
  for (Floor& floor : floors_) floor.inputs.clear();
  next_source_ = 0;
  hit_count_ = 0;
  malformed_count_ = 0;
  level1_.found.clear();
  level1_.hits.clear();
  found_hits_.clear();
  clusters_.clear();
}

void ClusterFinder::add(std::uint32_t source, weir::ConstBytes fragment) {
  const std::vector<SourcePlace>& places = geometry_.sources;
  if (next_source_ >= places.size() || places[next_source_].source != source) {  // not in ascending order
    const auto found = std::lower_bound(places.begin(), places.end(), source,
                                        [](const SourcePlace& p, std::uint32_t s) { return p.source < s; });
    next_source_ = static_cast<std::size_t>(found - places.begin());
    if (found == places.end() || found->source != source) return;
  }
  const SourcePlace& place = places[next_source_];
  floors_[place.floor].inputs.push_back(
      {.fragment = fragment, .source = &place, .place = place_on_floor_[next_source_]});
  ++next_source_;
}

// Searches the fragments as they are; those with waveforms, delays or in another order are rewritten first.
void ClusterFinder::find_level1(std::uint32_t floor_index) {
  const Floor& floor = floors_[floor_index];
  runs_.resize(floor.inputs.size());
  if (rewritten_.size() < runs_.size()) rewritten_.resize(runs_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const Input& input = floor.inputs[i];
    const std::size_t bytes = input.fragment.size();
    if (input.source->channels > 0 || bytes % weir::kHitBytes != 0 || settings_.search == Search::reference) {
      rewrite(input, i);
    } else {
      runs_[i] = {.bytes = input.fragment.data(),
                  .count = static_cast<std::uint32_t>(bytes / weir::kHitBytes),
                  .place = input.place};
    }
  }
  bool found = false;
  while (settings_.search != Search::reference && !found) {
    found = bucket_search_.find(runs_, floor_index, level1_);
    if (found || bucket_search_.bad_run() == runs_.size()) break;
    rewrite(floor.inputs[bucket_search_.bad_run()], bucket_search_.bad_run());
  }
  if (!found) merge_search_.find(runs_, floor_index, level1_);
  for (const HitRun& run : runs_) hit_count_ += run.count;
}

// Makes run `index` the hits of `input` with their channels' delays, without waveforms, in order.
void ClusterFinder::rewrite(const Input& input, std::size_t index) {
  const SourcePlace& source = *input.source;
  const std::uint32_t* const delays = geometry_.delays_ns.data() + source.first_delay;
  weir::HitReader reader(input.fragment);
  packed_.clear();
  while (const auto hit = reader.next()) {
    std::uint64_t time = hit->time_ns;
    if (hit->channel < source.channels) time = std::min(time + delays[hit->channel], kTimeMax);
    packed_.push_back(time << 32U | std::uint64_t{hit->channel} << 8U | hit->tot_ns);
  }
  malformed_count_ += reader.malformed() ? 1 : 0;
  if (!std::is_sorted(packed_.begin(), packed_.end())) std::sort(packed_.begin(), packed_.end());
  std::vector<std::byte>& bytes = rewritten_[index];
  bytes.resize(packed_.size() * weir::kHitBytes);
  std::byte* to = bytes.data();
  for (const PackedHit hit : packed_) {
    weir::encode_hit({static_cast<std::uint8_t>(hit >> 8U), time_of(hit), static_cast<std::uint8_t>(hit), {}},
                     to);
    to += weir::kHitBytes;
  }
  runs_[index] = {
      .bytes = bytes.data(), .count = static_cast<std::uint32_t>(packed_.size()), .place = input.place};
}

bool ClusterFinder::connected(const Level1& a, const Level1& b) const {
  const double dt = std::abs(static_cast<double>(a.time_ns) - static_cast<double>(b.time_ns));
  return dt <= double{reach_ns_[a.floor * floors_.size() + b.floor]};
}

// Collects the seed and the following coincidences within reach of it.
void ClusterFinder::collect_candidates(std::size_t seed) {
  candidates_.assign(1, seed);
  for (std::size_t i = seed + 1; i < level1_.found.size(); ++i) {
    if (level1_.found[i].time_ns - level1_.found[seed].time_ns > reach_max_ns_ ||
        candidates_.size() == kCandidatesMax)
      break;
    if (!level1_.found[i].used && connected(level1_.found[seed], level1_.found[i])) candidates_.push_back(i);
  }
}

// Removes the candidate with the fewest connections until all remaining ones are connected with each other.
// Finding the largest such set is a hard problem; this finds a track among noise, because hits of the track
// have the most partners. The seed is connected with all and stays.
void ClusterFinder::reduce_to_clique() {
  partners_.assign(candidates_.size(), 0);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!connected(level1_.found[candidates_[i]], level1_.found[candidates_[j]])) continue;
      ++partners_[i];
      ++partners_[j];
    }
  }
  while (candidates_.size() >= settings_.minimum) {
    const auto fewest = std::min_element(partners_.begin(), partners_.end());
    if (*fewest + 1 == candidates_.size()) return;
    const auto out = candidates_.begin() + (fewest - partners_.begin());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i] != *out && connected(level1_.found[candidates_[i]], level1_.found[*out]))
        --partners_[i];
    }
    candidates_.erase(out);
    partners_.erase(fewest);
  }
}

std::uint32_t ClusterFinder::count_floors() {
  std::uint32_t floors = 0;
  for (const std::size_t index : candidates_) {
    if (floors_seen_[level1_.found[index].floor]++ == 0) ++floors;
  }
  for (const std::size_t index : candidates_) floors_seen_[level1_.found[index].floor] = 0;
  return floors;
}

void ClusterFinder::append_cluster(std::uint32_t floors) {
  Cluster cluster{.floors = floors, .first_hit = static_cast<std::uint32_t>(found_hits_.size())};
  for (const std::size_t index : candidates_) {
    Level1& level1 = level1_.found[index];
    level1.used = true;
    for (std::uint32_t i = 0; i < level1.hit_count; ++i) {
      const PackedHit hit = level1_.hits[level1.first_hit + i];
      found_hits_.push_back({.source = floors_[level1.floor].sources[hit >> 16U & 0xffffU],
                             .time_ns = time_of(hit),
                             .channel = static_cast<std::uint8_t>(hit >> 8U),
                             .tot_ns = static_cast<std::uint8_t>(hit)});
    }
  }
  cluster.hit_count = static_cast<std::uint32_t>(found_hits_.size()) - cluster.first_hit;
  std::sort(found_hits_.begin() + cluster.first_hit, found_hits_.end(),
            [](const FoundHit& a, const FoundHit& b) {
              return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.source < b.source;
            });
  clusters_.push_back(cluster);
}

// Sorts the coincidences, which are in the order of their floors, by time, then floor.
void ClusterFinder::sort_level1() {
  order_.clear();
  for (std::size_t i = 0; i < level1_.found.size(); ++i) {
    order_.push_back(std::uint64_t{level1_.found[i].time_ns} << 32U | i);
  }
  std::sort(order_.begin(), order_.end());
  sorted_.clear();
  for (const std::uint64_t key : order_) sorted_.push_back(level1_.found[key & UINT32_MAX]);
  level1_.found.swap(sorted_);
}

std::span<const Cluster> ClusterFinder::find() {
  for (std::uint32_t floor = 0; floor < floors_.size(); ++floor) find_level1(floor);
  sort_level1();
  for (std::size_t seed = 0; seed < level1_.found.size(); ++seed) {
    if (level1_.found[seed].used) continue;
    collect_candidates(seed);
    if (candidates_.size() < settings_.minimum) continue;
    reduce_to_clique();
    if (candidates_.size() < settings_.minimum) continue;
    const std::uint32_t floors = count_floors();
    if (floors >= settings_.minimum) append_cluster(floors);
  }
  return clusters_;
}

}  // namespace coincidence
