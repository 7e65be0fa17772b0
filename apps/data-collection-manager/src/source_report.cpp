#include "source_report.hpp"

#include <weir/reports/fairness.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/source_counts.hpp>

#include <utility>
#include <vector>

namespace weir::dcm {

void add_flows(v1::Report& report, const assembly::Assembler& assembler, std::uint32_t readouts) {
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t readout = 0; readout < readouts; ++readout) {
    const auto sources = assembler.sources_of(readout);
    if (sources.empty()) continue;
    std::uint64_t& sum = bytes.emplace_back();
    for (const assembly::SourceIndex source : sources) sum += assembler.tallies().arrived(source).bytes;
  }
  reports::Gauges gauges(report);
  gauges["dcm.flows"] = static_cast<double>(bytes.size());
  gauges["dcm.flow_fairness"] = reports::fairness_of(bytes);
}

void add_sources(v1::Report& report, const assembly::Assembler& assembler, TimeNs now_ns, UtcNs utc_ns) {
  const assembly::SourceTallies& tallies = assembler.tallies();
  std::vector<reports::SourceRank> ranks(tallies.size());
  std::uint64_t losing = 0;
  for (std::size_t place = 0; place < ranks.size(); ++place) ranks[place].place = place;
  for (std::size_t i = 1; i < kMissingReasons; ++i) {
    const auto reason = static_cast<MissingReason>(i);
    if (!tallies.has(reason)) continue;
    const bool lost = reports::is_loss(name(reason));
    for (reports::SourceRank& rank : ranks) {
      const std::uint64_t missing = tallies.missing(rank.place, reason);
      rank.missing += missing;
      if (lost) rank.lost += missing;
    }
  }
  for (reports::SourceRank& rank : ranks) rank.lost += assembler.sources()[rank.place].corrupt;
  for (const reports::SourceRank& rank : ranks) losing += rank.missing > 0 ? 1U : 0U;
  std::vector<reports::SourceRow> rows;
  for (const std::size_t place : reports::worst_sources(std::move(ranks))) {
    const assembly::SourceTally& arrived = tallies.arrived(place);
    reports::SourceRow& row = rows.emplace_back();
    row.source = assembler.sources()[place].id;
    row.received = arrived.received;
    row.bytes = arrived.bytes;
    row.corrupt = assembler.sources()[place].corrupt;
    if (arrived.received > 0) row.seen_utc_ms = (utc_ns - (now_ns - arrived.last_ns)) / kMillisecond;
    for (std::size_t i = 1; i < kMissingReasons; ++i) {
      const auto reason = static_cast<MissingReason>(i);
      if (const std::uint64_t missing = tallies.missing(place, reason); missing > 0)
        row.missing.emplace(name(reason), missing);
    }
  }
  reports::put_sources(rows, tallies.size(), *report.mutable_sources());
  report.mutable_sources()->set_losing(losing);
}

}  // namespace weir::dcm
