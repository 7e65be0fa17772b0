#pragma once

#include "front_end_check.hpp"
#include "scenario.hpp"
#include <weir/emulation/dummy_content.hpp>
#include <weir/storage/run_file_reader.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::sim {

// Checks the invariants of a finished run: the supervisor's account against itself, against the writers'
// files, and against the filter's expected decisions.
class RunCheck {
 public:
  // `front_ends`: null if there are none. `dcm_deaths`: of each DCM, those by its own filter included.
  RunCheck(const Scenario& scenario, SimFrontEnds* front_ends, const v1::RunSummary& account,
           const std::string& folder, std::vector<std::uint32_t> dcm_deaths);
  void run();
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t triggered() const { return triggered_; }
  [[nodiscard]] std::uint64_t stored() const { return stored_; }
  // Returns the sum of the hashes of the ids of all stored slices.
  [[nodiscard]] std::uint64_t stored_ids() const { return stored_ids_; }
  [[nodiscard]] std::uint64_t missing() const { return missing_; }
  [[nodiscard]] std::uint64_t corrupt() const { return corrupt_; }
  [[nodiscard]] std::uint64_t filter_alerts() const { return filter_alerts_; }
  [[nodiscard]] std::uint64_t refused_alerts() const { return counter("burst.alerts_refused"); }
  // Returns how many workers were replaced, in all DCMs.
  [[nodiscard]] std::uint64_t worker_restarts() const;
  // Returns null if the farm's sources make their fragments.
  [[nodiscard]] const FrontEndCheck* front_ends() const { return front_ends_ ? &*front_ends_ : nullptr; }

 private:
  void check_account();
  void check_fetches();
  void check_moves();
  void check_histograms();
  void check_filter_alerts();
  void check_saved_alerts();
  void check_files();
  [[nodiscard]] bool a_writer_was_unheard(const std::string& alert) const;
  void check_alert(const std::string& folder);
  void check_missing();
  void check_bytes(const storage::SliceRecordView& slice, const storage::FragmentView& fragment);
  void check_slice(const storage::SliceRecordView& slice);
  [[nodiscard]] std::vector<storage::RunFileReader> open_files();
  void fail(const std::string& problem);
  [[nodiscard]] std::uint64_t counter(const std::string& name) const;
  [[nodiscard]] bool a_readout_died() const;
  [[nodiscard]] bool a_readout_was_cut_off() const;
  [[nodiscard]] std::uint64_t dcms_disturbed() const;
  // With groups: one of each.
  [[nodiscard]] bool a_dcm_reached_all() const;
  [[nodiscard]] std::size_t group_of(std::size_t dcm) const;
  [[nodiscard]] bool is_killer(std::uint64_t slice) const;

  const Scenario& scenario_;
  const v1::RunSummary& account_;
  std::string folder_;
  std::vector<std::uint32_t> dcm_deaths_;
  std::string problem_;
  std::uint64_t triggered_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t stored_ids_ = 0;
  std::uint64_t incomplete_ = 0;  // of the stored slices
  std::uint64_t poison_ = 0;      // of the stored slices
  std::uint64_t missing_ = 0;
  std::uint64_t corrupt_ = 0;
  std::uint64_t filter_alerts_ = 0;
  std::uint64_t source_down_ = 0;  // of the stored slices
  std::uint64_t no_buffer_ = 0;
  std::uint64_t unexplained_ = 0;      // of the incomplete slices
  std::string why_;                    // the first unexplained one
  std::uint64_t innocent_poison_ = 0;  // stored unfiltered, and no filter dies of them
  std::optional<UtcNs> clock_begin_;   // time of slice 0, from the stored slices
  emulation::DummyVerifier verifier_;
  std::optional<FrontEndCheck> front_ends_;
};

}  // namespace weir::sim
