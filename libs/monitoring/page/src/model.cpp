#include "model.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/farm_view/display_state.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/v1/control.pb.h>

#include <boost/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <system_error>

namespace weir::page {
namespace {

namespace json = boost::json;

constexpr std::size_t kTextBytesMax = 500;  // of a reason or a note

double milliseconds(std::int64_t ns) {
  return static_cast<double>(ns / kMicrosecond) / (static_cast<double>(kMillisecond) / kMicrosecond);
}

double rounded(double value) {
  constexpr double kTenths = 10;
  return static_cast<double>(static_cast<std::int64_t>(value * kTenths + 0.5)) / kTenths;
}

// The last rates of a process that is not in a run are no longer valid.
bool has_rates(const MemberView& member) {
  return member.report != nullptr && farm_view::DisplayState{member.state, {}}.has_rates();
}

json::string text(const std::string& from) { return json::string(clean_text(from, kTextBytesMax)); }

// "discarded." -> {"lease_expired": 3, …}
json::object reasons(const v1::Report* report, metrics::FamilyKey family) {
  json::object out;
  if (report == nullptr) return out;
  for (const auto& [reason, count] : reports::by_reason(*report, family))
    out[clean_text(reason, kTextBytesMax)] = count;
  return out;
}

// {"selection": {"arrived": 20, "forwarded": 5, …}}, in a farm with groups of DCMs.
json::object groups_json(const v1::Report* report) {
  json::object out;
  const auto add = [&](const char* key, metrics::FamilyKey family) {
    for (const auto& [group, count] : reasons(report, family)) {
      json::value& counts = out[group];
      if (!counts.is_object()) counts.emplace_object();
      counts.get_object()[key] = count;
    }
  };
  add("arrived", "groups.arrived.");
  add("forwarded", "groups.forwarded.");
  add("stored", "groups.stored.");
  add("rejected", "groups.rejected.");
  add("discarded", "groups.discarded.");
  add("fetched", "groups.fetched.");
  add("reassigned", "groups.reassigned.");
  return out;
}

// {"alerts": 2, "asked": 900, "saved": 850, "not_saved": {"too_old": 50}}, once an alert was given.
json::value bursts_json(const v1::Report* report) {
  if (report == nullptr) return nullptr;
  const std::uint64_t alerts = reports::counter_of(*report, "burst.alerts");
  if (alerts == 0) return nullptr;
  return json::object{{"alerts", alerts},
                      {"asked", reports::counter_of(*report, "burst.asked")},
                      {"saved", reports::counter_of(*report, "burst.saved")},
                      {"not_saved", reasons(report, "burst.not_saved.")}};
}

// Adds the counters of a family with numbered keys: add(number, count) each.
template <class Add>
void each_numbered(const v1::Report& report, metrics::FamilyKey family, const Add& add) {
  for (const auto& [label, count] : reports::by_reason(report, family)) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
    if (error == std::errc{} && end == label.data() + label.size()) add(number, count);
  }
}

// Returns the DCM's group; empty in a farm without groups.
std::string group_of(const v1::Report& report) {
  const auto group = report.notes().find("group");
  return group == report.notes().end() ? std::string() : clean_text(group->second, kTextBytesMax);
}

// [{"group": "", "step": 0, "slices": 20, "rejected": 18, …}, …] by group of DCMs and step, over the DCMs
// that have reported; empty where the filter gets all sources at once. Times are sums, in us.
json::array steps_json(const Farm& farm) {
  std::map<std::pair<std::string, std::uint64_t>, std::map<std::string, std::uint64_t>> steps;
  const auto add = [&](const v1::Report& report, const char* key, metrics::FamilyKey family) {
    const std::string group = group_of(report);
    each_numbered(report, family, [&](auto step, auto count) { steps[{group, step}][key] += count; });
  };
  for (const MemberView& member : farm.members) {
    if (member.report == nullptr || member.report->role() != v1::ROLE_DCM) continue;
    add(*member.report, "slices", "steps.slices.");
    add(*member.report, "rejected", "steps.rejected.");
    add(*member.report, "bytes", "steps.bytes.");
    add(*member.report, "wait_us", "steps.wait_us.");
    add(*member.report, "process_us", "steps.process_us.");
    add(*member.report, "cpu_us", "steps.cpu_us.");
  }
  json::array out;
  for (const auto& [place, counts] : steps) {
    json::object one{{"group", place.first}, {"step", place.second}};
    for (const char* key : {"slices", "rejected", "bytes", "wait_us", "process_us", "cpu_us"}) {
      const auto found = counts.find(key);
      one[key] = found == counts.end() ? 0 : found->second;
    }
    out.push_back(std::move(one));
  }
  return out;
}

// True tracks of the emulated detector in settled slices: [{"modules_min": 5, "tracks": 11, "stored": 7}, …].
json::array truth_json(const Farm& farm) {
  struct Bin {
    std::uint64_t tracks = 0;
    std::uint64_t stored = 0;
  };
  std::map<std::uint64_t, Bin> bins;
  for (const MemberView& member : farm.members) {
    if (member.report == nullptr || member.report->role() != v1::ROLE_READOUT) continue;
    each_numbered(*member.report, "truth.tracks.",
                  [&](auto modules, auto count) { bins[modules].tracks += count; });
    each_numbered(*member.report, "truth.stored.",
                  [&](auto modules, auto count) { bins[modules].stored += count; });
  }
  json::array out;
  for (const auto& [modules, bin] : bins)
    out.push_back(json::object{{"modules_min", modules}, {"tracks", bin.tracks}, {"stored", bin.stored}});
  return out;
}

// The counters of the filter, over the DCMs that have reported.
json::object filter_counters_json(const Farm& farm) {
  std::map<std::string, std::uint64_t> sums;
  for (const MemberView& member : farm.members) {
    if (member.report == nullptr || member.report->role() != v1::ROLE_DCM) continue;
    for (const auto& [name, count] : reports::by_reason(*member.report, "filter.")) sums[name] += count;
  }
  json::object out;
  for (const auto& [name, count] : sums) out[text(name)] = count;
  return out;
}

json::value gauge(const v1::Report& report, metrics::GaugeKey key) {
  const auto value = reports::gauge_of(report, key);
  return value ? json::value(*value) : json::value(nullptr);
}

json::object member_json(const MemberView& member, const reports::NodeRates& rates) {
  json::object out;
  out["name"] = text(member.name);
  out["role"] = text(member.role);
  out["host"] = text(member.host);
  if (member.pid > 0) out["pid"] = member.pid;
  out["importance"] = text(member.importance);
  out["state"] = text(member.state);
  out["reason"] = text(member.reason);
  out["age_s"] = member.heartbeat_age_s < 0 ? json::value(nullptr) : rounded(member.heartbeat_age_s);
  if (!member.report) return out;
  out["report_state"] = text(member.report->state());
  const reports::NodeTotals totals = reports::node_totals(*member.report);
  out["lost"] = totals.lost;
  out["slices"] = totals.slices;
  out["in_flight"] = gauge(*member.report, "slices_in_flight");
  if (const std::string group = group_of(*member.report); !group.empty()) out["group"] = group;
  out["buffer_bytes"] = gauge(*member.report, "buffer_bytes_used");
  out["rss_bytes"] = gauge(*member.report, "process.rss_max_bytes");
  out["cpu_s"] = gauge(*member.report, "process.cpu_s");
  out["retransmits"] = reports::counter_of(*member.report, "net.retransmits");
  if (!rates.measured()) return out;
  constexpr double kPercent = 100;
  out["cpu_percent"] = rounded(kPercent * rates.cores());
  out["slices_per_s"] = rounded(rates.slices_per_s());
  if (member.report->role() != v1::ROLE_SUPERVISOR) out["bytes_per_s"] = rounded(rates.bytes_per_s());
  if (rates.built_us().count() > 0) {
    out["p50_us"] = rates.built_us().percentile(50);
    out["p99_us"] = rates.built_us().percentile(99);
  }
  return out;
}

const v1::Report* supervisor_report(const Farm& farm) {
  for (const MemberView& member : farm.members) {
    if (member.report && member.report->role() == v1::ROLE_SUPERVISOR) return member.report.get();
  }
  return nullptr;
}

json::object counts_json(const Farm& farm) {
  json::object out;
  const v1::Report* report = supervisor_report(farm);
  if (report == nullptr) return out;
  const auto count = [&](metrics::CounterKey key) { return reports::counter_of(*report, key); };
  out["offered"] = count("offered");
  out["triggered"] = count("triggered");
  out["stored"] = count("stored");
  out["stored_incomplete"] = count("stored_incomplete");
  out["rejected"] = count("rejected");
  out["discarded"] = reports::total_of(*report, "discarded.");
  out["vetoed"] = reports::total_of(*report, "vetoed.");
  out["in_flight"] = gauge(*report, "slices_in_flight");
  // The supervisor's sums, because the live members do not have the counts of dead ones.
  out["fragments_requested"] = count("farm.fragments.requested");
  out["fragments_received"] = count("farm.fragments.received");
  out["fragments_missing"] = reports::total_of(*report, "farm.fragments.missing.");
  out["dcms_lost"] = count("farm.dcms_lost");
  return out;
}

json::array disks_json(const Farm& farm) {
  json::array disks;
  for (const control::DiskUse& one : farm.disks) {
    json::array processes;
    for (const std::string& process : one.processes) processes.push_back(text(process));
    disks.push_back({{"host", text(one.host)},
                     {"folder", text(one.folder)},
                     {"processes", std::move(processes)},
                     {"free_bytes", one.space.free_bytes},
                     {"total_bytes", one.space.total_bytes},
                     {"fill_per_s", rounded(one.fill_per_s)},
                     {"short", one.is_short},
                     {"left_s", one.left ? json::value(*one.left / kSecond) : json::value(nullptr)}});
  }
  return disks;
}

json::array alarms_json(const Farm& farm) {
  json::array alarms;
  for (const control::Alarm& one : farm.alarms) {
    json::object& alarm = alarms.emplace_back(json::object()).get_object();
    alarm = {{"name", text(one.name)},
             {"severity", json::string(control::name(one.gravity))},
             {"reason", text(one.reason)},
             {"since", milliseconds(one.since_utc)},
             {"acked_by", text(one.acked_by)}};
    const auto shelf = std::ranges::find(farm.shelves, one.name, &control::AlarmShelf::name);
    if (shelf == farm.shelves.end()) continue;
    alarm["shelved_by"] = text(shelf->by);
    alarm["shelved_until"] = milliseconds(shelf->until_utc);
  }
  return alarms;
}

json::array checks_json(const Farm& farm) {
  json::array checks;
  for (const CheckState& one : farm.checks)
    checks.push_back({{"name", text(one.name)},
                      {"histogram", text(one.histogram)},
                      {"verdict", text(one.verdict)},
                      {"severity", json::string(control::name(one.gravity))},
                      {"reason", text(one.reason)}});
  return checks;
}

json::object log_object(const LogRing::Entry& entry) {
  return {{"number", entry.number},
          {"t", milliseconds(entry.line.utc_ns)},
          {"process", entry.line.process},
          {"level", std::string(name(entry.line.level))},
          {"text", entry.line.text}};
}

}  // namespace

struct ModelJson {
  static json::object point(const Model::Point& point) {
    json::object out{{"t", milliseconds(point.utc_ns)}, {"run", point.run}};
    if (!point.measured) return out;
    out["triggered"] = rounded(point.triggered_per_s);
    if (point.assigned_known) out["assigned"] = rounded(point.assigned_per_s);
    out["stored"] = rounded(point.stored_per_s);
    out["rejected"] = rounded(point.rejected_per_s);
    out["built_bytes"] = rounded(point.built_bytes_per_s);
    out["stored_bytes"] = rounded(point.stored_bytes_per_s);
    out["built"] = point.built;
    if (point.built == 0) return out;
    out["p50_us"] = point.p50_us;
    out["p99_us"] = point.p99_us;
    out["max_us"] = point.max_us;
    return out;
  }
};

void Model::update(const Farm& farm) {
  farm_ = farm;
  std::set<std::string> there;
  for (const MemberView& member : farm_.members) {
    there.insert(member.name);
    reports::NodeRates& rates = rates_[member.name];
    if (has_rates(member)) {
      rates.take(*member.report, farm_.now_utc_ns);
    } else {
      rates.clear();
    }
  }
  std::erase_if(rates_, [&](const auto& one) { return !there.contains(one.first); });
  WEIR_ASSERT(rates_.size() == there.size());
  history_.push_back(make_point());
  while (history_.size() > limits_.history_max) history_.pop_front();
}

Model::Point Model::make_point() const {
  Point point;
  point.utc_ns = farm_.now_utc_ns;
  point.run = farm_.run;
  metrics::ValueHistogram built_us;
  std::size_t measured = 0;    // DCMs with a rate
  std::size_t unmeasured = 0;  // DCMs that are too new for a rate
  for (const MemberView& member : farm_.members) {
    const reports::NodeRates& rates = rates_.at(member.name);
    if (!has_rates(member)) continue;
    if (!rates.measured()) {
      if (member.report->role() == v1::ROLE_DCM) ++unmeasured;
      continue;
    }
    switch (member.report->role()) {
      case v1::ROLE_SUPERVISOR:
        point.measured = true;
        point.triggered_per_s += rates.slices_per_s();
        point.stored_per_s += rates.stored_per_s();
        point.rejected_per_s += rates.rejected_per_s();
        break;
      case v1::ROLE_DCM:
        point.measured = true;
        ++measured;
        point.assigned_per_s += rates.slices_per_s();
        point.built_bytes_per_s += rates.bytes_per_s();
        built_us.merge(rates.built_us());
        break;
      case v1::ROLE_WRITER:
        point.stored_bytes_per_s += rates.bytes_per_s();
        break;
      default:
        break;
    }
  }
  WEIR_ASSERT(point.measured || measured == 0);
  point.assigned_known = measured > 0 || unmeasured == 0;
  point.built = built_us.count();
  point.p50_us = built_us.percentile(50);
  point.p99_us = built_us.percentile(99);
  point.max_us = built_us.max();
  return point;
}

std::string Model::state_json(bool can_command) const {
  json::object out;
  out["farm"] = text(farm_.name);
  out["state"] = json::string(control::name(farm_.state));
  json::array health;
  for (const control::Finding& one : farm_.health) {
    health.push_back({{"gravity", json::string(control::name(one.gravity))},
                      {"word", text(one.word)},
                      {"reason", text(one.reason)},
                      {"since", one.lasts_ns ? json::value((farm_.now_utc_ns - *one.lasts_ns) / kMillisecond)
                                             : json::value()}});
  }
  out["health"] = std::move(health);
  out["under_way"] = farm_.under_way ? json::value(json::string(control::name(*farm_.under_way))) : nullptr;
  out["over"] = farm_.over;
  out["run"] = farm_.run;
  out["now"] = milliseconds(farm_.now_utc_ns);
  out["run_begin"] =
      farm_.run_begin_utc_ns == 0 ? json::value(nullptr) : json::value(milliseconds(farm_.run_begin_utc_ns));
  out["can_command"] = can_command;
  json::array commands;
  for (const control::Command kind : farm_.commands) commands.push_back(json::string(control::name(kind)));
  out["commands"] = std::move(commands);
  json::array overrides;
  for (const Override& one : farm_.overrides) {
    overrides.push_back({{"key", text(one.key)},
                         {"value", text(one.value)},
                         {"origin", text(one.origin)},
                         {"in_force", one.in_force},
                         {"unset", one.unset}});
  }
  out["overrides"] = std::move(overrides);
  out["counts"] = counts_json(farm_);
  const v1::Report* supervisor = supervisor_report(farm_);
  out["discarded"] = reasons(supervisor, "discarded.");
  out["vetoed"] = reasons(supervisor, "vetoed.");
  out["throttled_ms"] = reasons(supervisor, "throttled_ms.");
  out["groups"] = groups_json(supervisor);
  out["steps"] = steps_json(farm_);
  out["filter_counters"] = filter_counters_json(farm_);
  out["truth"] = truth_json(farm_);
  out["histograms"] = farm_.histograms;
  out["bursts"] = bursts_json(supervisor);
  json::array members;
  for (const MemberView& member : farm_.members) {
    members.push_back(member_json(member, rates_.at(member.name)));
  }
  out["members"] = std::move(members);
  out["disks"] = disks_json(farm_);
  json::array rings;
  for (const SwitchRing& one : farm_.switch_rings) {
    rings.push_back({{"switch", text(one.of)},
                     {"ring", text(one.ring)},
                     {"waiting", one.waiting},
                     {"waiting_bytes", one.waiting_bytes},
                     {"waiting_most", one.waiting_most},
                     {"waiting_bytes_most", one.waiting_bytes_most},
                     {"room", one.room},
                     {"frames", one.frames},
                     {"dropped", one.dropped}});
  }
  out["switch_rings"] = std::move(rings);
  if (const control::DiskUse* disk = control::shortest(farm_.disks))
    out["disk"] = text(control::space_text(*disk));
  out["sequence"] = text(farm_.sequence);
  out["alarms"] = alarms_json(farm_);
  json::array channels;
  for (const ChannelState& one : farm_.alarm_channels)
    channels.push_back({{"name", text(one.name)}, {"error", text(one.error)}});
  out["alarm_channels"] = std::move(channels);
  out["checks"] = checks_json(farm_);
  out["checks_run"] = farm_.checks_run;
  out["live_share"] = farm_.live_share ? json::value(*farm_.live_share) : json::value(nullptr);
  json::array ledger;
  for (const LedgerLine& line : farm_.ledger) {
    ledger.push_back({{"name", text(line.name)},
                      {"left", text(line.left)},
                      {"right", text(line.right)},
                      {"good", line.good},
                      {"note", text(line.note)}});
  }
  out["ledger"] = std::move(ledger);
  json::object fields;
  for (const auto& [name, value] : farm_.run_fields) fields.emplace(name, text(value));
  out["run_fields"] = std::move(fields);
  out["required_fields"] = json::array(farm_.required_fields.begin(), farm_.required_fields.end());
  out["run_types"] = json::array(farm_.run_types.begin(), farm_.run_types.end());
  out["runs"] = farm_.runs.size();
  out["last_run"] = farm_.runs.empty() ? 0 : farm_.runs.back().number;
  if (!history_.empty()) out["point"] = ModelJson::point(history_.back());
  return json::serialize(out);
}

std::string Model::history_json() const {
  json::array points;
  for (const Point& point : history_) points.push_back(ModelJson::point(point));
  return json::serialize(json::object{{"points", std::move(points)}});
}

std::string Model::runs_json() const {
  json::array runs;
  const std::size_t first = farm_.runs.size() - std::min(farm_.runs.size(), limits_.runs_max);
  WEIR_ASSERT(farm_.runs.size() - first <= limits_.runs_max);
  for (std::size_t i = farm_.runs.size(); i-- > first;) {
    const RunEntry& run = farm_.runs[i];
    runs.push_back({{"number", run.number},
                    {"begin", milliseconds(run.begin_utc_ns)},
                    {"running_s", rounded(static_cast<double>(run.running_ns) / kSecond)},
                    {"triggered", run.triggered},
                    {"stored", run.stored},
                    {"rejected", run.rejected},
                    {"discarded", run.discarded},
                    {"balanced", run.balanced},
                    {"faults", run.faults},
                    {"reason", text(run.reason)},
                    {"outcome", text(run.outcome)},
                    {"failure", text(run.failure)},
                    {"discarded_at_stop", run.discarded_at_stop}});
  }
  return json::serialize(
      json::object{{"runs", std::move(runs)}, {"matching", farm_.runs.size()}, {"all", farm_.runs.size()}});
}

std::string log_json(const LogRing::Entry& entry) { return json::serialize(log_object(entry)); }

std::string logs_json(const LogRing& ring, const LogRing::Query& query) {
  json::array lines;
  for (const LogRing::Entry* entry : ring.find(query)) lines.push_back(log_object(*entry));
  return json::serialize(json::object{{"lines", std::move(lines)}, {"dropped", ring.dropped()}});
}

}  // namespace weir::page
