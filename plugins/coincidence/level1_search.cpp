#include "level1_search.hpp"

#include <algorithm>
#include <bit>

namespace coincidence {
namespace {

// A floor with more buckets takes wider ones: they stay in the CPU's first cache.
constexpr std::uint32_t kBucketsMax = 1U << 18U;

// One hit of so many may be a candidate before sorting is the faster way.
constexpr std::size_t kHitsPerCandidate = 8;

// std::merge of [begin, middle) and [middle, end) without a branch on the values: which run is next is a coin
// toss, and mispredicted every other time.
void merge_sorted(const PackedHit* begin, const PackedHit* middle, const PackedHit* end, PackedHit* to) {
  const PackedHit* a = begin;
  const PackedHit* b = middle;
  while (a != middle && b != end) {
    const bool take_b = *b < *a;
    *to++ = take_b ? *b : *a;
    a += take_b ? 0 : 1;
    b += take_b ? 1 : 0;
  }
  std::copy(b, end, std::copy(a, middle, to));
}

// Looks for two hits of different modules within the window.
class PairDetector {
 public:
  PairDetector(PackedHit first, double window_ns) : window_ns_(window_ns), last_(first) {}

  // The next hit of the chain.
  void add(PackedHit hit) {
    if (module_of(hit) != module_of(last_)) {
      another_ = last_;
      has_another_ = true;
    }
    last_ = hit;
    found_ = found_ || (has_another_ && time_of(hit) - time_of(another_) <= window_ns_);
  }
  [[nodiscard]] bool found() const { return found_; }

 private:
  double window_ns_;
  PackedHit last_;
  PackedHit another_ = 0;  // the latest hit of another module than `last_`
  bool has_another_ = false;
  bool found_ = false;
};

void append(std::span<const PackedHit> hits, std::uint32_t floor, Level1List& level1) {
  level1.found.push_back({.time_ns = time_of(hits.front()),
                          .floor = floor,
                          .first_hit = static_cast<std::uint32_t>(level1.hits.size()),
                          .hit_count = static_cast<std::uint32_t>(hits.size())});
  level1.hits.insert(level1.hits.end(), hits.begin(), hits.end());
}

// std::lower_bound without a branch on the values.
std::uint32_t lower_bound(const std::uint32_t* times, std::uint32_t count, std::uint32_t time) {
  const std::uint32_t* from = times;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    from += half * static_cast<std::uint32_t>(from[half - 1] < time);  // with ?: g++ branches
    count -= half;
  }
  return static_cast<std::uint32_t>(from - times) + (count == 1 && *from < time ? 1 : 0);
}

// True if `later` is at most `window_ns` after `earlier`, or before it.
bool is_within(std::uint32_t earlier, std::uint32_t later, std::uint32_t window_ns) {
  return later <= earlier || later - earlier <= window_ns;
}

}  // namespace

void MergeSearch::find(std::span<const HitRun> runs, std::uint32_t floor, Level1List& level1) {
  hits_.clear();
  starts_.clear();
  for (const HitRun& run : runs) {
    const std::size_t start = hits_.size();
    starts_.push_back(start);
    for (std::uint32_t i = 0; i < run.count; ++i) hits_.push_back(run.packed(i));
    const auto begin = hits_.begin() + static_cast<std::ptrdiff_t>(start);
    if (!std::is_sorted(begin, hits_.end())) std::sort(begin, hits_.end());
  }
  merge_runs();
  for (std::size_t begin = 0; begin < hits_.size();) {
    PairDetector pair(hits_[begin], window_ns_);
    std::size_t end = begin + 1;
    while (end < hits_.size() && time_of(hits_[end]) - time_of(hits_[end - 1]) <= window_ns_) {
      pair.add(hits_[end++]);
    }
    if (pair.found()) append(std::span(hits_).subspan(begin, end - begin), floor, level1);
    begin = end;
  }
}

// Merges the runs two by two.
void MergeSearch::merge_runs() {
  while (starts_.size() > 1) {
    scratch_.resize(hits_.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < starts_.size(); i += 2) {
      const std::size_t begin = starts_[i];
      const std::size_t middle = i + 1 < starts_.size() ? starts_[i + 1] : hits_.size();
      const std::size_t end = i + 2 < starts_.size() ? starts_[i + 2] : hits_.size();
      merge_sorted(hits_.data() + begin, hits_.data() + middle, hits_.data() + end, scratch_.data() + begin);
      starts_[kept++] = begin;
    }
    starts_.resize(kept);
    hits_.swap(scratch_);
  }
}

BucketSearch::BucketSearch(double pair_window_ns, RunScan scan)
    : window_ns_(pair_window_ns), whole_window_ns_(static_cast<std::uint32_t>(pair_window_ns)), scan_(scan) {}

bool BucketSearch::find(std::span<const HitRun> runs, std::uint32_t floor, Level1List& level1) {
  if (!read_times(runs)) return false;
  bad_run_ = runs.size();
  clear_buckets();
  collect_candidates();
  if (candidate_count_ > times_.size() / kHitsPerCandidate + 1) return false;
  keep_candidates_with_neighbours();
  std::int64_t done = -1;  // the last time of the chains so far
  for (const Candidate& candidate : kept_) {
    if (candidate.time_ns <= done) continue;
    done = collect_chain(candidate);
    append_chain(runs, floor, level1);
  }
  return true;
}

bool BucketSearch::read_times(std::span<const HitRun> runs) {
  std::size_t hits = 0;
  for (const HitRun& run : runs) hits += run.count;
  times_.resize(hits);
  runs_.clear();
  std::uint32_t* to = times_.data();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!scan_.read_times(runs[i].bytes, runs[i].count, to)) {
      bad_run_ = i;
      return false;
    }
    runs_.push_back({.times = to, .count = runs[i].count});
    to += runs[i].count;
  }
  return true;
}

void BucketSearch::clear_buckets() {
  std::uint32_t last = 0;
  for (const Times& run : runs_) last = run.count == 0 ? last : std::max(last, run.times[run.count - 1]);
  buckets_.shift = static_cast<std::uint32_t>(std::bit_width(2 * whole_window_ns_));
  while (last >> buckets_.shift >= kBucketsMax) ++buckets_.shift;
  words_.assign((last >> buckets_.shift) / 32 + 2, 0);
}

void BucketSearch::collect_candidates() {
  candidates_.resize(times_.size() + 1);
  std::uint32_t* to = candidates_.data();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    buckets_.words = i == 0 ? nullptr : words_.data();
    to = scan_.find_candidates(runs_[i].times, runs_[i].count, whole_window_ns_, buckets_, to);
    buckets_.words = words_.data();
    if (i + 1 < runs_.size()) mark_buckets(runs_[i].times, runs_[i].count, buckets_);
  }
  candidate_count_ = static_cast<std::size_t>(to - candidates_.data());
}

// Leaves those with another hit within the window, and sorts them. Looks all of them up in one run, then in
// the next: the CPU has several searches under way.
void BucketSearch::keep_candidates_with_neighbours() {
  const std::size_t count = candidate_count_;
  positions_.resize(runs_.size() * count);
  within_window_.assign(count, 0);
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const Times& run = runs_[r];
    std::uint32_t* const positions = positions_.data() + r * count;
    for (std::size_t i = 0; i < count; ++i) positions[i] = lower_bound(run.times, run.count, candidates_[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t at = positions[i];
      const std::uint32_t time = candidates_[i];
      within_window_[i] += at > 0 && time - run.times[at - 1] <= whole_window_ns_ ? 1 : 0;
      within_window_[i] += at < run.count && run.times[at] - time <= whole_window_ns_ ? 1 : 0;
      within_window_[i] += at + 1 < run.count && run.times[at + 1] - time <= whole_window_ns_ ? 1 : 0;
    }
  }
  kept_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (within_window_[i] > 1)
      kept_.push_back({candidates_[i], static_cast<std::uint32_t>(i)});  // one is itself
  }
  std::sort(kept_.begin(), kept_.end(),
            [](const Candidate& a, const Candidate& b) { return a.time_ns < b.time_ns; });
}

// Collects the hits that are linked with the candidate, each within the window of the next. Returns the time
// of the last.
std::uint32_t BucketSearch::collect_chain(const Candidate& candidate) {
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    runs_[r].begin = runs_[r].end = positions_[r * candidate_count_ + candidate.index];
  }
  std::uint32_t first = candidate.time_ns;
  for (bool more = true; more;) {
    more = false;
    for (Times& run : runs_) {
      while (run.begin > 0 && is_within(run.times[run.begin - 1], first, whole_window_ns_)) {
        first = std::min(first, run.times[--run.begin]);
        more = true;
      }
    }
  }
  std::uint32_t last = candidate.time_ns;
  for (bool more = true; more;) {
    more = false;
    for (Times& run : runs_) {
      while (run.end < run.count && is_within(last, run.times[run.end], whole_window_ns_)) {
        last = std::max(last, run.times[run.end++]);
        more = true;
      }
    }
  }
  return last;
}

void BucketSearch::append_chain(std::span<const HitRun> runs, std::uint32_t floor, Level1List& level1) {
  chain_.clear();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    for (std::uint32_t hit = runs_[i].begin; hit < runs_[i].end; ++hit) chain_.push_back(runs[i].packed(hit));
  }
  if (chain_.size() < 2) return;
  std::sort(chain_.begin(), chain_.end());
  PairDetector pair(chain_.front(), window_ns_);
  for (std::size_t i = 1; i < chain_.size(); ++i) pair.add(chain_[i]);
  if (pair.found()) append(chain_, floor, level1);
}

}  // namespace coincidence
