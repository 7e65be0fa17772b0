#include "window_delivery.hpp"

#include <weir/reports/numbers.hpp>

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace weir::readout {

std::vector<std::unique_ptr<source::FragmentSource>> WindowDelivery::sources() {
  std::vector<std::unique_ptr<source::FragmentSource>> list;
  for (const source::TimeWindows::OneSource& one : windows_.sources())
    list.push_back(std::make_unique<source::WindowedSource>(one.ring.source(), windows_));
  return list;
}

void WindowDelivery::begin_run(std::optional<UtcNs> from) {
  timeless_.clear();
  windows_.begin_run(from);
}

source::Delivery WindowDelivery::add(SourceId source, SliceId slice, source::SourceFragment fragment,
                                     const Stamp& stamp, UtcNs utc) {
  // From a host of sources that has ended: it names slices. Losses of pieces have no time here; progress
  // reports them as a gap.
  if (!stamp.has_time && fragment.reason == MissingReason::source_down) {
    windows_.close(source, slice);
    return buffer_->deliver(source, slice, std::move(fragment), *sink_);
  }
  if (!stamp.has_time && fragment.status == FragmentStatus::missing) return source::Delivery::taken;
  if (!stamp.has_time) {
    timeless_.insert(source);
    windows_.add_timeless(source);
    return source::Delivery::taken;
  }
  source::Piece piece{stamp.time, stamp.duration, fragment.status, fragment.bytes, std::move(fragment.owner)};
  windows_.add(source, std::move(piece), utc);
  deliver_made();
  return source::Delivery::taken;
}

void WindowDelivery::pass(SourceId source, UtcNs time, bool gap, UtcNs utc) {
  windows_.pass(source, time, gap, utc);
  deliver_made();
}

void WindowDelivery::deliver_made() {
  if (!windows_.has_made()) return;
  for (source::MadeWindow& one : windows_.take_made())
    (void)buffer_->deliver(one.source, one.slice, std::move(one.fragment), *sink_);
}

void WindowDelivery::add_to(v1::Report& report) const {
  const source::PieceCounters pieces = windows_.counters();
  reports::ReportCounters counters(report);
  counters["pieces.received"] = pieces.received;
  counters["pieces.placed"] = pieces.placed;
  counters["pieces.unplaced"] = pieces.unplaced;
  counters["pieces.held"] = pieces.held;
  counters["pieces.copies"] = pieces.copies;
  for (std::size_t i = 0; i < pieces.dropped.size(); ++i) {
    const auto reason = static_cast<source::PieceDrop>(i);
    if (pieces.dropped[i] > 0) counters.of("pieces.dropped.", source::name(reason)) = pieces.dropped[i];
  }
  counters["readout.windows"] = pieces.windows;
  counters["readout.windows_forced"] = pieces.forced;
  counters["readout.windows_cut"] = pieces.cut;
  reports::Gauges gauges(report);
  gauges["ring_bytes_used"] = static_cast<double>(pieces.bytes_held);
  // A line per source, for the summary: id, least and median delay in ns.
  std::string& delays = (*report.mutable_notes())["delays"];
  std::size_t reported = 0;
  for (const source::TimeWindows::OneSource& one : windows_.sources()) {
    if (one.delays.count() == 0) continue;
    if (++reported > kSourcesReported) break;
    fmt::format_to(std::back_inserter(delays), "{} {} {}\n", one.ring.source().value, one.delays.least(),
                   one.delays.median());
  }
}

void WindowDelivery::add_losses(reports::LossWatch& losses) const {
  using Stage = reports::LossWatch::Stage;
  for (const source::TimeWindows::OneSource& one : windows_.sources()) {
    const source::PieceCounters& pieces = one.ring.counters();
    if (pieces.received == 0) continue;
    losses.set_reached(one.ring.source(), Stage::pieces, pieces.received);
    for (std::size_t i = 0; i < pieces.dropped.size(); ++i) {
      const auto reason = static_cast<source::PieceDrop>(i);
      if (reason == source::PieceDrop::run_ended || pieces.dropped[i] == 0) continue;
      losses.set_lost(one.ring.source(), Stage::pieces, source::name(reason), pieces.dropped[i]);
    }
  }
}

std::string WindowDelivery::fault() const {
  if (timeless_.empty()) return {};
  std::string text = "source " + std::to_string(timeless_.begin()->value);
  if (timeless_.size() > 1) text += " and " + std::to_string(timeless_.size() - 1) + " more";
  return text +
         ": data without a time were thrown away; with build.by: time its front-end has to send the time of "
         "its data";
}

}  // namespace weir::readout
