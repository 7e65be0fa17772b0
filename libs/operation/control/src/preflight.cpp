#include "findings.hpp"
#include <weir/base/assert.hpp>
#include <weir/control/preflight.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace weir::control {
namespace {

using Checks = std::vector<PreflightCheck>;

constexpr std::size_t kNamesMax = 5;  // in a line

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamesMax; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= kNamesMax ? text
                                   : text + " and " + std::to_string(names.size() - kNamesMax) + " more";
}

void check_processes(const PreflightFacts& facts, Checks& checks) {
  std::vector<std::string> away;
  std::vector<std::string> removed;
  for (const auto& one : facts.processes) {
    if (one.removed)
      removed.push_back(one.name);
    else if (!one.live)
      away.push_back(one.name);
  }
  if (!away.empty()) {
    checks.push_back({Gravity::error, "processes", "not connected: " + listed(away)});
  } else {
    checks.push_back({Gravity::good, "processes",
                      "all " + std::to_string(facts.processes.size() - removed.size()) + " connected"});
  }
  if (!removed.empty())
    checks.push_back(
        {Gravity::warning, "processes", "removed, `weir ctl add` returns them: " + listed(removed)});
}

void check_versions(const PreflightFacts& facts, Checks& checks) {
  std::vector<std::string> others;
  for (const auto& one : facts.processes) {
    if (one.live && one.software != facts.own_software) others.push_back(one.name + " " + one.software);
  }
  if (others.empty())
    checks.push_back({Gravity::good, "versions", facts.own_software + " everywhere"});
  else
    checks.push_back({Gravity::warning, "versions",
                      "run control is " + facts.own_software + ", others differ: " + listed(others)});
}

void check_findings(const PreflightFacts& facts, Checks& checks) {
  const std::size_t before = checks.size();
  for (const Finding& one : facts.findings) {
    if (one.gravity < Gravity::warning) continue;
    checks.push_back(
        {one.gravity, "findings", one.word + (one.reason.empty() ? std::string() : ": " + one.reason)});
  }
  if (checks.size() == before) checks.push_back({Gravity::good, "findings", "none"});
}

void check_disks(const PreflightFacts& facts, Checks& checks) {
  if (!facts.missing_disks.empty())
    checks.push_back({Gravity::error, "disks", sentence(facts.missing_disks, kAcceptDisks)});
  for (const DiskUse& one : facts.disks) {
    const Gravity gravity = one.space.free_bytes == 0 ? Gravity::error
                            : one.is_short            ? Gravity::warning
                                                      : Gravity::good;
    checks.push_back({gravity, "disks", space_text(one)});
  }
  if (facts.disks.empty())
    checks.push_back({Gravity::warning, "disks", "not known before `weir ctl configure`"});
}

// Rounded up: a bound for people.
std::string milliseconds(DurationNs time) {
  return std::to_string((std::abs(time) + kMillisecond - 1) / kMillisecond) + " ms";
}

void check_clocks(const PreflightFacts& facts, Checks& checks) {
  std::map<std::string, DurationNs> hosts;  // the largest distance of its processes
  for (const auto& one : facts.processes) {
    if (!one.live || !one.clock_ahead) continue;
    DurationNs& worst = hosts.emplace(one.host, *one.clock_ahead).first->second;
    // Delays only subtract, so the largest difference is the nearest to the truth.
    worst = std::max(worst, *one.clock_ahead);
  }
  if (hosts.empty()) {
    checks.push_back({Gravity::warning, "clocks", "no process has reported its clock yet"});
    return;
  }
  DurationNs largest = 0;
  const std::size_t before = checks.size();
  for (const auto& [host, ahead] : hosts) {
    largest = std::max(largest, std::abs(ahead));
    if (std::abs(ahead) <= kClockAheadMax) continue;
    checks.push_back({Gravity::warning, "clocks",
                      "the clock of " + host + " is " + milliseconds(ahead) +
                          (ahead > 0 ? " ahead of" : " behind") + " run control's: synchronise both"});
  }
  if (checks.size() == before)
    checks.push_back({Gravity::good, "clocks",
                      "of " + counted(hosts.size(), "host") + " within " + milliseconds(largest)});
}

void check_files(const PreflightFacts& facts, Checks& checks) {
  if (!facts.conflict.empty())
    checks.push_back({Gravity::error, "checksums", facts.conflict});
  else if (!facts.is_configured)
    checks.push_back({Gravity::warning, "checksums", "not known before `weir ctl configure`"});
  else
    checks.push_back(
        {Gravity::good, "checksums", counted(facts.parts, "file") + ", the same in all processes"});
}

void check_keys(const PreflightFacts& facts, Checks& checks) {
  if (facts.keys.empty()) checks.push_back({Gravity::good, "keys", "none: the farm stays on this machine"});
  for (const PreflightFacts::Key& one : facts.keys) {
    constexpr DurationNs kDay = 24 * 3600 * kSecond;
    if (!one.age) {
      checks.push_back({Gravity::error, "keys", one.path + " cannot be read"});
      continue;
    }
    const std::string age =
        one.path + " is " + counted(static_cast<std::uint64_t>(*one.age / kDay), "day") + " old";
    if (one.is_open)
      checks.push_back({Gravity::error, "keys", one.path + " can be read by others: chmod 600"});
    else if (*one.age > kKeyAgeMax)
      checks.push_back({Gravity::warning, "keys", age + ": make new ones with `weir keys new`"});
    else
      checks.push_back({Gravity::good, "keys", age});
  }
}

void check_alarms(const PreflightFacts& facts, Checks& checks) {
  if (facts.channels.empty()) {
    checks.push_back({Gravity::warning, "alarms", "control.alarms has no channel: alarms reach no person"});
    return;
  }
  std::vector<std::string> untried;
  std::vector<std::string> good;
  for (const PreflightFacts::Channel& one : facts.channels) {
    if (!one.error.empty())
      checks.push_back({Gravity::error, "alarms", "channel " + one.name + ": " + one.error});
    else
      (one.tried ? good : untried).push_back(one.name);
  }
  if (!untried.empty())
    checks.push_back({Gravity::warning, "alarms", "not tried, use `weir alarm test`: " + listed(untried)});
  if (!good.empty()) checks.push_back({Gravity::good, "alarms", "delivered by " + listed(good)});
}

}  // namespace

Checks preflight(const PreflightFacts& facts) {
  Checks checks;
  check_processes(facts, checks);
  check_versions(facts, checks);
  check_findings(facts, checks);
  check_disks(facts, checks);
  check_clocks(facts, checks);
  check_files(facts, checks);
  check_keys(facts, checks);
  check_alarms(facts, checks);
  WEIR_ASSERT(checks.size() >= 8);
  return checks;
}

void ClockOffset::take(UtcNs sent, UtcNs received, TimeNs now) {
  const DurationNs ahead = sent - received;
  if (!now_ || now - now_->since >= kWindow) {
    before_ = now_;
    now_ = Best{ahead, now};
  }
  now_->ahead = std::max(now_->ahead, ahead);
}

std::optional<DurationNs> ClockOffset::ahead() const {
  if (!now_) return std::nullopt;
  return before_ ? std::max(before_->ahead, now_->ahead) : now_->ahead;
}

}  // namespace weir::control
