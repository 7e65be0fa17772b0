#include "findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace weir::control {

std::string whole_seconds(DurationNs time) { return std::to_string(time / kSecond) + " s"; }

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string percent(double share) {
  const double value = 100 * share;
  char text[32];
  std::snprintf(text, sizeof text, value > 0 && value < 1 ? "%.2g %%" : "%.0f %%", value);
  return text;
}

std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kNamesMax = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesMax) text += " and " + std::to_string(names.size() - kNamesMax) + " more";
  return text;
}
std::string list(const Picked& picked) {
  std::vector<std::string> names;
  for (const HealthView::Process* one : picked) names.push_back(one->name);
  return list(names);
}

namespace {

using Process = HealthView::Process;

constexpr std::array<std::string_view, 4> kGravities = {"good", "waiting", "warning", "error"};
constexpr DurationNs kUnsettled = 10 * kSecond;    // a warning after this time,
constexpr DurationNs kStalled = 30 * kSecond;      // an error after this
constexpr DurationNs kRestartTold = 30 * kSecond;  // how long its restart is reported
constexpr DurationNs kSilentMin = 2 * kSecond;
constexpr int kHeartbeatsMissed = 3;

// True for reasons that stop the data until a person acts.
bool stops_data(std::string_view reason) {
  return reason.starts_with("WRITER_DISK_") || reason == "SUPERVISOR_JOURNAL_FULL";
}

// Rank of a reason on the way from cause to consequence: a queue fills up because of the stage behind it. A
// disk holds up the writer, the writer the DCMs, the DCMs' filters the supervisor, and all of them the
// readouts.
int distance_to_cause(std::string_view reason) {
  constexpr std::array<std::string_view, 8> kOrder = {
      "WRITER_BUFFER",   "WRITER_TOO_SLOW", "FILTER_TOO_SLOW",      "READOUT_BACKLOG",
      "DCM_BUFFER_FULL", "SLICES_PENDING",  "READOUT_BUFFER_BYTES", "READOUT_BUFFER_SLICES"};
  if (stops_data(reason)) return 0;
  const auto found = std::find(kOrder.begin(), kOrder.end(), reason);
  return 1 + static_cast<int>(found - kOrder.begin());
}

// A cause that several processes name is reported once, with all processes where it originates. Waiting
// for a filter that hangs, or ends its workers, is left out: more units would not help.
void held_up(const HealthView& view, bool filters_are_broken, Findings& out) {
  const Picked holding = pick(view, [&](const Process& one) {
    if (filters_are_broken && one.held_by == "FILTER_TOO_SLOW") return false;
    return one.live && in_run(one) && one.held != Hold::none && one.held_by != "RUN_PAUSED";
  });
  std::vector<std::string> reasons;
  for (const Process* one : holding) {
    if (std::find(reasons.begin(), reasons.end(), one->held_by) == reasons.end())
      reasons.push_back(one->held_by);
  }
  std::stable_sort(reasons.begin(), reasons.end(), [](const std::string& left, const std::string& right) {
    return distance_to_cause(left) < distance_to_cause(right);
  });
  const auto writers =
      pick(view, [](const Process& one) { return one.role == Role::writer && one.live; }).size();
  for (const std::string& reason : reasons) {
    std::vector<std::string> causes;
    std::string meaning;
    std::size_t writers_blocked = 0;
    bool blocked = false;
    for (const Process* one : holding) {
      if (one->held_by != reason) continue;
      if (std::find(causes.begin(), causes.end(), one->cause) == causes.end()) causes.push_back(one->cause);
      meaning = one->sentence;
      blocked = blocked || one->held == Hold::blocked;
      if (one->role == Role::writer) ++writers_blocked;
    }
    const bool others_store = reason.starts_with("WRITER_") && writers_blocked < writers;
    const bool grave = blocked && stops_data(reason) && !others_store;
    std::string text = list(causes) + ": " + (meaning.empty() ? reason : meaning + " (" + reason + ")");
    out.push_back(
        {grave ? Gravity::error : Gravity::warning,
         std::string(name(grave || (blocked && stops_data(reason)) ? Hold::blocked : Hold::throttled)),
         std::move(text)});
  }
}

// A reason that a process reports becomes as grave as the stall, and comes first.
void unsettled(const HealthView& view, Findings& out) {
  if (view.state != State::running || view.unsettled_ns < kUnsettled) return;
  if (view.unsettled_ns >= kStalled) {
    for (Finding& one : out) {
      if (one.word == name(Hold::throttled) || one.word == name(Hold::blocked)) one.gravity = Gravity::error;
    }
  }
  out.push_back({view.unsettled_ns < kStalled ? Gravity::warning : Gravity::error, "stalled",
                 "no slice is settled, and " + counted(view.in_flight, "slice") +
                     (view.in_flight == 1 ? " waits" : " wait"),
                 view.unsettled_ns});
}

std::string per_second(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, rate < 10 ? "%.1f Hz" : "%.0f Hz", rate);
  return text;
}

void triggers(const HealthView& view, Findings& out) {
  if (view.state != State::running || view.draining) return;
  const HealthView::Flow& flow = view.flow;
  if (flow.silent_ns) {
    out.push_back(
        {Gravity::warning, "no triggers",
         std::string(flow.had_triggers ? "no trigger arrives any more" : "none since the run began") +
             ": check the trigger's source, or pause the run",
         flow.silent_ns});
  } else if (flow.rate) {
    out.push_back({Gravity::warning, "low rate",
                   "triggers come at " + per_second(*flow.rate) + ", " +
                       percent(*flow.rate / flow.mean_rate) + " of the mean of the last minutes, " +
                       per_second(flow.mean_rate)});
  }
  if (flow.live_share) {
    out.push_back({Gravity::warning, "dead time",
                   percent(1 - *flow.live_share) + " of the last " + whole_seconds(TriggerFlow::kRecent) +
                       " took no triggers"});
  }
}

void silent(const HealthView& view, Findings& out) {
  const DurationNs limit = std::max(kSilentMin, kHeartbeatsMissed * view.heartbeat_ns);
  const Picked quiet =
      pick(view, [&](const Process& one) { return one.live && one.known && one.silent_ns >= limit; });
  if (quiet.empty()) return;
  DurationNs longest = 0;
  for (const Process* one : quiet) longest = std::max(longest, one->silent_ns);
  out.push_back(
      {Gravity::warning, "silent",
       list(quiet) + (quiet.size() == 1 ? " is" : " are") + " silent: stopped, overloaded, or cut off",
       longest});
}

void silent_sources(const HealthView& view, Findings& out) {
  std::vector<std::string> texts;
  for (const Process* one : pick(view, [](const Process& it) { return !it.silent_sources.empty(); }))
    texts.push_back(one->silent_sources + " at " + one->name);
  if (texts.empty()) return;
  out.push_back({Gravity::error, "source silent",
                 "no data of " + list(texts) + ": the front-end has stopped, or its run() hangs"});
}

void out_of_step(const HealthView& view, Findings& out) {
  std::vector<std::string> texts;
  for (const Process* one : pick(view, [](const Process& it) { return !it.out_of_step.empty(); }))
    texts.push_back(one->out_of_step + " at " + one->name);
  if (texts.empty()) return;
  out.push_back({Gravity::error, "out of step",
                 list(texts) + ": its data are in the wrong slices, and are marked there"});
}

// DCMs of one plane go to the same or to several others.
void other_planes(const HealthView& view, Findings& out) {
  std::vector<std::string> texts;
  for (const Process* one : pick(view, [](const Process& it) { return it.live && !it.other_plane.empty(); }))
    texts.push_back(one->name + " through " + one->other_plane);
  if (texts.empty()) return;
  out.push_back(
      {Gravity::warning, "plane", list(texts) + ": check the links and switches of the plane that was left"});
}

void lost_lately(const HealthView& view, Findings& out) {
  for (const auto& [prefix, noun] :
       {std::pair<std::string_view, std::string_view>{"discarded.", "slice"}, {"missing.", "fragment"}}) {
    std::uint64_t count = 0;
    std::vector<std::string> why;
    for (const LostLately& one : view.lost) {
      if (!one.what.starts_with(prefix)) continue;
      count += one.count;
      why.push_back(one.what.substr(prefix.size()));
    }
    if (count == 0) continue;
    const bool slices = noun == "slice";
    out.push_back({Gravity::warning, slices ? "slices discarded" : "fragments missing",
                   counted(count, noun) + (count == 1 ? " was " : " were ") +
                       (slices ? "discarded" : "missing") + " in the last " +
                       whole_seconds(RunProgress::kWindow) + " (" + list(why) + ")"});
  }
}

void ring_disks(const HealthView& view, Findings& out) {
  std::uint64_t missed = 0;
  const Picked slow = pick(view, [](const Process& one) { return one.live && one.ring_missed > 0; });
  for (const Process* one : slow) missed += one->ring_missed;
  if (slow.empty()) return;
  out.push_back(
      {Gravity::warning, "burst ring",
       list(slow) + ": " + counted(missed, "slice") +
           " of this run cannot be saved for an alert: the disk of burst.folder is slow, full or failed"});
}

void missing_disks(const HealthView& view, Findings& out) {
  if (view.missing_disks.empty()) return;
  out.push_back({Gravity::error, "disk missing",
                 sentence(view.missing_disks,
                          run_is_on(view) ? " again: the writers resume by themselves" : kAcceptDisks)});
}

void records(const HealthView& view, Findings& out) {
  const HealthView::Records& now = view.records;
  if (!now.unwritten.empty()) {
    out.push_back({Gravity::error, "records not written",
                   list(now.unwritten) + ": " + now.why +
                       ": make room, and run control writes them; do not end it before"});
  } else if (now.free_bytes) {
    out.push_back({Gravity::warning, "disk of records",
                   now.folder + " has " + std::to_string(*now.free_bytes / 1000) +
                       " kB left: make room for the next records"});
  }
}

void filling_disks(const HealthView& view, Findings& out) {
  for (const DiskUse& one : view.disks) {
    if (one.is_short) out.push_back({Gravity::warning, "disk fills", sentence(one)});
  }
}

void last_run(const HealthView& view, Findings& out) {
  if (!view.last) return;
  const HealthView::LastRun& last = *view.last;
  const std::string ended = (last.fault.empty() ? "" : last.fault + "; ") + "ended: " + last.reason;
  const std::string run = "run " + std::to_string(last.run.value);
  if (!last.accounted) {
    const std::string why = last.reason.empty() ? "" : ": " + last.reason;
    const std::string what = last.began ? "it has no account" : "it never began";
    out.push_back({last.was_reset ? Gravity::warning : Gravity::error,
                   run + (last.was_reset ? " was given up"
                          : last.began   ? " ended badly"
                                         : " never began"),
                   last.was_reset || !last.began ? (why.empty() ? what : last.reason) : what + why});
  } else if (!last.balanced) {
    out.push_back({Gravity::error, run + " ended badly", "its ledger does not balance; " + ended});
  } else if (!last.failure.empty()) {
    out.push_back({Gravity::error, run + " ended badly", last.failure + "; its ledger balances"});
  } else if (last.discarded_at_stop > 0) {
    out.push_back({Gravity::warning, run + " was cut short",
                   counted(last.discarded_at_stop, "slice") +
                       " in flight discarded when the time to drain was over; its ledger balances; ended: " +
                       last.reason});
  } else if (last.faults) {
    out.push_back({Gravity::warning, run + " had faults", "its ledger balances; " + ended});
  }
}

// Returns how the last run ended, for a farm without other findings.
std::string how_last_ended(const HealthView& view) {
  if (!view.last || (!view.over && (view.under_way || run_is_on(view)))) return {};
  return "run " + std::to_string(view.last->run.value) + " ended: " + view.last->reason +
         "; its ledger balances";
}

void restarted(const HealthView& view, Findings& out) {
  if (!view.recalled || view.up_ns >= kRestartTold) return;
  const Picked awaited = pick(view, [&](const Process& one) { return is_awaited(view, one); });
  if (awaited.empty()) {
    out.push_back({Gravity::waiting, "run control restarted", "it has taken over the farm", view.up_ns});
  } else {
    out.push_back(
        {Gravity::warning, "run control restarted", "it waits for reports of " + list(awaited), view.up_ns});
  }
}

}  // namespace

std::string_view name(Gravity gravity) { return kGravities[static_cast<std::size_t>(gravity)]; }
std::optional<Gravity> gravity_of(std::string_view name) {
  const auto found = std::find(kGravities.begin(), kGravities.end(), name);
  if (found == kGravities.end()) return std::nullopt;
  return static_cast<Gravity>(found - kGravities.begin());
}

std::string sentence(const Finding& finding) {
  return finding.reason.empty() ? finding.word : finding.word + ": " + finding.reason;
}

// A farm that was ended on purpose needs no attention.
std::vector<Finding> health_at_the_end(const HealthView& view) {
  Findings out;
  records(view, out);
  last_run(view, out);
  const std::string ended = out.empty() ? how_last_ended(view) : "";
  if (view.off && view.under_way) {
    out.push_back({Gravity::waiting, std::string(name(*view.under_way)) + " is under way",
                   view.waits_for.empty() ? "" : "waits for " + list(view.waits_for)});
  } else if (view.off) {
    out.push_back({Gravity::waiting, "the farm is off", ended});
  } else if (out.empty()) {
    out.push_back({Gravity::good, "run " + std::to_string(view.run.value) + " ended",
                   view.last ? view.last->reason + "; its ledger balances" : ""});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& left, const Finding& right) { return left.gravity > right.gravity; });
  return out;
}

std::vector<Finding> health_of(const HealthView& view) {
  if (view.over) return health_at_the_end(view);
  Findings out;
  if (view.state == State::error) out.push_back({Gravity::error, "error", view.reason});
  if (!view.refusal.empty()) out.push_back({Gravity::error, "configure refused", view.refusal});
  missing_disks(view, out);
  if (run_is_on(view)) {
    away_in_run(view, out);
    held_up(view, broken_filters(view, out), out);
    unsettled(view, out);
    refused_triggers(view, out);
    triggers(view, out);
    silent_sources(view, out);
    out_of_step(view, out);
    other_planes(view, out);
    lost_lately(view, out);
    silent(view, out);
    back_in_run(view, out);
    ring_disks(view, out);
    records(view, out);
  } else {
    absent(view, out);
    silent(view, out);
    records(view, out);
    if (!view.under_way) last_run(view, out);
  }
  filling_disks(view, out);
  restarted(view, out);
  if (view.under_way) {
    out.push_back({Gravity::waiting, std::string(name(*view.under_way)) + " is under way",
                   view.waits_for.empty() ? "" : "waits for " + list(view.waits_for)});
  }
  if (view.state == State::running && view.draining && !view.under_way) {
    out.push_back({Gravity::waiting, "draining",
                   "no more triggers in this run; " + counted(view.in_flight, "slice") + " in flight"});
  }
  if (view.state == State::paused) out.push_back({Gravity::waiting, "paused", "no triggers until continue"});
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& left, const Finding& right) { return left.gravity > right.gravity; });
  if (out.empty()) {
    const bool on = view.state == State::running;
    out.push_back(
        {on ? Gravity::good : Gravity::waiting, std::string(name(view.state)), how_last_ended(view)});
  }
  // No fault: every farm that runs as fast as it can has such a process.
  for (const std::string& one : view.full) out.push_back({Gravity::good, "full", one});
  return out;
}

}  // namespace weir::control
