#pragma once

#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <deque>
#include <string>

namespace weir::run_record {

// Values of FarmView.Run.outcome.
namespace outcome {
inline constexpr char kGood[] = "good";              // the ledger balances
inline constexpr char kFaults[] = "faults";          // it balances, with faults survived
inline constexpr char kFailed[] = "failed";          // it balances, and the run failed: Run.failure
inline constexpr char kUnbalanced[] = "unbalanced";  // it does not balance
inline constexpr char kNeverBegan[] = "never_began";
inline constexpr char kNoAccount[] = "no_account";  // its supervisor sent none
}  // namespace outcome

[[nodiscard]] v1::FarmView::Run run_of(const v1::RunSummary& summary);
// True if the run's supervisor gave an account.
[[nodiscard]] bool is_accounted(const v1::FarmView::Run& run);

// Returns the run's line of JSON without its end; empty: it cannot be made.
[[nodiscard]] std::string line_of(const v1::FarmView::Run& run);
// Appends the run's line of JSON to the file at `path`, on a line of its own even if the last line was cut.
// Returns an error for people; empty: the file has the line.
[[nodiscard]] std::string append_run(const std::string& path, const v1::FarmView::Run& run);

// The runs of a farm: a line of JSON each in a file that only grows, the last ones also in memory. A later
// line of a run replaces an earlier one.
class RunHistory {
 public:
  // Skips and counts lines that cannot be read.
  RunHistory(std::string path, std::size_t kept_max);
  // Keeps the run in memory and appends it to the file. Returns as append_run().
  [[nodiscard]] std::string add(const v1::FarmView::Run& run);
  // Keeps the run in memory only: another process writes its line.
  void keep(const v1::FarmView::Run& run);
  [[nodiscard]] const std::deque<v1::FarmView::Run>& runs() const { return runs_; }  // newest first
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }
  [[nodiscard]] std::uint32_t highest() const { return highest_; }  // run number; 0: none

 private:
  std::string path_;
  std::size_t kept_max_;
  std::deque<v1::FarmView::Run> runs_;
  std::size_t unreadable_ = 0;
  std::uint32_t highest_ = 0;
};

}  // namespace weir::run_record
