#pragma once

#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::reports {

// Writes the texts of a DCM's first filter error and first poison slice into its report; empty: none.
void note_filter_failure(v1::Report& report, std::string_view first_error, std::string_view first_poison);
// Likewise why a filter worker last ended.
void note_worker_end(v1::Report& report, std::string_view last_end);
// Likewise the last filter error, and the number of the slice that its filter has held for too long.
void note_filter_now(v1::Report& report, std::string_view last_error, std::string_view held_slice);

// The texts about a filter in its DCM's report; empty: none.
struct FilterNotes {
  std::string group;
  std::string last_error;
  std::string last_end;  // of a worker
  std::string held_slice;
};
[[nodiscard]] FilterNotes filter_notes(const v1::Report& dcm);

// Finds groups of DCMs with a filter that fails for more than a given share of its slices, or with workers
// that end that often. Each group runs a filter of its own, so it has a share of its own. Ends for want of
// memory do not count.
class FilterFailures {
 public:
  static constexpr std::uint64_t kSlicesMin = 20;   // fewer are ignored, whatever their share
  static constexpr std::uint64_t kRestartsMin = 3;  // likewise

  // `share_max` of 1: no share is too high.
  explicit FilterFailures(double share_max) : share_max_(share_max) {}
  // Adds the last report of a DCM's process.
  void add(const v1::Report& dcm);
  // Returns a sentence for each group and cause.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  struct Tally {
    std::uint64_t filtered = 0;
    std::uint64_t errors = 0;
    std::uint64_t poisoned = 0;
    std::map<std::string, std::uint64_t> ends;  // of workers, by reason, without `memory`
    std::string first_error;                    // with the DCM's name, likewise the following
    std::string first_poison;
    std::string last_end;
  };
  [[nodiscard]] bool is_too_much(std::uint64_t count, const Tally& tally) const;
  void add_failed(const std::string& filter, const Tally& tally, std::vector<std::string>& faults) const;
  void add_restarted(const std::string& filter, const Tally& tally, std::vector<std::string>& faults) const;

  double share_max_;
  std::map<std::string, Tally> groups_;  // by name; empty in a farm without groups
};

}  // namespace weir::reports
