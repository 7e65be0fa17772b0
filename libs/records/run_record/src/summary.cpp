#include "summary_steps.hpp"
#include <weir/base/time.hpp>
#include <weir/reports/fairness.hpp>
#include <weir/reports/fragment_totals.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/plane_moves.hpp>
#include <weir/run_record/source_table.hpp>
#include <weir/run_record/summary.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>
#include <tuple>

namespace weir::run_record {
namespace {

struct FragmentOutcome {
  const char* name;  // the key in the summary
  metrics::CounterKey key;
};
constexpr FragmentOutcome kFragmentOutcomes[] = {
    {"produced", "fragments.produced"},       {"requested", "fragments.requested"},
    {"received", "fragments.received"},       {"late", "fragments.late"},
    {"duplicate", "fragments.duplicate"},     {"unknown", "fragments.unknown"},
    {"corrupt", "fragments.corrupt"},         {"truncated", "fragments.truncated"},
    {"suppressed", "fragments.suppressed"},   {"out_of_step", "fragments.out_of_step"},
    {"asked_again", "fragments.asked_again"}, {"served", "fragments.served"},
    {"cleared", "fragments.cleared"},         {"held", "fragments.held"}};

void add_counts(const Counts& more, Counts& counts) {
  for (const auto& [reason, count] : more) counts[reason] += count;
}

void add_fragments(const v1::Report& report, Summary& summary) {
  for (const FragmentOutcome& outcome : kFragmentOutcomes)
    summary.fragments[outcome.name] += reports::counter_of(report, outcome.key);
}

// Takes the supervisor's sums over all processes, so that all views of a farm agree.
void take_totals(const v1::Report& supervisor, Summary& summary) {
  const reports::FragmentTotals totals = reports::fragment_totals(supervisor);
  summary.fragments["requested"] = totals.requested;
  summary.fragments["received"] = totals.received;
  for (const auto& [reason, count] : totals.missing) {
    const auto overtaken = totals.overtaken.find(reason);
    const std::uint64_t less = overtaken == totals.overtaken.end() ? 0 : overtaken->second;
    if (count > less) summary.fragments_missing[reason] = count - less;
    summary.fragments_overtaken += std::min(count, less);
  }
  summary.fragments_dropped = totals.dropped;
  summary.dcms_lost = totals.dcms_lost;
  summary.sources = supervisor.sources();
}

// The files of the run's accepted slices, or those of its alerts.
void add_files(const v1::Report& report, bool of_alerts, std::vector<Summary::File>& files) {
  for (const v1::Report::File& file : report.files()) {
    if ((file.burst() > 0) != of_alerts) continue;
    auto known =
        std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.path == file.path(); });
    if (known == files.end()) known = files.emplace(files.end());
    *known = {file.path(), file.bytes(), file.slices(), file.crc32c()};
  }
}

using PartKey = std::tuple<std::string, std::string, std::string, std::uint32_t>;

void add_ran(const v1::Report& report, std::set<PartKey>& known, std::vector<RanPart>& ran) {
  for (const v1::RunIdentity::Part& part : report.ran().parts()) {
    if (known.emplace(report.name(), part.kind(), part.name(), part.crc32c()).second)
      ran.push_back({report.name(), part.kind(), part.name(), part.crc32c()});
  }
}

void add_filter(const v1::Report& report, Summary& summary) {
  add_counts(reports::by_reason(report, "filter."), summary.filter);
  const auto plugin = report.notes().find("filter");
  if (plugin != report.notes().end() && summary.filter_plugin.find(plugin->second) == std::string::npos)
    summary.filter_plugin += (summary.filter_plugin.empty() ? "" : ", ") + plugin->second;
  const auto add = [&](const std::string& name, std::uint64_t number) {
    if (number > 0) summary.filter_workers[name] += number;
  };
  add("restarts", reports::counter_of(report, "dcm.worker_restarts"));
  add("unkillable", reports::counter_of(report, "dcm.worker_unkillable"));
  add("slices_poisoned", reports::counter_of(report, "dcm.poisoned"));
  add("slices_retried", reports::counter_of(report, "dcm.retried"));
  for (const auto& [reason, number] : reports::by_reason(report, "dcm.worker_ends."))
    add("ended_" + reason, number);
}

void add_source(const v1::Report& report, Summary& summary) {
  add_counts(reports::by_reason(report, "source."), summary.source);
  add_counts(reports::by_reason(report, "injected."), summary.injected);
  const auto plugin = report.notes().find("source");
  if (plugin == report.notes().end() || summary.source_plugin.find(plugin->second) != std::string::npos)
    return;
  summary.source_plugin += (summary.source_plugin.empty() ? "" : ", ") + plugin->second;
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

void add_outcomes(const v1::RunSummary& account, Summary& summary) {
  summary.offered = reports::counter_of(account, "offered");
  summary.triggered = reports::counter_of(account, "triggered");
  summary.stored = reports::counter_of(account, "stored");
  summary.stored_incomplete = reports::counter_of(account, "stored_incomplete");
  summary.rejected = reports::counter_of(account, "rejected");
  summary.vetoed = reports::by_reason(account, "vetoed.");
  summary.throttled_ms = reports::by_reason(account, "throttled_ms.");
  summary.discarded = reports::by_reason(account, "discarded.");
}

// Names in the order of the farm file.
std::vector<std::string> group_names(const v1::RunSummary& account) {
  std::vector<std::string> names;
  for (const v1::Report& report : account.nodes()) {
    const auto note = report.notes().find("groups");
    if (report.role() != v1::ROLE_SUPERVISOR || note == report.notes().end()) continue;
    std::istringstream lines(note->second);
    for (std::string name; std::getline(lines, name);) names.push_back(name);
  }
  return names;
}

void add_groups(const v1::RunSummary& account, Summary& summary) {
  const Counts arrived = reports::by_reason(account, "groups.arrived.");
  const Counts stored = reports::by_reason(account, "groups.stored.");
  const Counts rejected = reports::by_reason(account, "groups.rejected.");
  const Counts discarded = reports::by_reason(account, "groups.discarded.");
  const Counts forwarded = reports::by_reason(account, "groups.forwarded.");
  const Counts reassigned = reports::by_reason(account, "groups.reassigned.");
  const auto of = [](const Counts& counts, const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  };
  for (const std::string& name : group_names(account)) {
    metrics::ValueHistogram latency;
    for (const v1::Report& report : account.nodes()) {
      const auto group = report.notes().find("group");
      if (report.role() == v1::ROLE_DCM && group != report.notes().end() && group->second == name)
        latency.merge(reports::histogram_of(report, "decision_latency_us"));
    }
    summary.groups.push_back({name, of(arrived, name), of(stored, name), of(rejected, name),
                              of(discarded, name), of(forwarded, name), of(reassigned, name),
                              percentiles_of(latency), decision_times_of(latency)});
  }
}

void add_readout_peaks(const v1::Report& report, Summary& summary) {
  const auto most = [](std::uint64_t& peak, std::optional<double> gauge) {
    peak = std::max(peak, static_cast<std::uint64_t>(gauge.value_or(0)));
  };
  most(summary.readout_bytes_peak, reports::gauge_of(report, "buffer_bytes_peak"));
  most(summary.readout_slices_peak, reports::gauge_of(report, "slices_held_peak"));
}

}  // namespace

const std::vector<std::string>& fragment_outcomes() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const FragmentOutcome& outcome : kFragmentOutcomes) out.emplace_back(outcome.name);
    return out;
  }();
  return names;
}

Percentiles percentiles_of(const metrics::ValueHistogram& histogram) {
  Percentiles all{histogram.count(),        histogram.percentile(50),   histogram.percentile(90),
                  histogram.percentile(99), histogram.percentile(99.9), histogram.max()};
  if (all.count == 0) return all;
  all.mean = histogram.mean();
  double squares = 0;
  for (const auto& bucket : histogram.encode().buckets) {
    const double middle = (static_cast<double>(metrics::ValueHistogram::bucket_first(bucket.index)) +
                           static_cast<double>(metrics::ValueHistogram::bucket_last(bucket.index))) /
                          2;
    squares += (middle - all.mean) * (middle - all.mean) * static_cast<double>(bucket.count);
  }
  all.sigma = std::sqrt(squares / static_cast<double>(all.count));
  return all;
}

std::uint64_t total_of(const Counts& counts) {
  std::uint64_t total = 0;
  for (const auto& [reason, count] : counts) total += count;
  return total;
}

std::uint64_t port_drops(const Summary& summary) {
  std::uint64_t total = 0;
  for (const reports::PortReport& port : summary.ports) total += port.drops;
  return total;
}

std::uint64_t port_drops_after_1s(const Summary& summary) {
  std::uint64_t total = 0;
  for (const reports::PortReport& port : summary.ports) total += port.drops_after_1s;
  return total;
}

namespace {

void add_plane_moves(const v1::Report& dcm, Summary& summary) {
  for (const reports::PlaneMove& move : reports::plane_moves(dcm))
    summary.plane_moves.push_back(
        {dcm.name(), static_cast<double>(move.utc_ns - summary.begin_utc_ns) / static_cast<double>(kSecond),
         move.from, move.to, move.lacking, static_cast<double>(move.gap_ns) / static_cast<double>(kSecond)});
}

}  // namespace

Summary summarize(const v1::RunSummary& account) {
  Summary summary;
  summary.run = account.run();
  summary.reason = account.reason();
  summary.begin_utc_ns = account.begin_utc_ns();
  summary.end_utc_ns = account.end_utc_ns();
  summary.running_s = static_cast<double>(account.running_ns()) / static_cast<double>(kSecond);
  summary.duration_s = static_cast<double>(account.duration_ns()) / static_cast<double>(kSecond);
  summary.ledger_balanced = account.balanced();
  summary.ledger_text = account.ledger_text();
  for (const auto& equation : account.equations()) {
    summary.ledger.push_back(
        {equation.name(), equation.left(), equation.right(), equation.good(), equation.note()});
  }
  for (const v1::BurstAccount& burst : account.bursts()) {
    summary.bursts.push_back({burst.alert().number(), burst.alert().from_ns(), burst.alert().until_ns(),
                              burst.reason(), burst.asked().count(), burst.saved().count(),
                              burst.too_old().count(), burst.no_room().count(), burst.disk_slow().count(),
                              burst.disk_failed().count(), burst.refused().count(), burst.lost(),
                              burst.not_kept().count()});
  }
  summary.faults.assign(account.faults_text().begin(), account.faults_text().end());
  summary.switches.assign(account.switches().begin(), account.switches().end());
  add_outcomes(account, summary);

  metrics::ValueHistogram latency;
  metrics::ValueHistogram build_latency;
  metrics::ValueHistogram decision_latency;
  for (const std::string& outcome : fragment_outcomes()) summary.fragments[outcome] = 0;
  std::set<PartKey> known_parts;
  std::vector<std::uint64_t> dcm_bytes;
  reports::FlowFairness flows;
  for (const v1::Report& report : account.nodes()) {
    add_fragments(report, summary);
    add_files(report, false, summary.files);
    add_files(report, true, summary.burst_files);
    add_ran(report, known_parts, summary.ran);
    if (summary.duration_s > 0)
      summary.loops.push_back({report.name(), report.role(), reports::loop_use(report, summary.duration_s)});
    summary.retransmits += reports::counter_of(report, "net.retransmits");
    summary.bytes_stored += reports::counter_of(report, "writer.bytes_stored");
    add_front_ends(report, summary);
    if (report.role() == v1::ROLE_READOUT) {
      add_source(report, summary);
      add_windows(report, summary);
      add_readout_peaks(report, summary);
    }
    if (report.role() != v1::ROLE_DCM) continue;
    dcm_bytes.push_back(reports::counter_of(report, "fragments.bytes"));
    flows.add(report);
    summary.bytes_in += reports::counter_of(report, "fragments.bytes");
    summary.output_events += reports::counter_of(report, "dcm.output_events");
    add_filter(report, summary);
    add_steps(report, summary);
    add_plane_moves(report, summary);
    latency.merge(reports::histogram_of(report, "latency_us"));
    build_latency.merge(reports::histogram_of(report, "build_latency_us"));
    decision_latency.merge(reports::histogram_of(report, "decision_latency_us"));
  }
  for (const v1::Report& report : account.nodes()) {
    if (report.role() == v1::ROLE_SUPERVISOR) take_totals(report, summary);
  }
  summary.source_fairness = byte_fairness(summary.sources);
  summary.delivery_fairness = delivery_fairness(summary.sources);
  summary.dcm_fairness = reports::fairness_of(dcm_bytes);
  summary.flow_fairness = flows.index();
  add_groups(account, summary);
  summary.latency_us = percentiles_of(latency);
  summary.build_latency_us = percentiles_of(build_latency);
  summary.decision_latency_us = percentiles_of(decision_latency);
  summary.decision_times = decision_times_of(decision_latency);
  finish_steps(summary);
  std::ranges::stable_sort(summary.plane_moves, std::less<>(), &PlaneChange::at_s);
  finish_clocks(summary);
  summary.slices_per_s = per_second(summary.triggered, summary.duration_s);
  summary.fragments_per_s = per_second(summary.fragments["received"], summary.duration_s);
  summary.goodput_bytes_per_s = per_second(summary.bytes_in, summary.duration_s);
  return summary;
}

void add_theory(const FarmNetwork& network, Summary& summary) {
  const auto slices = static_cast<double>(summary.build_latency_us.count);
  if (slices == 0) return;
  const auto received = static_cast<double>(summary.fragments["received"]);
  summary.theory = theory_of(network, {static_cast<double>(summary.bytes_in) / slices, received / slices});
}

void add_steady_part(const SteadyPart& steady, Summary& summary) {
  const auto figures = steady.figures();
  if (!figures) return;
  SteadySummary& after = summary.after_1s.emplace();
  after.seconds = figures->seconds;
  after.goodput_bytes_per_s = figures->goodput_bytes_per_s;
  if (summary.theory.goodput_bytes_per_s > 0)
    after.goodput_share_of_theory = after.goodput_bytes_per_s / summary.theory.goodput_bytes_per_s;
  after.slices_per_s = figures->slices_per_s;
  after.latency_us = percentiles_of(figures->latency_us);
  after.build_latency_us = percentiles_of(figures->build_latency_us);
  after.retransmits = figures->retransmits;
  after.dcm_share_min = figures->dcm_share_min;
  after.dcm_share_max = figures->dcm_share_max;
  after.latency = figures->latency_us;
}

double share_of_theory(const Summary& summary) {
  const double theory = summary.theory.goodput_bytes_per_s;
  return theory > 0 ? summary.goodput_bytes_per_s / theory : 0;
}

}  // namespace weir::run_record
