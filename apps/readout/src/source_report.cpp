#include "source_report.hpp"

#include <weir/reports/source_counts.hpp>

#include <utility>
#include <vector>

namespace weir::readout {

void add_sources(v1::Report& report, const source::FragmentBuffer& buffer, TimeNs now_ns, UtcNs utc_ns) {
  std::vector<reports::SourceRank> ranks;
  for (std::size_t place = 0; place < buffer.sources().size(); ++place) {
    std::uint64_t dropped = 0;
    for (const std::uint64_t count : buffer.drops_of(place).dropped) dropped += count;
    ranks.push_back({dropped, dropped, place});
  }
  std::vector<reports::SourceRow> rows;
  for (const std::size_t place : reports::worst_sources(std::move(ranks))) {
    const source::SourceDrops counts = buffer.drops_of(place);
    reports::SourceRow& row = rows.emplace_back();
    row.source = buffer.sources()[place];
    row.produced = counts.reached;
    if (counts.last_ns > 0) row.seen_utc_ms = (utc_ns - (now_ns - counts.last_ns)) / kMillisecond;
    for (std::size_t i = 0; i < counts.dropped.size(); ++i) {
      if (counts.dropped[i] > 0)
        row.dropped.emplace(source::name(static_cast<source::DropReason>(i)), counts.dropped[i]);
    }
  }
  reports::put_sources(rows, buffer.sources().size(), *report.mutable_sources());
}

}  // namespace weir::readout
