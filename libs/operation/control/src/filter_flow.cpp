#include <weir/base/assert.hpp>
#include <weir/control/filter_flow.hpp>

#include <algorithm>

namespace weir::control {
namespace {

bool is_of_another_process(const FilterFlow::Counts& now, const FilterFlow::Counts& before) {
  if (now.filtered < before.filtered || now.errors < before.errors || now.poisoned < before.poisoned)
    return true;
  return std::any_of(before.ends.begin(), before.ends.end(), [&now](const auto& one) {
    const auto found = now.ends.find(one.first);
    return found == now.ends.end() || found->second < one.second;
  });
}

// "signal 11 (Segmentation fault)" of "signal: signal 11 (Segmentation fault)".
std::string without_kind(const std::string& end) {
  const std::size_t colon = end.find(": ");
  return colon == std::string::npos ? end : end.substr(colon + 2);
}

}  // namespace

void FilterFlow::take(const std::string& dcm, const Counts& counts, TimeNs now) {
  std::deque<Look>& looks = dcms_[dcm];
  if (!looks.empty() && is_of_another_process(counts, looks.back().counts)) {
    // It began after the last report of the one before it.
    const TimeNs began = looks.back().at;
    looks.assign(1, {began, {}});
  }
  looks.push_back({now, counts});
  while (looks.size() > 2 && looks[1].at <= now - kWindow) looks.pop_front();
}

std::vector<FilterLately> FilterFlow::lately(TimeNs now) const {
  std::map<std::string, FilterLately> groups;
  for (const auto& [dcm, looks] : dcms_) {
    if (looks.size() < 2 || looks.back().at <= now - kWindow) continue;
    WEIR_ASSERT(looks.front().at <= looks.back().at);
    const Counts& first = looks.front().counts;
    const Counts& last = looks.back().counts;
    FilterLately& sum = groups[last.group];
    sum.group = last.group;
    sum.filtered += last.filtered - first.filtered;
    sum.errors += last.errors - first.errors;
    sum.poisoned += last.poisoned - first.poisoned;
    sum.filtered_in_all += last.filtered;
    std::uint64_t ended = 0;
    for (const auto& [reason, total] : last.ends) {
      const auto before = first.ends.find(reason);
      const std::uint64_t count = total - (before == first.ends.end() ? 0 : before->second);
      if (count > 0) sum.ends[reason] += count;
      ended += count;
    }
    if (last.errors > first.errors && sum.error.empty() && !last.error.empty())
      sum.error = dcm + ": " + last.error;
    if (ended > 0 && sum.end.empty() && !last.end.empty()) sum.end = dcm + ": " + without_kind(last.end);
  }
  std::vector<FilterLately> found;
  for (auto& [group, sum] : groups) {
    if (sum.errors + sum.poisoned > 0 || !sum.ends.empty()) found.push_back(std::move(sum));
  }
  return found;
}

}  // namespace weir::control
