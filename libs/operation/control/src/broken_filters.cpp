#include "findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::control {
namespace {

constexpr DurationNs kHeld = 10 * kSecond;  // in a filter, before it is reported
constexpr std::uint64_t kFilteredMin = 20;  // slices, before a share is an error
constexpr std::uint64_t kEndsMin = 3;       // of workers, likewise

struct EndWords {
  std::string_view reason;
  std::string_view word;
  std::string_view advice;
};
constexpr std::array<EndWords, 6> kEnds = {{
    {"signal", "filter workers crash", "the debug stream has these slices with the backtrace"},
    {"exit", "filter workers exit", "the filter or a library of it ends its process"},
    {"memory", "filter workers run out of memory",
     "correct the filter, or raise filter.workers.memory_bytes"},
    {"timeout", "filter workers hang",
     "longer than filter.timeout_ms over one slice; the debug stream has these slices with the backtrace"},
    {"corrupt", "filter workers are damaged", "the filter writes outside of its memory"},
    {"start", "filter workers do not start", "the DCM's log has the reason"},
}};

const EndWords& words_of(const std::map<std::string, std::uint64_t>& ends) {
  const auto most = std::max_element(ends.begin(), ends.end(), [](const auto& left, const auto& right) {
    return left.second < right.second;
  });
  const auto found = std::find_if(kEnds.begin(), kEnds.end(),
                                  [&](const EndWords& one) { return one.reason == most->first; });
  return found == kEnds.end() ? kEnds[1] : *found;
}

bool filters_hang(const HealthView& view, Findings& out) {
  std::vector<std::string> held;
  std::string first;
  bool in_workers = false;
  DurationNs longest = 0;
  for (const HealthView::Process& one : view.processes) {
    if (one.removed || !one.live || one.filter_held_ns < kHeld) continue;
    const std::string slice = one.filter_held.empty() ? "a slice" : "slice " + one.filter_held;
    held.push_back(one.name + "'s filter holds " + slice);
    longest = std::max(longest, one.filter_held_ns);
    if (first.empty()) first = one.name;
    in_workers = in_workers || one.has_workers;
  }
  if (held.empty()) return false;
  out.push_back({Gravity::error, "filter hangs",
                 list(held) + (in_workers ? ": filter.timeout_ms ends such slices"
                                          : ": weir ctl kill " + first +
                                                ", and for the next run filter.isolation: worker"),
                 longest});
  return true;
}

bool is_too_much(const HealthView& view, std::uint64_t count, const FilterLately& filter) {
  if (view.filter_error_share_max >= 1 || filter.filtered_in_all < kFilteredMin) return false;
  return static_cast<double>(count) > view.filter_error_share_max * static_cast<double>(filter.filtered);
}

std::string of_slices(std::uint64_t count, const FilterLately& filter) {
  const double share =
      filter.filtered == 0 ? 1 : static_cast<double>(count) / static_cast<double>(filter.filtered);
  return percent(share) + " of the slices of the last " + whole_seconds(FilterFlow::kWindow) +
         " went unfiltered (" + std::to_string(count) + " of " + std::to_string(filter.filtered) + ")";
}

bool workers_end(const HealthView& view, const FilterLately& filter, Findings& out) {
  if (filter.ends.empty()) return false;
  std::uint64_t ends = 0;
  for (const auto& [reason, count] : filter.ends) ends += count;
  const EndWords& words = words_of(filter.ends);
  std::string text = filter.group.empty() ? "" : "group " + filter.group + ", ";
  text += filter.end.empty() ? "" : filter.end + ": ";
  text += filter.poisoned > 0 ? of_slices(filter.poisoned, filter)
                              : counted(ends, "time") + " in the last " + whole_seconds(FilterFlow::kWindow) +
                                    ", and each slice was filtered by another worker";
  text += "; " + std::string(words.advice);
  const bool grave =
      is_too_much(view, filter.poisoned, filter) || (ends >= kEndsMin && is_too_much(view, ends, filter));
  out.push_back({grave ? Gravity::error : Gravity::warning, std::string(words.word), std::move(text)});
  return true;
}

void filter_fails(const HealthView& view, const FilterLately& filter, Findings& out) {
  // Slices that end a DCM have no worker's end.
  const bool alone = filter.ends.empty();
  const std::uint64_t failed = filter.errors + (alone ? filter.poisoned : 0);
  if (failed == 0) return;
  std::string text = filter.group.empty() ? "" : "group " + filter.group + ": ";
  text += of_slices(failed, filter);
  if (filter.errors > 0)
    text += ": " + (filter.error.empty() ? "the DCMs' logs have the reason" : filter.error);
  if (filter.errors == 0) text += ": they killed their DCM too often";
  out.push_back({is_too_much(view, failed, filter) ? Gravity::error : Gravity::warning, "filter fails",
                 std::move(text)});
}

}  // namespace

bool broken_filters(const HealthView& view, Findings& out) {
  bool slow = filters_hang(view, out);
  for (const FilterLately& filter : view.filters) slow = workers_end(view, filter, out) || slow;
  for (const FilterLately& filter : view.filters) filter_fails(view, filter, out);
  return slow;
}

}  // namespace weir::control
