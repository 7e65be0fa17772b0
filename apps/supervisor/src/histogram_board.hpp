#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/histograms/booking.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weir::supervisor {

// The histograms of a run: adds up the totals that DCMs report. Pure.
class HistogramBoard {
 public:
  static constexpr std::size_t kCellsMax = 4 * histograms::kCellsMax;  // of all names

  // Takes the totals of a DCM's process; they replace its earlier ones. Returns a sentence if a histogram is
  // damaged, has another binning than elsewhere, or does not fit; empty otherwise.
  [[nodiscard]] std::string take(const std::string& dcm, Incarnation process, const v1::Report& report);
  // A process ended before its final report: its entries since the last one are lost, unless it returns.
  void lost(const std::string& dcm, Incarnation process);
  void returned(const std::string& dcm, Incarnation process);
  // The supervisor was restarted: DCMs have dropped the entries of slices that it had settled without their
  // knowledge.
  void supervisor_restarted() { losses_["supervisor"].earlier = true; }
  // Adds the totals of a process to its report, for the journal.
  void add_totals(const std::string& dcm, Incarnation process, v1::Report& report) const;
  // Returns the totals that add_totals() gives for no process, of processes with a successor; `incomplete`
  // names the DCMs with lost processes. For the journal.
  [[nodiscard]] std::vector<v1::FilterHistogram> earlier() const;
  // Takes them back after a restart, before all reports. Returns as take().
  [[nodiscard]] std::string recall(std::span<const v1::FilterHistogram> earlier);

  // Adds changed histograms in turn, as reports::HistogramReporter does.
  void add_changed(v1::Report& report);
  void add_all(v1::RunSummary& summary) const;
  // Returns the names of DCMs with lost processes, and of a restarted supervisor; none without histograms.
  [[nodiscard]] std::string incomplete() const;

 private:
  using Cells = std::vector<double>;
  struct Totals {
    Incarnation process;
    Cells cells;
  };
  struct Histogram {
    histograms::Booking booking;
    std::string first;                   // the DCM that booked it first
    std::map<std::string, Totals> last;  // by DCM: of its last process
    Cells earlier;                       // of the processes before these
    bool changed = true;
  };

  [[nodiscard]] Expected<Histogram*, std::string> of(const std::string& dcm, const v1::FilterHistogram& from);
  void put(const Histogram& histogram, v1::FilterHistogram& out) const;

  std::map<std::string, Histogram> by_name_;
  std::size_t cells_ = 0;
  struct Loss {
    Incarnation last;
    bool is_lost = false;  // the last one
    bool earlier = false;  // one before it
  };
  [[nodiscard]] std::vector<std::string> losers() const;
  std::map<std::string, Loss> losses_;  // by DCM
  std::string next_;                    // name to report first
};

}  // namespace weir::supervisor
