#pragma once

#include <weir/base/ids.hpp>
#include <weir/reports/loss_watch.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// Counts of each source in reports, the sources with the highest losses first.
namespace weir::reports {

constexpr std::size_t kSourceRowsMax = 1024;  // sources of one report
constexpr std::size_t kSourcesNamed = 5;      // where people read lines of text

// True: a fragment that is missing for this reason is lost. Others never existed, or are absent on purpose.
[[nodiscard]] bool is_loss(std::string_view missing_reason);

struct SourceRow {
  SourceId source;
  std::string readout;                           // name; empty in reports of DCMs and readouts
  std::uint64_t received = 0;                    // by DCMs
  std::uint64_t bytes = 0;                       // of `received`
  std::uint64_t produced = 0;                    // delivered to the readout
  std::uint64_t corrupt = 0;                     // of `received`: kept with a wrong checksum
  std::int64_t seen_utc_ms = 0;                  // arrival of the last fragment; 0: none
  std::map<std::string, std::uint64_t> missing;  // by reason, at DCMs
  std::map<std::string, std::uint64_t> dropped;  // by reason, by the readout

  [[nodiscard]] std::uint64_t lost() const;
  [[nodiscard]] std::uint64_t missing_in_all() const;
};

// "source 17 at readout-3: 5 123 of 20 000 fragments missing (deadline 5 000, gap 123), last seen 14:03:05
// UTC"
[[nodiscard]] std::string describe(const SourceRow& row);
[[nodiscard]] std::string time_of_day(std::int64_t utc_ms);  // "14:03:05 UTC", or "never"

// The loss of a process' source, by its place there.
struct SourceRank {
  std::uint64_t lost = 0;  // missing or corrupt
  std::uint64_t missing = 0;
  std::size_t place = 0;
};
// Returns the places of the kSourceRowsMax worst sources, the worst first.
[[nodiscard]] std::vector<std::size_t> worst_sources(std::vector<SourceRank> ranks);

// Writes rows, at most kSourceRowsMax of `sources`. Corrupt fragments become a reason of the column
// `dropped`.
void put_sources(std::span<const SourceRow> rows, std::size_t sources, v1::SourceCounts& out);
// Reads rows; those with places or names that are out of range lack these.
[[nodiscard]] std::vector<SourceRow> source_rows(const v1::SourceCounts& from);
// Returns a sentence for each of the worst sources with missing fragments, at most `most`, and the number of
// others.
[[nodiscard]] std::vector<std::string> worst_lines(const v1::SourceCounts& from, std::size_t most);
// Returns "source 17 at readout-3", the one with the highest loss; empty if no source has lost any.
[[nodiscard]] std::string worst_source(const v1::SourceCounts& from);

// Sets the number of the source's requested fragments that are lost. `on_purpose`: source.faults drops some,
// so missed deadlines and gaps are expected and left out.
void note_missing(const SourceRow& row, bool on_purpose, LossWatch& losses);
// Sets the number of the source's received fragments that are corrupt. `on_purpose`: source.faults damages
// some.
void note_corrupt(const SourceRow& row, bool on_purpose, LossWatch& losses);

// Sources that have stopped, as text of the readout's report; empty: none.
void note_silent_sources(v1::Report& report, const std::string& text);
[[nodiscard]] std::string silent_sources(const v1::Report& readout);

// Sources out of step, as text of the readout's report; empty: none.
void note_out_of_step(v1::Report& report, const std::string& text);
[[nodiscard]] std::string out_of_step(const v1::Report& readout);

// Adds up the sources of all processes' reports.
class SourceSums {
 public:
  // `readout_of`: the sources of the farm, and the names of their readouts. Other sources are ignored.
  explicit SourceSums(const std::unordered_map<std::uint32_t, std::string>& readout_of)
      : readout_of_(readout_of) {}

  // `is_lost`: the process ended; its counts after the report are in no sum, unless it is the final one.
  void add(const v1::Report& report, bool is_lost);
  // Some reports are not here any more.
  void set_partial() { partial_ = true; }
  void write(v1::SourceCounts& out) const;

 private:
  const std::unordered_map<std::uint32_t, std::string>& readout_of_;
  std::unordered_map<std::uint32_t, SourceRow> rows_;
  std::set<std::string> incomplete_;
  std::uint64_t losing_ = 0;
  bool partial_ = false;
};

}  // namespace weir::reports
