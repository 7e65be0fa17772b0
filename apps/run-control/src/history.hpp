#pragma once

#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <deque>
#include <string>

namespace weir::run_control {

// How a run ended, as FarmView.Run.outcome names it.
namespace outcome {
inline constexpr char kGood[] = "good";              // the ledger balances
inline constexpr char kFaults[] = "faults";          // it balances, with faults survived
inline constexpr char kUnbalanced[] = "unbalanced";  // it does not balance
inline constexpr char kNeverBegan[] = "never_began";
inline constexpr char kNoAccount[] = "no_account";  // its supervisor sent none
}  // namespace outcome

[[nodiscard]] v1::FarmView::Run run_of(const v1::RunSummary& summary);
// True if the run's supervisor gave an account.
[[nodiscard]] bool is_accounted(const v1::FarmView::Run& run);

// The farm's runs: a line of JSON each in a file that only grows; the last ones in memory. A later line of a
// run replaces an earlier one.
class History {
 public:
  // Lines that cannot be read are passed over, counted.
  History(std::string path, std::size_t kept_max);
  // Returns an error message, or an empty string if the file has the line. Memory has it in either case.
  // After an incomplete line it begins a new one.
  [[nodiscard]] std::string add(const v1::FarmView::Run& run);
  [[nodiscard]] const std::deque<v1::FarmView::Run>& runs() const { return runs_; }  // newest first
  [[nodiscard]] std::size_t unreadable() const { return unreadable_; }
  [[nodiscard]] std::uint32_t highest() const { return highest_; }  // run number; 0: none

 private:
  void keep(const v1::FarmView::Run& run);

  std::string path_;
  std::size_t kept_max_;
  std::deque<v1::FarmView::Run> runs_;
  std::size_t unreadable_ = 0;
  std::uint32_t highest_ = 0;
};

}  // namespace weir::run_control
