#include "cluster_finder.hpp"

#include <weir/source/hit.hpp>

#include <algorithm>
#include <cmath>

namespace coincidence {
namespace {

constexpr double kNsPerS = 1e9;
constexpr std::uint64_t kNoHit = UINT64_MAX;
constexpr std::uint64_t kTimeMax = UINT32_MAX;  // ns from the slice's start

// Level-1 coincidences examined together; the cost per coincidence grows with the square. A window of a
// detector of 900 modules holds one or two, a bright track about ten.
constexpr std::size_t kCandidatesMax = 256;

double reach(const Geometry& geometry, std::size_t a, std::size_t b, double extra_ns) {
  const double distance = weir::source::length(geometry.floors[a] - geometry.floors[b]);
  return distance / weir::source::kWaterSpeedOfLight + extra_ns;
}

// Level-1 rate per ns of a floor with `modules` modules from background alone.
double level1_rate(std::size_t modules, const FinderSettings& settings) {
  const double single = settings.background_hz / kNsPerS;
  const double pairs = 0.5 * static_cast<double>(modules) * (static_cast<double>(modules) - 1);
  return pairs * 2 * settings.pair_window_ns * single * single;
}

// std::merge of [begin, middle) and [middle, end) without a branch on the values: which run is next is a coin
// toss, and mispredicted every other time.
void merge_sorted(const std::uint64_t* begin, const std::uint64_t* middle, const std::uint64_t* end,
                  std::uint64_t* to) {
  const std::uint64_t* a = begin;
  const std::uint64_t* b = middle;
  while (a != middle && b != end) {
    const bool take_b = *b < *a;
    *to++ = take_b ? *b : *a;
    a += take_b ? 0 : 1;
    b += take_b ? 1 : 0;
  }
  std::copy(b, end, std::copy(a, middle, to));
}

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
    : geometry_(std::move(geometry)), settings_(settings), floors_(geometry_.floors.size()) {
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
  for (Floor& floor : floors_) {
    floor.hits.clear();
    floor.starts.clear();
  }
  hit_count_ = 0;
  level1_hits_.clear();
  level1_.clear();
  found_hits_.clear();
  clusters_.clear();
}

bool ClusterFinder::add(std::uint32_t source, weir::ConstBytes fragment) {
  const auto place = std::lower_bound(geometry_.sources.begin(), geometry_.sources.end(), source,
                                      [](const SourcePlace& p, std::uint32_t s) { return p.source < s; });
  if (place == geometry_.sources.end() || place->source != source) return true;
  Floor& floor = floors_[place->floor];
  const std::uint64_t on_floor = place_on_floor_[static_cast<std::size_t>(place - geometry_.sources.begin())];
  const std::size_t start = floor.hits.size();
  floor.starts.push_back(start);
  weir::source::HitReader reader(fragment);
  const std::uint32_t* const delays = geometry_.delays_ns.data() + place->first_delay;
  while (const auto hit = reader.next()) {
    std::uint64_t time = hit->time_ns;
    if (hit->channel < place->channels) time = std::min(time + delays[hit->channel], kTimeMax);
    floor.hits.push_back(time << 32U | on_floor << 16U | std::uint64_t{hit->channel} << 8U | hit->tot_ns);
  }
  hit_count_ += floor.hits.size() - start;
  const auto run = floor.hits.begin() + static_cast<std::ptrdiff_t>(start);
  if (!std::is_sorted(run, floor.hits.end())) std::sort(run, floor.hits.end());
  return !reader.malformed();
}

// Merges the runs two by two.
void ClusterFinder::sort_floor(Floor& floor) {
  while (floor.starts.size() > 1) {
    scratch_.resize(floor.hits.size());
    std::vector<std::size_t>& starts = floor.starts;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < starts.size(); i += 2) {
      const std::size_t begin = starts[i];
      const std::size_t middle = i + 1 < starts.size() ? starts[i + 1] : floor.hits.size();
      const std::size_t end = i + 2 < starts.size() ? starts[i + 2] : floor.hits.size();
      const PackedHit* hits = floor.hits.data();
      merge_sorted(hits + begin, hits + middle, hits + end, scratch_.data() + begin);
      starts[kept++] = begin;
    }
    starts.resize(kept);
    floor.hits.swap(scratch_);
  }
}

void ClusterFinder::find_level1(std::uint32_t floor_index) {
  Floor& floor = floors_[floor_index];
  sort_floor(floor);
  const std::vector<PackedHit>& hits = floor.hits;
  const double window = settings_.pair_window_ns;
  // A chain continues while another hit follows within the window; it counts if it holds two hits of
  // different modules within the window.
  for (std::size_t begin = 0; begin < hits.size();) {
    PackedHit last = hits[begin];
    PackedHit last_of_another = kNoHit;  // the latest hit of another module than `last`
    bool pair = false;
    std::size_t end = begin + 1;
    while (end < hits.size() && time_of(hits[end]) - time_of(last) <= window) {
      if (module_of(hits[end]) != module_of(last)) last_of_another = last;
      last = hits[end++];
      pair = pair || (last_of_another != kNoHit && time_of(last) - time_of(last_of_another) <= window);
    }
    if (pair) append_level1(floor_index, std::span(hits).subspan(begin, end - begin));
    begin = end;
  }
}

void ClusterFinder::append_level1(std::uint32_t floor_index, std::span<const PackedHit> hits) {
  level1_.push_back({.time_ns = time_of(hits.front()),
                     .floor = floor_index,
                     .first_hit = static_cast<std::uint32_t>(level1_hits_.size()),
                     .hit_count = static_cast<std::uint32_t>(hits.size())});
  level1_hits_.insert(level1_hits_.end(), hits.begin(), hits.end());
}

bool ClusterFinder::connected(const Level1& a, const Level1& b) const {
  const double dt = std::abs(static_cast<double>(a.time_ns) - static_cast<double>(b.time_ns));
  return dt <= double{reach_ns_[a.floor * floors_.size() + b.floor]};
}

// Collects the seed and the following coincidences within reach of it.
void ClusterFinder::collect_candidates(std::size_t seed) {
  candidates_.assign(1, seed);
  for (std::size_t i = seed + 1; i < level1_.size(); ++i) {
    if (level1_[i].time_ns - level1_[seed].time_ns > reach_max_ns_ || candidates_.size() == kCandidatesMax)
      break;
    if (!level1_[i].used && connected(level1_[seed], level1_[i])) candidates_.push_back(i);
  }
}

// Removes the candidate with the fewest connections until all remaining ones are connected with each other.
// Finding the largest such set is a hard problem; this finds a track among noise, because hits of the track
// have the most partners. The seed is connected with all and stays.
void ClusterFinder::reduce_to_clique() {
  partners_.assign(candidates_.size(), 0);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!connected(level1_[candidates_[i]], level1_[candidates_[j]])) continue;
      ++partners_[i];
      ++partners_[j];
    }
  }
  while (candidates_.size() >= settings_.minimum) {
    const auto fewest = std::min_element(partners_.begin(), partners_.end());
    if (*fewest + 1 == candidates_.size()) return;
    const auto out = candidates_.begin() + (fewest - partners_.begin());
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i] != *out && connected(level1_[candidates_[i]], level1_[*out])) --partners_[i];
    }
    candidates_.erase(out);
    partners_.erase(fewest);
  }
}

std::uint32_t ClusterFinder::count_floors() {
  std::uint32_t floors = 0;
  for (const std::size_t index : candidates_) {
    if (floors_seen_[level1_[index].floor]++ == 0) ++floors;
  }
  for (const std::size_t index : candidates_) floors_seen_[level1_[index].floor] = 0;
  return floors;
}

void ClusterFinder::append_cluster(std::uint32_t floors) {
  Cluster cluster{.floors = floors, .first_hit = static_cast<std::uint32_t>(found_hits_.size())};
  for (const std::size_t index : candidates_) {
    Level1& level1 = level1_[index];
    level1.used = true;
    for (std::uint32_t i = 0; i < level1.hit_count; ++i) {
      const PackedHit hit = level1_hits_[level1.first_hit + i];
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

std::span<const Cluster> ClusterFinder::find() {
  for (std::uint32_t floor = 0; floor < floors_.size(); ++floor) find_level1(floor);
  std::sort(level1_.begin(), level1_.end(), [](const Level1& a, const Level1& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.floor < b.floor;
  });
  for (std::size_t seed = 0; seed < level1_.size(); ++seed) {
    if (level1_[seed].used) continue;
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
