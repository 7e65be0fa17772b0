#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace weir::control {

// Counts of a filter over the last seconds. In a farm with groups of DCMs each group has a filter of its own.
struct FilterLately {
  std::string group;  // empty in a farm without groups
  std::uint64_t filtered = 0;
  std::uint64_t errors = 0;                   // part of `filtered`, likewise `poisoned`
  std::uint64_t poisoned = 0;                 // ended their worker as often as a slice may
  std::map<std::string, std::uint64_t> ends;  // of workers, by reason: "signal", "timeout"
  std::uint64_t filtered_in_all = 0;          // since these processes began
  std::string error;                          // the last one: "dcm-0: KeyError: 'x' (my_filter.py:31)"
  std::string end;                            // why a worker last ended, likewise
  bool operator==(const FilterLately&) const = default;
};

// Measures how the filters of a farm do, from the reports of its DCMs. Pure; times ascend.
class FilterFlow {
 public:
  struct Counts {
    std::string group;
    std::uint64_t filtered = 0;  // totals of one process
    std::uint64_t errors = 0;
    std::uint64_t poisoned = 0;
    std::map<std::string, std::uint64_t> ends;
    std::string error;
    std::string end;
  };
  // Adds the totals that a DCM's process reports. Smaller ones than before are those of a new process.
  void take(const std::string& dcm, const Counts& counts, TimeNs now);
  void clear() { dcms_.clear(); }

  // Returns the sums over the last kWindow, one per group in which a slice failed or a worker ended.
  [[nodiscard]] std::vector<FilterLately> lately(TimeNs now) const;

  static constexpr DurationNs kWindow = 10 * kSecond;

 private:
  struct Look {
    TimeNs at = 0;
    Counts counts;
  };
  std::map<std::string, std::deque<Look>> dcms_;
};

}  // namespace weir::control
