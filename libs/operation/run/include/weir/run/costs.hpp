#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// The processor time of a slice in each process, from farms that were measured (`weir bench costs`). Pure.
namespace weir::run {

// A farm of one DCM and its processor time, in microseconds per slice: of all processes of a role together,
// and only of the thread that moves their data.
struct MeasuredFarm {
  std::uint32_t readouts = 0;
  std::uint32_t sources = 0;  // of each readout
  std::uint32_t fragment_bytes = 0;
  bool stored = false;  // by one writer
  double readout = 0;
  double dcm = 0;
  double supervisor = 0;
  double writer = 0;
  double disk = 0;  // the writer's other thread
};

struct CostTable {
  std::string origin;  // machine and date
  std::vector<MeasuredFarm> farms;
};

// Returns the table that Weir comes with.
[[nodiscard]] const CostTable& built_in_costs();
// Returns the farms of a whole table, without times.
[[nodiscard]] std::vector<MeasuredFarm> farms_to_measure();
// Reads lines of `weir bench costs`. Errors: a sentence with the path and what to do.
[[nodiscard]] Expected<CostTable, std::string> read_costs(const std::string& path);
// Names the first farm that the table lacks; empty: the table is whole.
[[nodiscard]] std::string incomplete(const CostTable& table);

// The processes of a farm, with its sources and the size of a fragment.
struct FarmProcesses {
  std::uint32_t readouts = 1;
  std::uint32_t dcms = 1;
  std::uint32_t writers = 0;
  double sources = 1;          // of the farm
  double busiest_sources = 1;  // of the readout with the most
  double fragment_bytes = 0;   // mean
};

// Microseconds of a core per slice.
struct SliceCosts {
  double readout = 0;   // the busiest readout
  double readouts = 0;  // all together
  double dcm = 0;       // the slice's DCM
  double supervisor = 0;
  double writer = 0;  // the slice's writer
  double disk = 0;    // its writing to the file system

  [[nodiscard]] double all() const { return readouts + dcm + supervisor + writer + disk; }
};

// A farm's times as sums of those of a slice, a readout's block, a fragment, and a stored record. The last
// two depend on the size, linearly between measured sizes.
class CostModel {
 public:
  // Requires: incomplete(table) is empty.
  explicit CostModel(const CostTable& table);
  [[nodiscard]] SliceCosts of(const FarmProcesses& shape) const;

 private:
  using Curve = std::vector<std::pair<double, double>>;  // bytes and microseconds, ascending

  void fit_small(const CostTable& table);
  void fit_sizes(const CostTable& table);

  struct Role {
    double slice = 0;
    double block = 0;  // of each readout
    Curve fragment;
  };
  [[nodiscard]] static double at(const Curve& curve, double bytes);
  [[nodiscard]] static double time_of(const Role& role, double readouts, double sources, double bytes);

  Role readout_;
  Role readout_stored_;  // in a farm that stores its slices
  Role dcm_;
  Role supervisor_;
  double supervisor_stored_ = 0;
  Curve dcm_record_;
  Curve writer_record_;
  Curve disk_record_;
};

}  // namespace weir::run
