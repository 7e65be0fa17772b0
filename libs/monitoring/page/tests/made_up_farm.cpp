#include "made_up_farm.hpp"

#include <weir/base/hash.hpp>
#include <weir/base/held_up.hpp>
#include <weir/base/role.hpp>
#include <weir/histograms/contents.hpp>
#include <weir/reports/filter_histograms.hpp>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <cmath>

namespace weir::page::test {
namespace {

constexpr double kSlicesPerS = 1200;
constexpr double kSliceBytes = 90'000;
constexpr double kStoredShare = 0.07;
constexpr double kBuildUs = 900;

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(value); }

}  // namespace

MadeUpFarm::MadeUpFarm(unsigned readouts, unsigned dcms, unsigned writers, std::uint64_t seed)
    : random_(seed), dcms_(dcms) {
  farm_.name = "made-up";
  farm_.run = 41;
  farm_.now_utc_ns = kBeginUtcNs;
  farm_.state = control::State::ready;
  add_member("supervisor", "supervisor", "daq-00");
  for (unsigned i = 0; i < readouts; ++i)
    add_member("readout-" + std::to_string(i), "readout", "fe-" + std::to_string(i / 4));
  for (unsigned i = 0; i < dcms; ++i)
    add_member("dcm-" + std::to_string(i), "dcm", "daq-" + std::to_string(1 + i / 2));
  for (unsigned i = 0; i < writers; ++i) add_member("writer-" + std::to_string(i), "writer", "store-0");
  for (std::uint32_t number = 38; number <= 41; ++number) {
    const std::uint64_t triggered = 600'000 + 1000 * number;
    farm_.runs.push_back({number, kBeginUtcNs - (42 - number) * 3600 * kSecond, 3000 * kSecond, triggered,
                          triggered / 14, triggered - triggered / 14 - number % 3, number % 3, number != 39,
                          number == 40, number == 40 ? "stopped by the operator" : "all triggers made", "",
                          "", 0});
  }
  farm_.ledger = {{"fragments: requested = received + missing", "90001", "90000", true,
                   "a DCM was lost before its last report"},
                  {"triggers: offered = triggered + vetoed", "641000", "641000", true, ""},
                  {"slices: triggered = stored + rejected + discarded", "641000", "641000", true, "same ids"},
                  {"slices: stored = live on disk", "45785", "45785", true, "same ids"}};
  farm_.disks = {
      {{"supervisor"}, "daq-00", "/data/journal", {190'000'000'000, 240'000'000'000}, 2.1e4, {}, false},
      {{"writer-0", "writer-1"},
       "store-0",
       "/data/out",
       {4'100'000'000'000, 16'000'000'000'000},
       7.6e6,
       149 * 3600 * kSecond,
       false}};
  farm_.switch_rings = {{"daq", "dcm-0", 12, 18'168, 340, 514'760, 4'096, 81'245'000, 0},
                        {"daq", "dcm-1", 0, 0, 4'096, 6'201'344, 4'096, 80'911'000, 17}};
  begin_run();
}

void MadeUpFarm::add_member(const std::string& name, const std::string& role, const std::string& host) {
  MemberView member;
  member.name = name;
  member.role = role;
  member.host = host;
  member.importance = role == "dcm" ? "dynamic" : "essential";
  member.state = "ready";
  member.heartbeat_age_s = 0.2;
  farm_.members.push_back(member);
  counts_.emplace_back();
}

double MadeUpFarm::around(double mean) {
  std::normal_distribution<double> spread(mean, mean * 0.05);
  return std::max(0.0, spread(random_));
}

void MadeUpFarm::say(LogLevel level, const std::string& process, const std::string& text) {
  logged_.push_back({farm_.now_utc_ns, process, level, text});
}

void MadeUpFarm::begin_run() {
  ++farm_.run;
  farm_.run_begin_utc_ns = farm_.now_utc_ns;
  farm_.state = control::State::running;
  for (Counts& counts : counts_) counts = {};
  for (MemberView& member : farm_.members) member.state = "running", member.reason.clear();
  set_commands();
}

void MadeUpFarm::end_run(const std::string& reason) {
  const Counts& supervisor = counts_.front();
  const std::uint64_t stored = whole(supervisor.slices * kStoredShare);
  farm_.runs.push_back({farm_.run, farm_.run_begin_utc_ns, farm_.now_utc_ns - farm_.run_begin_utc_ns,
                        whole(supervisor.slices), stored, whole(supervisor.slices) - stored, 0, true, false,
                        reason, "", "", 0});
  farm_.state = control::State::ready;
  farm_.run_begin_utc_ns = 0;
  for (MemberView& member : farm_.members) member.state = "ready", member.reason.clear();
  set_commands();
}

void MadeUpFarm::set_commands() {
  farm_.commands.clear();
  for (const control::StateTransition& transition : control::transitions()) {
    if (transition.from == farm_.state && transition.command != control::Command::off)
      farm_.commands.push_back(transition.command);
  }
}

CommandAnswer MadeUpFarm::command(const RequestedCommand& command) {
  if (!command.alarm.empty()) {
    for (control::Alarm& alarm : farm_.alarms) {
      if (alarm.name == command.parameters.at("alarm")) alarm.acked_by = command.parameters.at("person");
    }
    return {true, command.alarm + " is done"};
  }
  if (command.action == "try-settings")
    return {command.sets.size() == 1, command.sets.size() == 1
                                          ? "dcm.credits: 8 -> 4"
                                          : "dcm.credit: unknown; did you mean dcm.credits?"};
  if (command.action == "form") {
    return {
        true,
        {},
        R"([{"key": "dcm.credits", "type": "integer, 1…4096", "meaning": "Slices at a time.", "default": "16",
                 "value": "8", "in_force": "8", "origin": "farm.yaml:7"},
                {"key": "trigger.mode", "type": "word", "meaning": "Mode of triggers.", "default": "rate",
                 "value": "rate", "in_force": "rate", "origin": "", "words": ["rate", "poisson", "network"]},
                {"key": "filter.parameters.keep", "type": "text", "meaning": "Parameters of the filter.",
                 "default": "", "value": "3", "in_force": "2", "origin": "set"}])"};
  }
  if (!command.action.empty()) return {true, command.action + " is accepted"};
  const std::string wanted(control::name(command.kind));
  const auto to = control::after(farm_.state, command.kind);
  if (!to) {
    const std::string state(control::name(farm_.state));
    return {false, "the farm is " + state + ": it cannot " + wanted + " now"};
  }
  if (command.kind == control::Command::start) {
    begin_run();
  } else if (command.kind == control::Command::stop) {
    end_run("stopped by the operator");
  } else {
    farm_.state = *to;
    for (MemberView& member : farm_.members) member.state = control::name(*to);
    set_commands();
  }
  return {true, wanted + " is under way"};
}

void MadeUpFarm::step() {
  logged_.clear();
  ++seconds_;
  farm_.now_utc_ns += kSecond;
  for (std::size_t i = 0; i < farm_.members.size(); ++i) {
    MemberView& member = farm_.members[i];
    member.heartbeat_age_s = 0.1 + 0.8 * static_cast<double>(random_() % 100) / 100;
    if (farm_.state == control::State::running && member.state != "dead") count(i);
    if (member.state != "dead") make_report(i);
  }
  if (farm_.state == control::State::running && !struck_) mishaps();
  judge();
}

void MadeUpFarm::mishaps() {
  // A writer dies and returns now and then; a readout is throttled for a while.
  MemberView& dcm = farm_.members[farm_.members.size() - 2];
  if (seconds_ % 30 == 12) {
    dcm.state = "dead";
    dcm.reason = "signal 9 (Killed); started again in 5 s";
    say(LogLevel::error, dcm.name, "process failed reason=\"signal 9 (Killed)\"");
    say(LogLevel::warning, "supervisor", "lost name=" + dcm.name + " slices_given_to_others=17");
  } else if (seconds_ % 30 == 17) {
    dcm.state = "running";
    dcm.reason.clear();
    say(LogLevel::info, dcm.name, "joins incarnation=2");
  }
  if (dcm.state == "dead") dcm.heartbeat_age_s = static_cast<double>(seconds_ % 30) - 12;
  MemberView& readout = farm_.members[1];
  const bool full = seconds_ % 20 > 14;
  readout.state = full ? "throttled" : "running";
  readout.reason = full ? "READOUT_BUFFER_BYTES " + readout.name : "";
  say(LogLevel::info, "supervisor", "status slices=" + std::to_string(whole(counts_.front().slices)));
  if (seconds_ % 7 == 0)
    say(LogLevel::warning, readout.name,
        "source 3 sent nothing for 250 ms; its fragments are marked missing");
}

void MadeUpFarm::strike(const std::string& role, const std::string& state, const std::string& reason) {
  if (!struck_) {
    for (MemberView& member : farm_.members) member.state = "running", member.reason.clear();
  }
  struck_ = true;
  for (MemberView& member : farm_.members) {
    if (member.role != role) continue;
    member.state = state;
    member.reason = reason;
  }
}

void MadeUpFarm::end_badly() {
  struck_ = true;
  end_run("stopped by the operator");
  farm_.runs.back().balanced = false;
}

// Judges the farm in the same way as run control.
void MadeUpFarm::judge() {
  control::HealthView view;
  view.state = farm_.state;
  view.run = RunNumber(farm_.run);
  for (const MemberView& member : farm_.members) {
    control::HealthView::Process one;
    one.name = member.name;
    one.role = role_of(member.role);
    one.live = member.state != "dead";
    one.known = true;
    one.state = control::state_of(member.state).value_or(farm_.state);
    one.silent_ns = static_cast<DurationNs>(member.heartbeat_age_s * kSecond);
    const std::string said = member.state + ": " + member.reason;
    if (const HeldUp held = held_up_of(said); held.hold != Hold::none) {
      one.held = held.hold;
      one.held_by = held.reason;
      one.cause = member.name;
    }
    view.processes.push_back(std::move(one));
  }
  view.lost = lost_;
  if (farm_.state != control::State::running && !farm_.runs.empty()) {
    const RunEntry& last = farm_.runs.back();
    view.last = {RunNumber(last.number), true, last.balanced, last.faults, last.reason, "", ""};
  }
  farm_.health = control::health_of(view);
}

void MadeUpFarm::count(std::size_t index) {
  const MemberView& member = farm_.members[index];
  Counts& counts = counts_[index];
  const double wave = 1 + 0.3 * std::sin(static_cast<double>(seconds_) / 15);
  const double slices = around(kSlicesPerS * wave);
  if (member.role == "supervisor" || member.role == "readout") {
    counts.slices += slices;
    counts.bytes += slices * 3000;
  } else if (member.role == "dcm") {
    counts.slices += slices / dcms_;
    counts.bytes += slices / dcms_ * kSliceBytes;
    std::lognormal_distribution<double> spread(std::log(kBuildUs), 0.4);
    for (int i = 0; i < 200; ++i) counts.built_us.record(whole(spread(random_)) + 1);
    if (random_() % 9 == 0) counts.lost += 1;
  } else {
    counts.slices += slices * kStoredShare;
    counts.bytes += slices * kStoredShare * kSliceBytes;
  }
}

std::string MadeUpFarm::sources(unsigned seconds) {
  const std::string received = std::to_string(120 * seconds);
  return R"({"losing":1,"left_out":7,"partial":false,"incomplete":["dcm-1"],"groups":[)"
         R"({"name":"line-<i>2","sources":30,"losing":1,"missing":4002}],"rows":[)"
         R"({"source":17,"readout":"readout-3","received":)" +
         received + R"(,"bytes":64000,"produced":)" + received +
         R"(,"last_seen_utc_ms":3661000,"missing":{"deadline":4000,"gap":2},"dropped":{"late":3}},)"
         R"({"source":18,"readout":"<b>x</b>","received":0,"bytes":0,"produced":0,)"
         R"("last_seen_utc_ms":0,"missing":{},"dropped":{}}]})";
}

std::string MadeUpFarm::histograms(std::uint32_t run, unsigned seconds) {
  using weir::histograms::Kind;
  weir::histograms::Layout layout;
  const auto book = [&](const weir::histograms::Booking& booking) { return layout.book(booking).value(); };
  const auto hits = book({"hits per slice", Kind::one_dimension, {60, 0, 300}});
  const auto gain = book({"gain of each channel", Kind::profile, {31, 0, 31}});
  const auto map = book({"floors and hits of clusters", Kind::two_dimensions, {40, 0, 40}, {50, 0, 250}});
  weir::histograms::Contents contents(layout);
  weir::histograms::Fills fills;
  std::uint64_t draw = run;
  const auto uniform = [&draw] { return static_cast<double>(mix64(++draw) >> 11U) * 0x1.0p-53; };
  for (unsigned i = 0; i < seconds * 40; ++i) {
    const double sum = uniform() + uniform() + uniform() + uniform();
    fills.fill(layout.all()[hits], 20 + 55 * sum + (i % 50 == 0 ? 200 * uniform() : 0), 0, 1);
    fills.fill(layout.all()[gain], 31 * uniform(), 1 + 0.2 * sum, 1);
    const double floors = 4 + 9 * sum * uniform();
    fills.fill(layout.all()[map], floors, floors * (3 + 2 * uniform()), 1);
  }
  std::vector<weir::histograms::Addition> additions;
  fills.take(additions);
  contents.add(additions);
  reports::FilterHistogramList list;
  for (std::uint32_t n = 0; n < layout.all().size(); ++n)
    reports::put(layout.all()[n].booking, contents.cells(n), *list.Add());
  return reports::histograms_document(run, list);
}

void MadeUpFarm::make_report(std::size_t index) {
  MemberView& member = farm_.members[index];
  const Counts& counts = counts_[index];
  auto report = std::make_shared<v1::Report>();
  report->set_name(member.name);
  report->set_role(static_cast<v1::Role>(role_of(member.role)));
  report->set_incarnation(farm_.run);
  report->set_now_ns(static_cast<std::int64_t>(seconds_) * kSecond);
  report->set_state(member.reason.empty() ? "running" : member.reason);
  auto& counters = *report->mutable_counters();
  if (member.role == "supervisor") {
    counters["offered"] = whole(counts.slices * 1.01);
    counters["triggered"] = whole(counts.slices);
    counters["stored"] = whole(counts.slices * kStoredShare);
    counters["rejected"] = whole(counts.slices) - whole(counts.slices * kStoredShare);
    counters["discarded.attempts_exhausted"] = seconds_ / 40;
    counters["vetoed.in_flight"] = whole(counts.slices * 0.01);
    counters["farm.fragments.requested"] = whole(counts.slices * 30);
    counters["farm.fragments.received"] = whole(counts.slices * 30) - seconds_ / 9;
    counters["farm.fragments.missing.deadline"] = seconds_ / 9;
    counters["farm.dcms_lost"] = 0;
  } else if (member.role == "readout") {
    counters["readout.made"] = whole(counts.slices);
    counters["net.bytes_sent"] = whole(counts.bytes);
    if (member.name == "readout-0") {
      counters["truth.tracks.3"] = 200;
      counters["truth.stored.3"] = 20;
      counters["truth.tracks.5"] = 100;
      counters["truth.stored.5"] = 90;
    }
  } else if (member.role == "dcm") {
    counters["dcm.assigned"] = whole(counts.slices);
    counters["filter.clusters"] = whole(counts.slices * 0.3);
    counters["fragments.bytes"] = whole(counts.bytes);
    counters["fragments.requested"] = whole(counts.slices * 30);
    counters["fragments.received"] = whole(counts.slices * 30) - whole(counts.lost);
    if (counts.lost > 0) counters["fragments.missing.deadline"] = whole(counts.lost);
    const auto encoded = counts.built_us.encode();
    if (counts.built_us.count() > 0) {
      v1::Histogram& out = *report->add_histograms();
      out.set_name("build_latency_us");
      for (const auto& bucket : encoded.buckets) out.add_bucket(bucket.index), out.add_count(bucket.count);
      out.set_min(encoded.min);
      out.set_max(encoded.max);
      out.set_sum(encoded.sum);
    }
  } else {
    counters["writer.records"] = whole(counts.slices);
    counters["writer.bytes_stored"] = whole(counts.bytes);
  }
  auto& gauges = *report->mutable_gauges();
  gauges["slices_in_flight"] = static_cast<double>(random_() % 60);
  gauges["buffer_bytes_used"] = static_cast<double>(random_() % 9'000'000);
  gauges["process.rss_max_bytes"] = 120e6;
  gauges["process.cpu_s"] = static_cast<double>(seconds_) * 0.4;
  member.report = std::move(report);
}

}  // namespace weir::page::test
