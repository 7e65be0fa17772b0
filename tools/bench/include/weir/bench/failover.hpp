#pragma once

#include <weir/bench/changing_farm.hpp>
#include <weir/bench/experiment.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Figure 6.10 of Jereczek's thesis (2017): the rate of DCMs over time while a part of one of two planes fails
// and returns. Pure.
namespace weir::bench {

constexpr std::uint32_t kPlanes = 2;
constexpr std::uint32_t kDcmHosts = 2;

// Returns the host of this DCM, from 0.
[[nodiscard]] std::uint32_t host_of_dcm(const ExperimentSetting& setting, std::uint32_t dcm);
// Returns the DCMs with data through the part that fails.
[[nodiscard]] std::vector<std::string> affected_dcms(const ExperimentSetting& setting);

// Counts of processes over the run's time, as they reported them.
struct FailoverTrace {
  std::map<std::string, std::vector<StoredUntil>> arrived;  // bytes, by DCM
  std::map<std::string, std::vector<StoredUntil>> resent;   // TCP segments, by readout

  // Takes the new reports of a farm. Times are those of the processes' monotonic clock.
  void take(const v1::FarmView& view);
  // Counts times from this one on.
  void begin_at(double begin_s);
};

// The rate over time, as curves; lowest and mean rates around the cut; the moves between planes.
// `theory`: bytes per second that the DCMs may receive at most.
[[nodiscard]] Line failover_of(const FailoverTrace& trace, const ExperimentPoint& point,
                               const ExperimentTimes& times,
                               const std::vector<run_record::PlaneChange>& moves, double theory);
// Adds them and the losses of the run to its figures.
void take_failover(const FailoverTrace& trace, const ExperimentPoint& point, const ExperimentTimes& times,
                   const run_record::Summary& summary, Line& figures);

// A row for each run, with an explanation.
[[nodiscard]] std::string failover_table(const Lines& lines);

}  // namespace weir::bench
