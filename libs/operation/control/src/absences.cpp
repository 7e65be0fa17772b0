// Processes that are missing in a run, or were.
#include "findings.hpp"
#include <weir/base/assert.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace weir::control {
namespace {

using Process = HealthView::Process;

constexpr DurationNs kLossTold = 60 * kSecond;  // how long a loss is reported
constexpr DurationNs kReturn = 10 * kSecond;    // time for processes to report to a new run control
constexpr std::uint32_t kDeathsOfLoop = 3;      // in a run, before a process is one that dies again and again

struct RoleWords {
  std::string_view one;
  std::string_view many;
  std::string_view without_any;   // effect on a run without any of them
  std::string_view without_some;  // effect without some of them
  std::string_view advice;        // for one that dies again and again
};
RoleWords role_words(Role role) {
  switch (role) {
    case Role::supervisor:
      return {"supervisor", "supervisors", "no slice is triggered or assigned", "", "its log has the reason"};
    case Role::writer:
      return {"writer", "writers", "no accepted slice is stored", "the others store",
              "its log has the reason"};
    case Role::readout:
      return {"readout", "readouts", "no slice has any fragment", "their fragments are missing",
              "its log has the reason"};
    default:
      return {"DCM", "DCMs", "no slice is built", "the others take the slices",
              "its log has the reason; filter.isolation: worker keeps a filter that crashes from ending it"};
  }
}

bool is_gone(const HealthView& view, const Process& one) { return !one.live && !is_awaited(view, one); }
// True if the process should take part in the current run and does not.
bool is_away(const HealthView& view, const Process& one) {
  if (is_awaited(view, one)) return false;
  if (!one.live || one.state == State::error) return true;
  return !view.under_way && !one.over && !in_run(one);
}

// ", stopped by a signal; run control ends it, and its successor resumes the run"
std::string how_frozen(const Freeze& freeze) {
  if (freeze.kind == Freeze::Kind::none) return {};
  std::string text = ", " + text_of(freeze.kind);
  if (!freeze.end_in_ns) return text;
  text += *freeze.end_in_ns > 0 ? "; run control ends it" : "; run control has ended it";
  return text + ", and its successor resumes the run";
}

// Returns how long the process has been absent; nullopt: unknown, or it is present.
std::optional<DurationNs> absence(const Process& one) {
  if (one.removed) return one.removed_since_ns;
  return !one.live && one.known ? std::optional(one.silent_ns) : std::nullopt;
}

// Returns the time since the last one left.
std::optional<DurationNs> shortest(const Picked& picked) {
  std::optional<DurationNs> least;
  for (const Process* one : picked) {
    if (const auto time = absence(*one)) least = std::min(least.value_or(*time), *time);
  }
  return least;
}

// Returns the time since the first one left.
std::optional<DurationNs> longest(const Picked& picked) {
  std::optional<DurationNs> most;
  for (const Process* one : picked) most = std::max(most, absence(*one));
  return most;
}

std::string how_away(const Picked& away) {
  std::vector<std::string> texts;
  for (const Process* one : away) {
    std::string text = one->name;
    if (!one->live) {
      text += one->known ? " (not heard" + how_frozen(one->freeze) + ")" : " (never heard)";
    } else if (one->state == State::error) {
      text += " (in error: " + one->reason + ")";
    } else if (one->inactive) {
      text += one->reason.empty() ? " (does not follow orders)" : " (takes no part: " + one->reason + ")";
    } else {
      text += " (" + std::string(name(one->state)) + ")";
    }
    texts.push_back(std::move(text));
  }
  return list(texts);
}

// "writer-0 (removed by mark on daq-1): weir ctl add writer-0"
std::string how_removed(const Picked& removed) {
  std::vector<std::string> texts;
  std::string command = "weir ctl add";
  for (const Process* one : removed) {
    texts.push_back(one->name + " (removed by " +
                    (one->removed_by.empty() ? "an operator" : one->removed_by) + ")");
    command += " " + one->name;
  }
  return list(texts) + ": " + command;
}

bool is_in_loop(const Process& one) { return one.deaths >= kDeathsOfLoop && one.since_death_ns < kLossTold; }

void dying(const HealthView& view, Findings& out) {
  for (const Process* one : pick(view, is_in_loop)) {
    out.push_back({Gravity::error, one->name + " dies again and again",
                   counted(one->deaths, "time") + " in this run" +
                       (one->last_end.empty() ? "" : ", the last time by " + one->last_end) + ": " +
                       std::string(role_words(one->role).advice)});
  }
}

bool nobody_heard(const HealthView& view, Findings& out) {
  const Picked all = pick(view, [](const Process&) { return true; });
  const Picked gone = pick(view, [&](const Process& one) { return is_gone(view, one); });
  if (all.empty() || gone.size() != all.size()) return false;
  out.push_back({Gravity::error, "nobody heard",
                 "none of the " + std::to_string(all.size()) + (all.size() == 1 ? " process" : " processes") +
                     " is heard: they have ended, or continue unseen because the bus cannot reach them",
                 shortest(gone)});
  return true;
}

// Hosts with at least two processes, none of which is heard, while other hosts are.
void hosts_away(const HealthView& view, Findings& out) {
  std::map<std::string, Picked> hosts;
  for (const Process* one : pick(view, [](const Process& one) { return !one.host.empty(); }))
    hosts[one->host].push_back(one);
  if (hosts.size() < 2) return;
  for (const auto& [host, processes] : hosts) {
    const auto gone = [&](const Process* one) { return is_gone(view, *one); };
    if (processes.size() < 2 || !std::all_of(processes.begin(), processes.end(), gone)) continue;
    out.push_back({Gravity::error, "host " + host + " lost",
                   "none of its " + std::to_string(processes.size()) +
                       " processes is heard: check the machine and its network (" + list(processes) + ")",
                   shortest(processes)});
  }
}

// Processes that can stand in for each other.
struct Kind {
  Role role = Role::dcm;
  std::string group;
  Picked all;  // without removed ones
  Picked removed;
};

std::vector<Kind> kinds_of(const HealthView& view) {
  std::vector<Kind> kinds;
  for (const Role role : {Role::supervisor, Role::dcm, Role::readout, Role::writer}) {
    std::map<std::string, Kind> groups;
    for (const Process& one : view.processes) {
      if (one.role != role) continue;
      Kind& kind = groups[one.group];
      kind.role = role;
      kind.group = one.group;
      (one.removed ? kind.removed : kind.all).push_back(&one);
    }
    for (auto& [group, kind] : groups) kinds.push_back(std::move(kind));
  }
  return kinds;
}

// "84 slices of the group wait (at most 1000); "
std::string waiting_for(const HealthView& view, const Kind& kind) {
  const auto group = view.groups.find(kind.group);
  if (kind.group.empty() || group == view.groups.end()) return {};
  return counted(group->second.slices, "slice") + " of the group wait, at most " +
         std::to_string(group->second.pending_max) + "; ";
}

void kind_away(const HealthView& view, const Kind& kind, Findings& out) {
  Picked away;
  for (const Process* one : kind.all) {
    if (is_away(view, *one)) away.push_back(one);
  }
  const RoleWords what = role_words(kind.role);
  const std::string of_group = kind.group.empty() ? "" : " of group " + kind.group;
  if (away.size() == kind.all.size() && (!away.empty() || !kind.removed.empty())) {
    std::string text = std::string(what.without_any) + ": ";
    if (!kind.group.empty()) text = "no slice of the group is built: " + waiting_for(view, kind);
    if (!away.empty()) text += how_away(away) + (kind.removed.empty() ? "" : ", ");
    if (!kind.removed.empty()) text += how_removed(kind.removed);
    Picked absent = away;
    absent.insert(absent.end(), kind.removed.begin(), kind.removed.end());
    out.push_back(
        {Gravity::error, "no " + std::string(what.one) + of_group, std::move(text), shortest(absent)});
    return;
  }
  if (away.empty()) return;
  const bool grave = kind.role == Role::readout ||
                     std::any_of(away.begin(), away.end(), [](const Process* one) { return one->essential; });
  out.push_back({grave ? Gravity::error : Gravity::warning,
                 (away.size() == 1 ? std::string(what.one)
                                   : std::to_string(away.size()) + " " + std::string(what.many)) +
                     of_group + " lost",
                 how_away(away) + ": " + std::string(what.without_some), longest(away)});
}

}  // namespace

bool in_run(const Process& one) { return one.state == State::running || one.state == State::paused; }
bool run_is_on(const HealthView& view) { return view.state == State::running || view.state == State::paused; }
bool is_awaited(const HealthView& view, const Process& one) {
  return !one.live && !one.known && view.recalled && view.up_ns < kReturn;
}

void away_in_run(const HealthView& view, Findings& out) {
  if (nobody_heard(view, out)) return;
  hosts_away(view, out);
  dying(view, out);
  for (const Kind& kind : kinds_of(view)) kind_away(view, kind, out);
}

void back_in_run(const HealthView& view, Findings& out) {
  std::vector<std::string> dead;
  std::vector<std::string> away;
  for (const Process* one : pick(view, [](const Process& one) { return one.live && !is_in_loop(one); })) {
    if (one->deaths > 0 && one->since_death_ns < kLossTold) {
      dead.push_back(one->name + " (" + counted(one->deaths, "time") +
                     (one->last_end.empty() ? "" : ": " + one->last_end) + ")");
    } else if (one->losses > one->deaths && one->since_loss_ns < kLossTold) {
      away.push_back(one->name + " (" + counted(one->losses - one->deaths, "time") + ")");
    }
  }
  if (!dead.empty())
    out.push_back({Gravity::warning, "processes die", list(dead) + " lost and back in this run"});
  if (!away.empty())
    out.push_back({Gravity::warning, "processes were away",
                   list(away) + " silent for a while in this run, and back (stopped, or cut off)"});
}

void absent(const HealthView& view, Findings& out) {
  std::vector<std::string> errors;
  for (const Process* one :
       pick(view, [](const Process& one) { return one.live && one.state == State::error; })) {
    errors.push_back(one->name + " (" + one->reason + ")");
  }
  if (!errors.empty()) out.push_back({Gravity::error, "process in error", list(errors)});
  const Picked gone = pick(view, [&](const Process& one) { return is_gone(view, one) && one.known; });
  if (!gone.empty())
    out.push_back({Gravity::warning, gone.size() == 1 ? "process gone" : "processes gone", how_away(gone),
                   longest(gone)});
  const Picked never = pick(view, [&](const Process& one) { return is_gone(view, one) && !one.known; });
  if (!never.empty()) {
    out.push_back({view.state == State::idle ? Gravity::waiting : Gravity::warning, "incomplete",
                   std::to_string(never.size()) + " of " + std::to_string(view.processes.size()) +
                       " processes not yet connected: " + list(never)});
  }
  for (const Kind& kind : kinds_of(view)) {
    if (!kind.all.empty() || kind.removed.empty()) continue;
    out.push_back({Gravity::warning, "no " + std::string(role_words(kind.role).one),
                   "the next run would be without: " + how_removed(kind.removed), shortest(kind.removed)});
  }
}

}  // namespace weir::control
