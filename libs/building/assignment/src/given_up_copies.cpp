#include <weir/assignment/given_up_copies.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

void GivenUpCopies::add(const GivenUpCopy& copy) {
  if (Count* count = count_of(copy.writer)) {
    ++count->all;
    if (copy.orphan) ++count->orphans;
  }
  if (copies_.size() < remembered_max_)
    copies_.emplace(copy.slice, Copy{copy.writer, copy.epoch, copy.orphan});
}

void GivenUpCopies::orphan(SliceId slice) {
  const auto [first, last] = copies_.equal_range(slice);
  for (auto copy = first; copy != last; ++copy) {
    if (std::exchange(copy->second.orphan, true)) continue;
    Count* count = count_of(copy->second.writer);
    if (count == nullptr) continue;
    ++count->orphans;
    WEIR_ASSERT(count->orphans <= count->all);
  }
}

void GivenUpCopies::take_back(SliceId slice, NodeIndex writer, StoreEpoch epoch) {
  const auto copy = find(slice, writer, epoch);
  if (copy == copies_.end()) return;
  WEIR_ASSERT(!copy->second.orphan);  // its slice is not settled
  if (Count* count = count_of(writer)) {
    WEIR_ASSERT(count->all > count->orphans);
    --count->all;
  }
  copies_.erase(copy);
}

bool GivenUpCopies::has(SliceId slice, NodeIndex writer, StoreEpoch epoch) const {
  return find(slice, writer, epoch) != copies_.end();
}

GivenUpCopies::Copies::const_iterator GivenUpCopies::find(SliceId slice, NodeIndex writer,
                                                          StoreEpoch epoch) const {
  const auto [first, last] = copies_.equal_range(slice);
  const auto found = std::find_if(first, last, [&](const auto& copy) {
    return copy.second.writer == writer && copy.second.epoch == epoch;
  });
  return found == last ? copies_.end() : found;
}

void GivenUpCopies::append(std::vector<GivenUpCopy>& out) const {
  for (const auto& [slice, copy] : copies_) out.push_back({slice, copy.writer, copy.epoch, copy.orphan});
}

void GivenUpCopies::append_state(std::vector<std::uint64_t>& out) const {
  std::vector<std::uint64_t> rows;
  for (const auto& [slice, copy] : copies_) {
    rows.push_back(slice.value << 32U | std::uint64_t{copy.writer.value} << 16U | copy.epoch.value);
  }
  std::sort(rows.begin(), rows.end());
  out.push_back(rows.size());
  out.insert(out.end(), rows.begin(), rows.end());
}

}  // namespace weir::assignment
