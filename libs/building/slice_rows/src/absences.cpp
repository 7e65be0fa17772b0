#include <weir/base/assert.hpp>
#include <weir/slice_rows/absences.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace weir::slice_rows {

void AbsenceTable::leave(NodeIndex readout, SliceOrder from) {
  WEIR_ASSERT(!is_out(readout));
  ++number_;
  Own& left = append({readout, from});
  // Keeps the list sorted: usually the place is the last, except after restoring a table.
  auto place = std::prev(left.end());
  for (; place != left.begin() && std::prev(place)->from > from; --place, ++steps_)
    std::iter_swap(place, std::prev(place));
  reach_from(left, place);
  if (ended_.size() <= kEndedMax) return;
  const auto oldest = ended_.begin();
  Own& own = of_[oldest->second.value];
  erase(own, std::find_if(own.begin(), own.end(),
                          [&](const Range& range) { return ++steps_, range.serial == oldest->first; }));
  ended_.erase(oldest);
}

void AbsenceTable::join(NodeIndex readout, SliceOrder from) {
  if (!is_out(readout)) return;
  Own& own = of_[readout.value];
  // The last one, as a rule.
  const auto last = std::find_if(own.rbegin(), own.rend(), [this](const Range& range) {
    return ++steps_, range.until == AbsenceRange::kOpen;
  });
  const auto open = std::prev(last.base());
  ++number_;
  WEIR_ASSERT(open_ > 0);
  --open_;
  if (open->from >= from) return erase(own, open);
  open->until = from;
  note_end(readout, *open);
  reach_from(own, open);
}

bool AbsenceTable::replace(const std::vector<AbsenceRange>& ranges) {
  constexpr std::size_t kMax = kEndedMax + std::numeric_limits<std::uint16_t>::max();
  const auto is_empty = [](const AbsenceRange& range) { return range.from >= range.until; };
  if (ranges.size() > kMax || std::any_of(ranges.begin(), ranges.end(), is_empty)) return false;
  ++number_;
  of_.clear();
  ended_.clear();
  open_ = 0;
  highest_end_ = {};
  for (const AbsenceRange& range : ranges) append(range);
  for (Own& own : of_) {
    std::stable_sort(own.begin(), own.end(), [](const Range& a, const Range& b) { return a.from < b.from; });
    reach_from(own, own.begin());
  }
  return true;
}

AbsenceTable::Own& AbsenceTable::append(const AbsenceRange& range) {
  if (of_.size() <= range.readout.value) of_.resize(range.readout.value + std::size_t{1});
  Own& own = of_[range.readout.value];
  own.push_back({range.from, range.until, range.until, serial_++});
  if (range.until == AbsenceRange::kOpen) {
    ++open_;
  } else {
    note_end(range.readout, own.back());
  }
  return own;
}

void AbsenceTable::erase(Own& own, Own::iterator place) { reach_from(own, own.erase(place)); }

void AbsenceTable::note_end(NodeIndex readout, const Range& range) {
  ended_.emplace(range.serial, readout);
  highest_end_ = std::max(highest_end_, range.until);
}

void AbsenceTable::reach_from(Own& own, Own::iterator place) {
  for (; place != own.end(); ++place) {
    ++steps_;
    const SliceOrder before = place == own.begin() ? SliceOrder() : std::prev(place)->reach;
    place->reach = std::max(before, place->until);
  }
}

bool AbsenceTable::covers(NodeIndex readout, SliceOrder order) const {
  if (readout.value >= of_.size() || of_[readout.value].empty()) return false;
  const Own& own = of_[readout.value];
  ++steps_;
  // The usual case: present slices are looked up.
  if (own.back().from <= order) return order < own.back().reach;
  const auto after =
      std::upper_bound(own.begin(), own.end(), order,
                       [this](SliceOrder asked, const Range& range) { return ++steps_, asked < range.from; });
  return after != own.begin() && order < std::prev(after)->reach;
}

bool AbsenceTable::is_out(NodeIndex readout) const {
  if (readout.value >= of_.size() || of_[readout.value].empty()) return false;
  return of_[readout.value].back().reach == AbsenceRange::kOpen;
}

std::vector<AbsenceRange> AbsenceTable::ranges() const {
  std::vector<std::pair<std::uint64_t, AbsenceRange>> all;
  all.reserve(ended_.size() + open_);
  for (std::size_t readout = 0; readout < of_.size(); ++readout) {
    const NodeIndex index(static_cast<std::uint16_t>(readout));
    for (const Range& range : of_[readout])
      all.emplace_back(range.serial, AbsenceRange{index, range.from, range.until});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<AbsenceRange> ranges;
  ranges.reserve(all.size());
  for (const auto& [serial, range] : all) ranges.push_back(range);
  return ranges;
}

std::uint64_t slices_without_readouts(const std::vector<AbsenceRange>& ranges, std::size_t readouts,
                                      SliceOrder end) {
  struct Edge {
    SliceOrder at;
    NodeIndex readout;
    bool begins;
  };
  std::vector<Edge> edges;
  for (const AbsenceRange& range : ranges) {
    if (range.readout.value >= readouts || range.from >= end) continue;
    edges.push_back({range.from, range.readout, true});
    edges.push_back({std::min(range.until, end), range.readout, false});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::vector<std::int32_t> open(readouts);  // ranges, by readout: they may overlap
  std::size_t out = 0;
  std::uint64_t slices = 0;
  SliceOrder last;
  for (const Edge& edge : edges) {
    if (out == readouts) slices += edge.at.value - last.value;
    last = edge.at;
    std::int32_t& own = open[edge.readout.value];
    const bool was_out = own > 0;
    own += edge.begins ? 1 : -1;
    if ((own > 0) == was_out) continue;
    out = was_out ? out - 1 : out + 1;
  }
  return slices;
}

}  // namespace weir::slice_rows
