// The DCM's reports to the supervisor, at the status interval and at the end.
#include "dcm_node.hpp"
#include "source_report.hpp"
#include <weir/node/report.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <fstream>

namespace weir::dcm {
namespace {

using assembly::BuildState;

void add_fragments(v1::Report& report, const assembly::FragmentCounters& fragments) {
  reports::ReportCounters counters(report);
  counters["fragments.cancelled"] = fragments.cancelled;
  counters["fragments.requested"] = fragments.requested;
  counters["fragments.received"] = fragments.received;
  counters["fragments.truncated"] = fragments.truncated;
  counters["fragments.suppressed"] = fragments.suppressed;
  counters["fragments.out_of_step"] = fragments.out_of_step;
  counters["fragments.corrupt"] = fragments.corrupt;
  counters["fragments.asked_again"] = fragments.asked_again;
  counters["fragments.late"] = fragments.late;
  counters["fragments.duplicate"] = fragments.duplicate;
  counters["fragments.unknown"] = fragments.unknown;
  counters["fragments.bytes"] = fragments.bytes;
  if (fragments.prefetched > 0) {
    counters["prefetch.fragments"] = fragments.prefetched;
    counters["prefetch.used"] = fragments.prefetch_used;
    counters["prefetch.unused"] = fragments.prefetch_unused;
    counters["prefetch.bytes"] = fragments.prefetch_bytes;
    counters["prefetch.wasted_bytes"] = fragments.prefetch_wasted_bytes;
  }
  for (std::size_t i = 1; i < fragments.missing.size(); ++i) {
    if (fragments.missing[i] == 0) continue;
    counters.of("fragments.missing.", name(static_cast<MissingReason>(i))) = fragments.missing[i];
    if (fragments.overtaken[i] > 0)
      counters.of("fragments.overtaken.", name(static_cast<MissingReason>(i))) = fragments.overtaken[i];
  }
}

void add_shaper(v1::Report& report, const shaping::Shaper& shaper) {
  reports::Gauges gauges(report);
  gauges["shaper.window"] = static_cast<double>(shaper.window());
  gauges["shaper.outstanding"] = static_cast<double>(shaper.outstanding());
  gauges["shaper.base_us"] = static_cast<double>(shaper.base_ns()) / kMicrosecond;
}

void write_trace(const std::string& path, const ArrivalTrace& trace) {
  std::ofstream file(path);
  file << trace.csv();
  if (!file.flush()) return spdlog::warn("cannot write trace file={}", path);
  if (trace.left_out() > 0) spdlog::warn("trace is full file={} left_out={}", path, trace.left_out());
}

}  // namespace

void DcmNode::close_run() {
  if (course_.phase() == DcmPhase::ending && filter_.in_flight() == 0 &&
      course_.may_report_finally(admission_.in_flight() == 0, now_ns_)) {
    filter_.end_run();
    course_.close();
    if (readouts_.trace().on()) write_trace(settings_.trace_file, readouts_.trace());
  }
  if (course_.phase() == DcmPhase::over && !filter_has_ended_) filter_has_ended_ = filter_.poll_end();
}

Workload DcmNode::workload() const {
  Workload load;
  load.held_back = builder_.slices.in(BuildState::held_back).size();
  load.with_filter = builder_.slices.in(BuildState::queued).size() +
                     builder_.slices.in(BuildState::suspect).size() + filter_.in_flight();
  load.units = settings_.processing_units;
  load.credits = settings_.member.identity.credits;
  load.bytes_used = builder_.pool.bytes_used();
  load.bytes_total = builder_.pool.bytes_total();
  return load;
}

v1::Report DcmNode::make_report(bool final) {
  v1::Report report = node::begin_report(settings_.member.identity, settings_.member.ran, now_ns_, final);
  reports::ReportCounters counters(report);
  counters["dcm.assigned"] = admission_.assigned();
  counters["dcm.accepted"] = decisions_.accepted();
  counters["dcm.handed_back"] = handed_back_;
  counters["fragments.bytes_arrived"] = readouts_.arrived_bytes();
  counters["shaper.overdrawn"] = builder_.collector.overdrawn();
  counters["slices.expired_empty"] = builder_.collector.expired_empty();
  add_fragments(report, builder_.assembler.counters());
  shipments_.add_to(report, final);
  if (burst_) burst_->add_to(report);
  if (server_) server_->add_to(report);
  if (fetcher_) fetcher_->add_to(report);
  filter_.add_to(report);
  histograms_.add_to(report, final);
  samples_.add_to(report);
  if (pushing_) pushing_->add_to(report);
  if (readouts_.planes() != nullptr) readouts_.planes()->add_to(report);
  add_flows(report, builder_.assembler, static_cast<std::uint32_t>(readouts_.size()));
  add_sources(report, builder_.assembler, now_ns_, environment_.clock.utc_ns());
  reports::Gauges gauges(report);
  gauges["slices_in_flight"] = static_cast<double>(admission_.in_flight());
  gauges["buffer_bytes_used"] = static_cast<double>(builder_.pool.bytes_used());
  const shaping::Shaper& shaper = builder_.collector.shaper();
  add_shaper(report, shaper);
  spdlog::debug("shaper window={} outstanding={} base_us={} piece_bytes={} received_bytes={} now_ns={}",
                shaper.window(), shaper.outstanding(), shaper.base_ns() / kMicrosecond, shaper.piece_bytes(),
                readouts_.arrived_bytes(), now_ns_);
  reports::add_histogram(report, "latency_us", times_.latency);
  reports::add_histogram(report, "build_latency_us", times_.build_latency);
  reports::add_histogram(report, "decision_latency_us", decisions_.latency());
  node::add_network(report, environment_.stream_totals(), peer_counters_);
  node::add_process(report);
  loop_time_.add_to(report);
  gauges["cpu.transport_s"] = reports::gauge_of(report, "loop.cpu_s").value_or(0);
  std::string state = status_of(course_, workload(), settings_.member.identity.name);
  if (const std::string workers = filter_.workers_note(); state == "running" && !workers.empty())
    state += ": filter workers " + workers;
  report.set_state(state);
  return report;
}

}  // namespace weir::dcm
