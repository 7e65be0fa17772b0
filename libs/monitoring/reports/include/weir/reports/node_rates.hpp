#pragma once

#include <weir/base/time.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>

namespace weir::v1 {
class Report;
}

namespace weir::reports {

// The main counts of a node's report, by its role.
struct NodeTotals {
  std::uint64_t slices = 0;  // triggered, made, assigned, stored
  std::uint64_t bytes = 0;   // of fragments sent or built, or stored
  std::uint64_t lost = 0;    // slices discarded, fragments dropped or missing, dead copies
  std::uint64_t stored = 0;  // the supervisor's
  std::uint64_t rejected = 0;
  double cpu_s = 0;
};
[[nodiscard]] NodeTotals node_totals(const v1::Report& report);

// Rates of one node between two of its reports, as used by the page, the live view of `weir run` and `weir
// top`. Pure.
class NodeRates {
 public:
  // Takes the node's last report, possibly the same as before, at `seen_ns` (any clock). A report that is not
  // renewed for three of its intervals and at least a second has no rates any more, and neither has a final
  // one.
  void take(const v1::Report& report, TimeNs seen_ns);
  // Forgets the report: the node has left, or its report is no longer valid.
  void clear();

  [[nodiscard]] bool measured() const { return measured_; }
  [[nodiscard]] double slices_per_s() const { return per_s(static_cast<double>(slices_)); }
  [[nodiscard]] double bytes_per_s() const { return per_s(static_cast<double>(bytes_)); }
  [[nodiscard]] double stored_per_s() const { return per_s(static_cast<double>(stored_)); }
  [[nodiscard]] double rejected_per_s() const { return per_s(static_cast<double>(rejected_)); }
  [[nodiscard]] double cores() const { return per_s(cpu_s_); }  // number of busy cores
  // Returns the build times of slices between the last two reports, in us.
  [[nodiscard]] const metrics::ValueHistogram& built_us() const { return built_us_; }

 private:
  [[nodiscard]] double per_s(double count) const;
  void measure(const NodeTotals& totals, const metrics::ValueHistogram& built_us, TimeNs now_ns);

  bool known_ = false;
  bool measured_ = false;
  std::uint64_t incarnation_ = 0;
  TimeNs now_ns_ = 0;   // of the report, by the node's clock
  TimeNs seen_ns_ = 0;  // when it was received, by the caller's clock
  DurationNs passed_ns_ = 0;
  NodeTotals totals_;
  metrics::ValueHistogram built_us_total_;
  std::uint64_t slices_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t rejected_ = 0;
  double cpu_s_ = 0;
  metrics::ValueHistogram built_us_;
};

}  // namespace weir::reports
