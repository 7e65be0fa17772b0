#include <weir/base/figures.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/source_table.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::run_record {
namespace {

namespace json = boost::json;

json::object object_of(const Counts& counts) {
  json::object object;
  for (const auto& [key, value] : counts) object.emplace(key, value);
  return object;
}

json::object object_of(const Percentiles& percentiles) {
  return {{"p50", percentiles.p50},
          {"p90", percentiles.p90},
          {"p99", percentiles.p99},
          {"p999", percentiles.p999},
          {"max", percentiles.max},
          {"mean", std::llround(percentiles.mean)},
          {"sigma", std::llround(percentiles.sigma)},
          {"count", percentiles.count}};
}

json::object fragments_of(const Summary& summary) {
  json::object object;
  for (const std::string& outcome : fragment_outcomes()) {
    const auto found = summary.fragments.find(outcome);
    object.emplace(outcome, found == summary.fragments.end() ? 0 : found->second);
  }
  object.emplace("missing", object_of(summary.fragments_missing));
  object.emplace("overtaken", summary.fragments_overtaken);
  object.emplace("dropped", object_of(summary.fragments_dropped));
  object.emplace("dcms_lost", summary.dcms_lost);
  return object;
}

json::object object_of(const DecisionTimes& times) {
  json::array above;
  for (const DecisionTimes::Above& one : times.above) above.push_back({{"us", one.us}, {"share", one.share}});
  return {{"mean", times.mean_us}, {"sigma", times.sigma_us}, {"above", std::move(above)}};
}

json::array steps_of(const Summary& summary) {
  json::array array;
  for (const StepSummary& step : summary.steps) {
    array.push_back({{"group", step.group},
                     {"step", step.step},
                     {"slices", step.slices},
                     {"rejected", step.rejected},
                     {"bytes", step.bytes},
                     {"wait_us", step.wait_us},
                     {"process_us", step.process_us},
                     {"cpu_us", step.cpu_us}});
  }
  return array;
}

json::object object_of(const CpuSummary& cpu) {
  constexpr double kMsPerS = 1000;
  const auto slices = static_cast<double>(std::max<std::uint64_t>(1, cpu.slices));
  const double seconds = cpu.seconds > 0 ? cpu.seconds : 1;
  return {{"filter_s", cpu.filter_s},
          {"transport_s", cpu.transport_s},
          {"filter_ms_a_slice", kMsPerS * cpu.filter_s / slices},
          {"transport_ms_a_slice", kMsPerS * cpu.transport_s / slices},
          {"filter_share", cpu.filter_s / seconds},
          {"transport_share", cpu.transport_s / seconds}};
}

json::array loops_of(const Summary& summary) {
  json::array array;
  for (const reports::NodeUse& loop : summary.loops) {
    array.push_back({{"name", loop.name},
                     {"role", name(static_cast<Role>(loop.role))},
                     {"cpu_share", loop.use.cpu},
                     {"wait_share", loop.use.wait}});
  }
  return array;
}

json::object cpu_of(const Summary& summary) {
  json::object object = object_of(summary.cpu);
  json::array dcms;
  for (const CpuSummary& dcm : summary.cpu_of_dcms) {
    dcms.push_back(object_of(dcm));
    dcms.back().as_object().emplace("name", dcm.dcm);
  }
  object.emplace("dcms", std::move(dcms));
  return object;
}

json::array ledger_of(const Summary& summary) {
  json::array array;
  for (const Summary::Equation& equation : summary.ledger) {
    array.push_back({{"name", equation.name},
                     {"left", equation.left},
                     {"right", equation.right},
                     {"good", equation.good},
                     {"note", equation.note}});
  }
  return array;
}

json::array bursts_of(const Summary& summary) {
  json::array array;
  for (const Summary::Burst& burst : summary.bursts) {
    array.push_back({{"number", burst.number},
                     {"from_ns", burst.from_ns},
                     {"until_ns", burst.until_ns},
                     {"reason", burst.reason},
                     {"asked", burst.asked},
                     {"saved", burst.saved},
                     {"too_old", burst.too_old},
                     {"no_room", burst.no_room},
                     {"disk_slow", burst.disk_slow},
                     {"disk_failed", burst.disk_failed},
                     {"refused", burst.refused},
                     {"lost", burst.lost},
                     {"not_kept", burst.not_kept}});
  }
  return array;
}

json::array files_of(const std::vector<Summary::File>& files) {
  json::array array;
  for (const Summary::File& file : files) {
    array.push_back({{"path", file.path},
                     {"bytes", file.bytes},
                     {"slices", file.slices},
                     {"crc32c", file.closed() ? fmt::format("{:08x}", file.crc32c) : std::string()}});
  }
  return array;
}

json::array clocks_of(const Summary& summary) {
  json::array array;
  for (const Summary::Clock& clock : summary.clocks) {
    array.push_back({{"source", clock.source},
                     {"delay_least_us", clock.least_us},
                     {"delay_median_us", clock.median_us},
                     {"correction_us", clock.correction_us}});
  }
  return array;
}

json::array processes_of(const Summary& summary) {
  json::array array;
  for (const ProcessRecord& process : summary.processes) {
    array.push_back({{"name", process.name},
                     {"role", process.role},
                     {"cpu_s", process.end.cpu_s},
                     {"rss_max_bytes", process.end.rss_max_bytes},
                     {"exit_status", process.end.status}});
  }
  return array;
}

json::value truth_of(const Summary& summary) {
  if (!summary.truth) return nullptr;
  json::array bins;
  for (const TruthComparison::Bin& bin : summary.truth->bins) {
    bins.push_back({{"modules_min", bin.modules_min}, {"tracks", bin.tracks}, {"stored", bin.stored}});
  }
  return json::object{{"tracks", summary.truth->tracks},
                      {"by_modules", std::move(bins)},
                      {"stored_without_track", summary.truth->stored_without_track}};
}

json::value after_1s_of(const Summary& summary) {
  if (!summary.after_1s) return nullptr;
  const SteadySummary& after = *summary.after_1s;
  return json::object{{"seconds", after.seconds},
                      {"goodput_bytes_per_s", after.goodput_bytes_per_s},
                      {"goodput_share_of_theory", after.goodput_share_of_theory},
                      {"slices_per_s", after.slices_per_s},
                      {"latency_us", object_of(after.latency_us)},
                      {"build_latency_us", object_of(after.build_latency_us)},
                      {"retransmits", after.retransmits},
                      {"port_drops", port_drops_after_1s(summary)},
                      {"dcm_share_min", after.dcm_share_min},
                      {"dcm_share_max", after.dcm_share_max}};
}

json::value relay_of(const std::optional<reports::RelayReport>& relay) {
  if (!relay) return nullptr;
  json::object drops;
  for (const auto& [reason, count] : relay->drops) drops[reason] = count;
  return json::object{{"links", relay->links},
                      {"switches", relay->switches},
                      {"delay_us", relay->delay_ns / kMicrosecond},
                      {"frames", relay->frames},
                      {"dropped", relay->dropped},
                      {"drops", std::move(drops)},
                      {"marked", relay->marked},
                      {"late_p50_us", relay->late_p50_us},
                      {"late_p99_us", relay->late_p99_us},
                      {"late_max_us", relay->late_max_us},
                      {"inexact", relay->is_inexact()}};
}

json::value lab_of(const Summary& summary) {
  if (!summary.lab) return nullptr;
  return json::object{{"name", summary.lab->name},
                      {"topology", summary.lab->topology},
                      {"back_pressure", summary.lab->back_pressure},
                      {"hosts", summary.lab->hosts},
                      {"machine_drops", summary.lab->machine_drops},
                      {"cpu_load", summary.lab->cpu_load},
                      {"cpu_load_s", summary.lab->cpu_load_s},
                      {"relay", relay_of(summary.lab->relay)}};
}

json::array ran_of(const Summary& summary) {
  json::array array;
  for (const RanPart& part : summary.ran) {
    array.push_back({{"process", part.process},
                     {"kind", part.kind},
                     {"name", part.name},
                     {"crc32c", fmt::format("{:08x}", part.crc32c)}});
  }
  return array;
}

json::array ports_of(const Summary& summary) {
  json::array array;
  for (const reports::PortReport& port : summary.ports) {
    array.push_back({{"name", port.name},
                     {"rate_bits_per_s", port.rate_bits_per_s},
                     {"buffer_bytes", port.buffer_bytes},
                     {"bytes", port.bytes},
                     {"packets", port.packets},
                     {"drops", port.drops},
                     {"drops_after_1s", port.drops_after_1s},
                     {"last_drop_s", port.last_drop_s},
                     {"use", port.use},
                     {"busiest_use", port.busiest_use},
                     {"pauses", port.pauses},
                     {"paused_s", port.paused_s}});
  }
  return array;
}

json::array foreign_of(const Summary& summary) {
  json::array array;
  for (const reports::ForeignReport& flow : summary.foreign) {
    array.push_back({{"from", flow.from},
                     {"to", flow.to},
                     {"rate_bits_per_s", flow.rate_bits_per_s},
                     {"bytes", flow.bytes},
                     {"seconds", flow.seconds}});
  }
  return array;
}

json::array disturbed_of(const Summary& summary) {
  json::array array;
  for (const reports::DisturbedHost& host : summary.disturbed) {
    array.push_back({{"host", host.name},
                     {"pauses", host.pauses},
                     {"paused_s", host.paused_s},
                     {"cpu_share", host.cpu_share},
                     {"cpu_share_by", host.cpu_share_by},
                     {"held_s", host.held_s},
                     {"loss", host.loss},
                     {"bit_errors", host.bit_errors},
                     {"frames_lost", host.frames_lost}});
  }
  return array;
}

json::array changes_of(const Summary& summary) {
  json::array array;
  for (const reports::AppliedChange& change : summary.changes) {
    array.push_back({{"port", change.port},
                     {"at_s", change.at_s},
                     {"rate_bits_per_s", change.rate_bits_per_s},
                     {"buffer_bytes", change.buffer_bytes},
                     {"failure", change.failure}});
  }
  return array;
}

json::array outages_of(const Summary& summary) {
  json::array array;
  for (const reports::AppliedOutage& outage : summary.outages)
    array.push_back({{"at_s", outage.at_s}, {"for_s", outage.for_s}, {"failure", outage.failure}});
  return array;
}

json::array cuts_of(const Summary& summary) {
  json::array array;
  for (const reports::AppliedOutage& cut : summary.cuts)
    array.push_back({{"what", cut.what}, {"at_s", cut.at_s}, {"for_s", cut.for_s}, {"failure", cut.failure}});
  return array;
}

json::array plane_moves_of(const Summary& summary) {
  json::array array;
  for (const PlaneChange& move : summary.plane_moves)
    array.push_back({{"dcm", move.dcm},
                     {"at_s", move.at_s},
                     {"from", move.from},
                     {"to", move.to},
                     {"readouts", move.lacking},
                     {"gap_s", move.gap_s}});
  return array;
}

json::array switches_of(const Summary& summary) {
  json::array array;
  for (const v1::SwitchAccount& one : summary.switches) {
    json::array rings;
    for (const v1::SwitchAccount::Ring& ring : one.rings())
      rings.push_back({{"name", ring.name()},
                       {"frames", ring.frames()},
                       {"dropped", ring.dropped()},
                       {"waiting_most", ring.waiting_most()},
                       {"waiting_bytes_most", ring.waiting_bytes_most()},
                       {"room", ring.room()}});
    array.push_back({{"name", one.name()},
                     {"host", one.host()},
                     {"received", one.received()},
                     {"forwarded", one.sent()},
                     {"dropped", object_of(Counts(one.dropped().begin(), one.dropped().end()))},
                     {"rings", std::move(rings)},
                     {"rings_left_out", one.rings_left_out()},
                     {"tables_changed", one.tables_changed()},
                     {"restarts", one.restarts()},
                     {"silences", one.silences()}});
  }
  return array;
}

json::array groups_of(const Summary& summary) {
  json::array array;
  for (const GroupSummary& group : summary.groups) {
    array.push_back({{"name", group.name},
                     {"arrived", group.arrived},
                     {"stored", group.stored},
                     {"rejected", group.rejected},
                     {"discarded", group.discarded},
                     {"forwarded", group.forwarded},
                     {"reassigned", group.reassigned},
                     {"decision_latency_us", object_of(group.decision_latency_us)},
                     {"decision_latency_us_mean", group.decision_times.mean_us},
                     {"decision_times_us", object_of(group.decision_times)}});
  }
  return array;
}

}  // namespace

std::string to_json(const Summary& summary) {
  json::object object;
  object.emplace("farm", summary.farm);
  object.emplace("run", summary.run);
  object.emplace("begin", summary.begin_utc_ns == 0 ? std::string() : utc_text(summary.begin_utc_ns));
  object.emplace("end", summary.end_utc_ns == 0 ? std::string() : utc_text(summary.end_utc_ns));
  object.emplace("running_s", summary.running_s);
  object.emplace("duration_s", summary.duration_s);
  object.emplace("reason", summary.reason);
  object.emplace("failure", summary.failure);
  object.emplace("outcome", summary.outcome);
  object.emplace("exit_status", summary.exit_status);
  object.emplace("offered", summary.offered);
  object.emplace("vetoed", object_of(summary.vetoed));
  object.emplace("throttled_ms", object_of(summary.throttled_ms));
  object.emplace("triggered", summary.triggered);
  object.emplace("stored", summary.stored);
  object.emplace("stored_incomplete", summary.stored_incomplete);
  object.emplace("rejected", summary.rejected);
  object.emplace("discarded", object_of(summary.discarded));
  object.emplace("fragments", fragments_of(summary));
  object.emplace("sources", sources_json(summary.sources));
  object.emplace("dcm_fairness", summary.dcm_fairness);
  object.emplace("flow_fairness", summary.flow_fairness);
  object.emplace("ledger_balanced", summary.ledger_balanced);
  object.emplace("ledger", ledger_of(summary));
  object.emplace("faults", json::array(summary.faults.begin(), summary.faults.end()));
  json::array operations;
  for (const Summary::Operation& one : summary.operations)
    operations.push_back(json::object{{"at", utc_text(one.utc_ns)}, {"what", one.text}});
  object.emplace("operations", std::move(operations));
  object.emplace("slices_per_s", summary.slices_per_s);
  object.emplace("fragments_per_s", summary.fragments_per_s);
  object.emplace("goodput_bytes_per_s", summary.goodput_bytes_per_s);
  object.emplace("theoretical_goodput_bytes_per_s", summary.theory.goodput_bytes_per_s);
  object.emplace("goodput_share_of_theory", share_of_theory(summary));
  object.emplace("thesis_goodput_bytes_per_s", summary.theory.thesis_goodput_bytes_per_s);
  object.emplace("serialisation_us", summary.theory.serialisation_us);
  object.emplace("dcms_per_port", summary.theory.dcms_per_port);
  object.emplace("latency_us", object_of(summary.latency_us));
  object.emplace("build_latency_us", object_of(summary.build_latency_us));
  object.emplace("decision_latency_us", object_of(summary.decision_latency_us));
  object.emplace("groups", groups_of(summary));
  object.emplace("readout_bytes_peak", summary.readout_bytes_peak);
  object.emplace("readout_slices_peak", summary.readout_slices_peak);
  object.emplace("decision_times_us", object_of(summary.decision_times));
  object.emplace("steps", steps_of(summary));
  object.emplace("prefetch", object_of(summary.prefetch));
  object.emplace("fetch", object_of(summary.fetch));
  object.emplace("cpu", cpu_of(summary));
  object.emplace("loops", loops_of(summary));
  object.emplace("retransmits", summary.retransmits);
  object.emplace("after_1s", after_1s_of(summary));
  object.emplace("output_events", summary.output_events);
  object.emplace("bytes_in", summary.bytes_in);
  object.emplace("bytes_stored", summary.bytes_stored);
  object.emplace("source_plugin", summary.source_plugin);
  object.emplace("source", object_of(summary.source));
  object.emplace("injected", object_of(summary.injected));
  object.emplace("pieces", object_of(summary.pieces));
  object.emplace("numbers", object_of(summary.numbers));
  object.emplace("steps_compared", object_of(summary.steps_compared));
  object.emplace("clocks", clocks_of(summary));
  object.emplace("filter_plugin", summary.filter_plugin);
  object.emplace("filter", object_of(summary.filter));
  object.emplace("filter_workers", object_of(summary.filter_workers));
  object.emplace("truth", truth_of(summary));
  object.emplace("files", files_of(summary.files));
  if (!summary.bursts.empty()) {
    object.emplace("bursts", bursts_of(summary));
    object.emplace("burst_files", files_of(summary.burst_files));
  }
  object.emplace("processes", processes_of(summary));
  object.emplace("ran", ran_of(summary));
  object.emplace("lab", lab_of(summary));
  object.emplace("port_drops", port_drops(summary));
  object.emplace("port_drops_after_1s", port_drops_after_1s(summary));
  object.emplace("ports", ports_of(summary));
  object.emplace("foreign", foreign_of(summary));
  object.emplace("disturbed", disturbed_of(summary));
  object.emplace("changes", changes_of(summary));
  object.emplace("outages", outages_of(summary));
  object.emplace("cuts", cuts_of(summary));
  object.emplace("plane_moves", plane_moves_of(summary));
  object.emplace("switches", switches_of(summary));
  return pretty(object);
}

}  // namespace weir::run_record
