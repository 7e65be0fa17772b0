#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/planted.hpp>
#include <weir/source/time_ring.hpp>

#include <algorithm>
#include <utility>

namespace weir::source {
namespace {

std::uint64_t charge_of(const Piece& piece) { return piece.bytes.size() + TimeRing::kPieceOverhead; }

}  // namespace

void TimeRing::begin_run(std::optional<UtcNs> from) {
  WEIR_ASSERT(pieces_.empty() && windows_.empty());
  counters_ = {};
  passed_ = kNever;
  gone_until_ = kNever;
  joined_ = planted(Planted::join_whole) ? kNever : from.value_or(kNever);
  gap_until_ = kNever;
  next_begin_ = kNever;
  longest_ = longest_seen_ = 1;
}

void TimeRing::end_run() {
  for (const auto& [time, kept] : pieces_) {
    if (kept.placed) {
      ++counters_.placed;
    } else {
      ++counters_.dropped[static_cast<std::size_t>(PieceDrop::run_ended)];
    }
  }
  counters_.held = 0;
  counters_.bytes_held = 0;
  pieces_.clear();
  windows_.clear();
  begin_of_.clear();
}

void TimeRing::add(Piece piece, UtcNs utc, std::vector<MadeWindow>& made) {
  const bool long_ago = piece.time < 0;  // before 1970: no clock, and sums could overflow
  if (long_ago || piece.duration < 0 || piece.duration > kDurationMax || piece.time > utc + kAheadMax)
    return drop(PieceDrop::bad_time);
  if (piece.time < passed_) {
    gone_until_ = std::max(gone_until_, piece.end());
    return drop(PieceDrop::late);
  }
  if (charge_of(piece) > limits_.bytes_max) {
    gone_until_ = std::max(gone_until_, piece.end());
    return drop(PieceDrop::too_large);
  }
  if (!make_room(piece, made)) return;
  ++counters_.received;
  ++counters_.held;
  counters_.bytes_held += charge_of(piece);
  longest_ = std::max(longest_, piece.end() - piece.time);
  longest_seen_ = std::max(longest_seen_, longest_);
  const UtcNs time = piece.time;
  pieces_.emplace(time, Kept{std::move(piece), false});
  if (time < next_begin_) free_old();  // for no window to come
}

// Returns false if the piece itself is the oldest, and the one to go.
bool TimeRing::make_room(const Piece& piece, std::vector<MadeWindow>& made) {
  while (counters_.bytes_held + charge_of(piece) > limits_.bytes_max) {
    WEIR_ASSERT(!pieces_.empty());
    const Piece& oldest = pieces_.begin()->second.piece;
    if (piece.time < oldest.time) {
      gone_until_ = std::max(gone_until_, piece.end());
      if (limits_.windows_ascend) {
        drop(PieceDrop::ring_full);
      } else {
        ++counters_.received;
        ++counters_.unplaced;
      }
      return false;
    }
    // Those that end before the oldest piece are made, too: nothing can come for them while the ring is full.
    while (!windows_.empty() && windows_.begin()->first < oldest.end()) make(windows_.begin(), true, made);
    free_first(true);
  }
  return true;
}

void TimeRing::pass(UtcNs time, bool gap, UtcNs utc, std::vector<MadeWindow>& made) {
  if (time <= passed_ || time < 0 || time > utc + kAheadMax) return;
  if (gap) gap_until_ = time;
  passed_ = time;
  make_passed(made);
  free_old();
}

void TimeRing::open(const TimeWindow& window, std::vector<MadeWindow>& made) {
  WEIR_ASSERT(window.begin() < window.end());
  if (!begin_of_.emplace(window.slice.value, window.begin()).second) return;
  const auto at = windows_.emplace(window.begin(), window);
  if (limits_.windows_ascend)
    next_begin_ = std::max(next_begin_,
                           window.end() - (planted(Planted::lose_border) ? 0 : window.after + window.before));
  if (window.end() <= passed_) make(at, false, made);
  free_old();
}

void TimeRing::close(SliceId slice) {
  const auto found = begin_of_.find(slice.value);
  if (found == begin_of_.end()) return;
  auto at = windows_.lower_bound(found->second);
  while (at->second.slice != slice) ++at;
  windows_.erase(at);
  begin_of_.erase(found);
  free_old();
}

void TimeRing::make_passed(std::vector<MadeWindow>& made) {
  for (auto at = windows_.begin(); at != windows_.end() && at->first < passed_;) {
    at = at->second.end() <= passed_ ? make(at, false, made) : std::next(at);
  }
}

TimeRing::Windows::iterator TimeRing::make(Windows::iterator at, bool forced, std::vector<MadeWindow>& made) {
  const TimeWindow& window = at->second;
  found_.clear();
  list_.clear();
  bool whole = !forced;
  const auto last = pieces_.lower_bound(window.end());
  for (auto piece = pieces_.lower_bound(window.begin() - longest_ + 1); piece != last; ++piece) {
    if (!window.has(piece->second.piece)) continue;
    found_.push_back(&piece->second);
    list_.push_back(&piece->second.piece);
    whole = whole && piece->second.piece.status != FragmentStatus::missing;
  }
  // Pieces that were lost may have been as long as others, and reach into the window.
  const DurationNs reach = longest_seen_ - 1;
  const bool cut = window.begin() < std::max(gone_until_, joined_ + reach);
  const bool gap = window.begin() < gap_until_ + reach && !planted(Planted::hide_gap);
  ++counters_.windows;
  counters_.forced += forced ? 1 : 0;
  counters_.cut += cut ? 1 : 0;
  MadeWindow result{source_, window.slice, {}};
  const std::uint64_t bytes = encoded_bytes(list_);
  if (cut && list_.empty()) {
    result.fragment = missing_fragment(MissingReason::too_old);
  } else if (gap && list_.empty()) {
    result.fragment = missing_fragment(MissingReason::gap);
  } else if (bytes > UINT32_MAX) {
    result.fragment = missing_fragment(MissingReason::too_large);
  } else {
    const auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
    encode_pieces(window, list_, memory.get());
    for (Kept* kept : found_) kept->placed = true;
    counters_.copies += found_.size();
    result.fragment.status = whole && !cut && !gap ? FragmentStatus::ok : FragmentStatus::truncated;
    result.fragment.bytes = {memory.get(), bytes};
    result.fragment.owner = memory;
    if (limits_.checksums) result.fragment.crc32c = crc32c(result.fragment.bytes);
  }
  made.push_back(std::move(result));
  begin_of_.erase(window.slice.value);
  return windows_.erase(at);
}

// Frees the pieces that neither an open window nor one to come can have. A long piece keeps later ones.
void TimeRing::free_old() {
  if (next_begin_ == kNever) return;
  const UtcNs until = windows_.empty() ? next_begin_ : std::min(next_begin_, windows_.begin()->first);
  while (!pieces_.empty() && pieces_.begin()->second.piece.end() <= until) free_first(false);
}

void TimeRing::free_first(bool for_room) {
  const auto first = pieces_.begin();
  const Kept& kept = first->second;
  gone_until_ = std::max(gone_until_, kept.piece.end());
  if (kept.placed) {
    ++counters_.placed;
  } else if (for_room && limits_.windows_ascend) {
    ++counters_.dropped[static_cast<std::size_t>(PieceDrop::ring_full)];
  } else {
    ++counters_.unplaced;
  }
  WEIR_ASSERT(counters_.held > 0 && counters_.bytes_held >= charge_of(kept.piece));
  --counters_.held;
  counters_.bytes_held -= charge_of(kept.piece);
  pieces_.erase(first);
  if (pieces_.empty()) longest_ = 1;
}

}  // namespace weir::source
