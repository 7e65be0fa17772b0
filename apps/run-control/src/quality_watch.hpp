#pragma once

#include "parts.hpp"
#include <weir/control/quality.hpp>
#include <weir/histograms/booking.hpp>
#include <weir/reports/filter_histograms.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// The checks of control.quality, once a second during a run by what its supervisor reports, and at its end by
// the account.
class QualityWatch {
 public:
  // `folder`: of the records of earlier runs.
  QualityWatch(std::vector<control::QualityCheck> checks, std::string folder);

  // Takes a run's histograms, as its supervisor reports them.
  void take(RunNumber run, const reports::FilterHistogramList& list);
  // Each turn.
  void look(Parts& parts, UtcNs utc);
  [[nodiscard]] std::vector<control::Finding> findings() const;
  void add_to(v1::FarmView& view) const;

 private:
  struct Kept {
    histograms::Booking booking;
    std::vector<double> cells;
  };
  using ByName = std::map<std::string, Kept>;
  void keep(const reports::FilterHistogramList& list);
  void judge_all(DurationNs running);
  void read_references();
  // Annotates the run, unless an operator has judged it.
  void close(Parts& parts, const v1::RunSummary& account, UtcNs utc);

  std::vector<control::QualityCheck> checks_;
  std::string folder_;
  RunNumber run_;  // of all below
  RunNumber closed_;
  ByName histograms_;                           // those that are checked
  std::map<std::uint32_t, ByName> references_;  // by run
  std::vector<control::QualityVerdict> verdicts_;
  TimeNs next_look_ns_ = 0;
};

// Returns the fields with which the checks annotate a run; `judged`: it has a quality by an operator.
[[nodiscard]] run_record::RunFields quality_fields(const std::vector<control::QualityCheck>& checks,
                                                   const std::vector<control::QualityVerdict>& verdicts,
                                                   bool judged);

}  // namespace weir::run_control
