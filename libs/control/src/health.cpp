#include <weir/control/health.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace weir::control {
namespace {

using Process = HealthView::Process;
using Findings = std::vector<Finding>;
using Picked = std::vector<const Process*>;

constexpr std::array<std::string_view, 4> kGravities = {"good", "waiting", "warning", "error"};
constexpr std::size_t kNamesMax = 4;               // names in a list
constexpr DurationNs kUnsettled = 10 * kSecond;    // a warning after this time,
constexpr DurationNs kStalled = 30 * kSecond;      // an error after this
constexpr DurationNs kLossTold = 60 * kSecond;     // how long a loss is reported
constexpr DurationNs kReturn = 10 * kSecond;       // time for processes to report to a new run control
constexpr DurationNs kRestartTold = 30 * kSecond;  // how long its restart is reported
constexpr DurationNs kSilentMin = 2 * kSecond;
constexpr int kHeartbeatsMissed = 3;

struct RoleWords {
  std::string_view one;
  std::string_view many;
  std::string_view without_any;   // effect on a run without any of them
  std::string_view without_some;  // effect without some of them
};
RoleWords words(Role role) {
  switch (role) {
    case Role::supervisor:
      return {"supervisor", "supervisors", "no slice is triggered or assigned", ""};
    case Role::writer:
      return {"writer", "writers", "no accepted slice is stored", "the others store"};
    case Role::readout:
      return {"readout", "readouts", "no slice has any fragment", "their fragments are missing"};
    default:
      return {"DCM", "DCMs", "no slice is built", "the others take the slices"};
  }
}

std::string seconds(DurationNs time) { return std::to_string(time / kSecond) + " s"; }

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesMax) text += " and " + std::to_string(names.size() - kNamesMax) + " more";
  return text;
}
std::string list(const Picked& picked) {
  std::vector<std::string> names;
  for (const Process* one : picked) names.push_back(one->name);
  return list(names);
}

template <typename Wanted>
Picked pick(const HealthView& view, const Wanted& wanted) {
  Picked picked;
  for (const Process& one : view.processes) {
    if (!one.removed && wanted(one)) picked.push_back(&one);
  }
  return picked;
}

bool in_run(const Process& one) { return one.state == State::running || one.state == State::paused; }
bool run_is_on(const HealthView& view) { return view.state == State::running || view.state == State::paused; }
// Processes that have not reported yet to a new run control get some time for it.
bool is_awaited(const HealthView& view, const Process& one) {
  return !one.live && !one.known && view.recalled && view.up_ns < kReturn;
}
bool is_gone(const HealthView& view, const Process& one) { return !one.live && !is_awaited(view, one); }
// True if the process should take part in the current run and does not.
bool is_away(const HealthView& view, const Process& one) {
  if (is_awaited(view, one)) return false;
  if (!one.live || one.state == State::error) return true;
  return !view.under_way && !one.over && !in_run(one);
}

std::string how_away(const Picked& away) {
  std::vector<std::string> texts;
  for (const Process* one : away) {
    std::string text = one->name;
    if (!one->live) {
      text += one->known ? " (not heard for " + seconds(one->silent_ns) + ")" : " (never heard)";
    } else if (one->state == State::error) {
      text += " (in error: " + one->reason + ")";
    } else if (one->inactive) {
      text += " (does not follow orders)";
    } else {
      text += " (" + std::string(name(one->state)) + ")";
    }
    texts.push_back(std::move(text));
  }
  return list(texts);
}

bool nobody_heard(const HealthView& view, Findings& out) {
  const Picked all = pick(view, [](const Process&) { return true; });
  const Picked gone = pick(view, [&](const Process& one) { return is_gone(view, one); });
  if (all.empty() || gone.size() != all.size()) return false;
  std::optional<DurationNs> least;
  for (const Process* one : gone) {
    if (one->known) least = std::min(least.value_or(one->silent_ns), one->silent_ns);
  }
  out.push_back({Gravity::error, "nobody heard",
                 "none of the " + std::to_string(all.size()) + (all.size() == 1 ? " process" : " processes") +
                     " is heard" + (least ? ", the last one " + seconds(*least) + " ago" : "") +
                     ": they have ended, or continue unseen because the bus cannot reach them"});
  return true;
}

void roles_away(const HealthView& view, Findings& out) {
  for (const Role role : {Role::supervisor, Role::dcm, Role::readout, Role::writer}) {
    const Picked all = pick(view, [&](const Process& one) { return one.role == role; });
    const Picked away =
        pick(view, [&](const Process& one) { return one.role == role && is_away(view, one); });
    if (away.empty()) continue;
    const RoleWords what = words(role);
    if (away.size() == all.size()) {
      out.push_back({Gravity::error, "no " + std::string(what.one),
                     std::string(what.without_any) + ": " + how_away(away)});
      continue;
    }
    const bool grave = role == Role::readout || std::any_of(away.begin(), away.end(), [](const Process* one) {
                         return one->essential;
                       });
    out.push_back({grave ? Gravity::error : Gravity::warning,
                   away.size() == 1 ? std::string(what.one) + " lost"
                                    : std::to_string(away.size()) + " " + std::string(what.many) + " lost",
                   how_away(away) + ": " + std::string(what.without_some)});
  }
}

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

// A cause that several processes name is reported once, with all processes where it originates.
void held_up(const HealthView& view, Findings& out) {
  const Picked holding = pick(view, [](const Process& one) {
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
                 "no slice has been settled for " + seconds(view.unsettled_ns) + ", and " +
                     counted(view.in_flight, "slice") + (view.in_flight == 1 ? " waits" : " wait")});
}

std::string per_second(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, rate < 10 ? "%.1f Hz" : "%.0f Hz", rate);
  return text;
}

void triggers(const HealthView& view, Findings& out) {
  if (view.state != State::running || view.draining) return;
  const HealthView::Flow& flow = view.flow;
  const auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
  if (flow.silent_ns) {
    out.push_back({Gravity::warning, "no triggers",
                   (flow.had_triggers ? "the last trigger arrived " + seconds(*flow.silent_ns) + " ago"
                                      : "none in the first " + seconds(*flow.silent_ns) + " of the run") +
                       ": look at the trigger's source, or pause the run"});
  } else if (flow.rate) {
    out.push_back({Gravity::warning, "low rate",
                   "triggers come at " + per_second(*flow.rate) + ", " +
                       percent(*flow.rate / flow.mean_rate) + " of the mean of the last minutes, " +
                       per_second(flow.mean_rate)});
  }
  if (flow.live_share) {
    out.push_back({Gravity::warning, "dead time",
                   percent(1 - *flow.live_share) + " of the last " + seconds(TriggerFlow::kRecent) +
                       " took no triggers"});
  }
}

void silent(const HealthView& view, Findings& out) {
  const DurationNs limit = std::max(kSilentMin, kHeartbeatsMissed * view.heartbeat_ns);
  const Picked quiet =
      pick(view, [&](const Process& one) { return one.live && one.known && one.silent_ns >= limit; });
  if (quiet.empty()) return;
  std::vector<std::string> texts;
  for (const Process* one : quiet) texts.push_back(one->name + " (for " + seconds(one->silent_ns) + ")");
  out.push_back({Gravity::warning, "silent", list(texts) + " sends nothing: stopped, very busy, or cut off"});
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
                       (slices ? "discarded" : "missing") + " in the last " + seconds(RunProgress::kWindow) +
                       " (" + list(why) + ")"});
  }
}

void losses(const HealthView& view, Findings& out) {
  const Picked lost = pick(
      view, [](const Process& one) { return one.live && one.losses > 0 && one.since_loss_ns < kLossTold; });
  if (lost.empty()) return;
  std::vector<std::string> texts;
  DurationNs least = kLossTold;
  for (const Process* one : lost) {
    texts.push_back(one->name + " (" + counted(one->losses, "time") + ")");
    least = std::min(least, one->since_loss_ns);
  }
  out.push_back({Gravity::warning, "processes die",
                 list(texts) + " lost in this run and back again, the last time " + seconds(least) + " ago"});
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

// Reports absent processes of a farm without a run.
void absent(const HealthView& view, Findings& out) {
  std::vector<std::string> errors;
  for (const Process* one :
       pick(view, [](const Process& one) { return one.live && one.state == State::error; })) {
    errors.push_back(one->name + " (" + one->reason + ")");
  }
  if (!errors.empty()) out.push_back({Gravity::error, "process in error", list(errors)});
  const Picked gone = pick(view, [&](const Process& one) { return is_gone(view, one) && one.known; });
  if (!gone.empty())
    out.push_back({Gravity::warning, gone.size() == 1 ? "process gone" : "processes gone", how_away(gone)});
  const Picked never = pick(view, [&](const Process& one) { return is_gone(view, one) && !one.known; });
  if (!never.empty()) {
    out.push_back({view.state == State::idle ? Gravity::waiting : Gravity::warning, "incomplete",
                   std::to_string(never.size()) + " of " + std::to_string(view.processes.size()) +
                       " processes not there yet: " + list(never)});
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
  const std::string since = "run control was started again " + seconds(view.up_ns) + " ago";
  if (awaited.empty()) {
    out.push_back({Gravity::waiting, "run control restarted", since + " and has taken over the farm"});
  } else {
    out.push_back(
        {Gravity::warning, "run control restarted", since + " and waits for reports of " + list(awaited)});
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
  if (run_is_on(view)) {
    if (!nobody_heard(view, out)) roles_away(view, out);
    held_up(view, out);
    unsettled(view, out);
    triggers(view, out);
    lost_lately(view, out);
    silent(view, out);
    losses(view, out);
    ring_disks(view, out);
  } else {
    absent(view, out);
    silent(view, out);
    if (!view.under_way) last_run(view, out);
  }
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
  return out;
}

// ---- progress

void RunProgress::take(const Counts& counts, TimeNs now) {
  const bool less = std::any_of(last_.lost.begin(), last_.lost.end(), [&](const auto& one) {
    const auto found = counts.lost.find(one.first);
    return found == counts.lost.end() || found->second < one.second;
  });
  if (counts.run != last_.run || counts.settled < last_.settled || less || looks_.empty()) {
    clear();
    settled_at_ = now;
  }
  if (counts.settled != last_.settled || counts.in_flight == 0) settled_at_ = now;
  last_ = counts;
  if (looks_.empty() || now - looks_.back().at >= kApart) looks_.push_back({now, counts.lost});
  while (looks_.size() > 1 && now - looks_.front().at > kWindow) looks_.pop_front();
}

DurationNs RunProgress::unsettled_ns(TimeNs now) const {
  return looks_.empty() || last_.in_flight == 0 ? 0 : now - settled_at_;
}

std::vector<LostLately> RunProgress::lost_lately() const {
  std::vector<LostLately> lately;
  if (looks_.empty()) return lately;
  const auto& before = looks_.front().lost;
  for (const auto& [what, total] : last_.lost) {
    const auto found = before.find(what);
    const std::uint64_t count = total - (found == before.end() ? 0 : found->second);
    if (count > 0) lately.push_back({what, count});
  }
  return lately;
}

}  // namespace weir::control
