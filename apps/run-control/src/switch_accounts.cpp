#include "switch_accounts.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace weir::run_control {
namespace {

using Ring = v1::SwitchAccount::Ring;

constexpr int kRingsKept = 32;                         // of an account that leaves this class
constexpr const char* kUnknownReason = "unspecified";  // of a switch that reports no reasons

// A counter below its former value began again: with another table, or in another process.
std::uint64_t more(std::uint64_t now, std::uint64_t from) { return now >= from ? now - from : now; }

// The drops for lack of room are in old reports, without reasons.
std::map<std::string, std::uint64_t> drops_of(const v1::SwitchReport& report) {
  std::map<std::string, std::uint64_t> drops(report.dropped().begin(), report.dropped().end());
  if (drops.empty() && report.lost() > 0) drops[kUnknownReason] = report.lost();
  return drops;
}

// Adds the counters from one report to a later one of the same process.
void add_rings(const v1::SwitchReport& from, const v1::SwitchReport& to, v1::SwitchAccount& account) {
  std::map<std::string, const v1::SwitchReport::Ring*> known;
  for (const v1::SwitchReport::Ring& ring : from.rings()) known[ring.name()] = &ring;
  std::map<std::string, Ring*> counted;
  for (Ring& ring : *account.mutable_rings()) counted[ring.name()] = &ring;
  for (const v1::SwitchReport::Ring& ring : to.rings()) {
    Ring*& sum = counted[ring.name()];
    if (sum == nullptr) {
      sum = account.add_rings();
      sum->set_name(ring.name());
    }
    const auto before = known.find(ring.name());
    const bool is_new = before == known.end();
    sum->set_frames(sum->frames() + more(ring.frames(), is_new ? 0 : before->second->frames()));
    sum->set_dropped(sum->dropped() + more(ring.dropped(), is_new ? 0 : before->second->dropped()));
    sum->set_room(ring.room());
  }
}

void add_counts(const v1::SwitchReport& from, const v1::SwitchReport& to, v1::SwitchAccount& account) {
  account.set_received(account.received() + more(to.received(), from.received()));
  account.set_sent(account.sent() + more(to.sent(), from.sent()));
  const auto before = drops_of(from);
  for (const auto& [reason, frames] : drops_of(to)) {
    const auto known = before.find(reason);
    const std::uint64_t further = more(frames, known == before.end() ? 0 : known->second);
    if (further > 0) (*account.mutable_dropped())[reason] += further;
  }
  add_rings(from, to, account);
}

// A process when it had counted nothing.
v1::SwitchReport beginning_of(const v1::SwitchReport& report) {
  v1::SwitchReport beginning;
  beginning.set_host(report.host());
  beginning.set_started_ns(report.started_ns());
  beginning.set_digest(report.digest());
  return beginning;
}

}  // namespace

void SwitchAccounts::begin(RunNumber run, UtcNs begin_utc, const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  std::erase_if(ones_, [&](const auto& one) { return !wanted.contains(one.first); });
  run_ = run;
  begin_utc_ = begin_utc;
  is_on_ = true;
  for (const std::string& name : wanted) {
    One& one = ones_[name];
    one.before.Clear();
    one.before.set_silences(one.is_silent ? 1 : 0);
    one.from = one.until = one.last;
    one.depths.clear();
    note_depths(one);
  }
}

void SwitchAccounts::take(v1::SwitchReport report) {
  One& one = ones_[report.name()];
  const bool is_first = one.last.started_ns() == 0;
  const bool is_restarted = !is_first && one.last.started_ns() != report.started_ns();
  const bool is_changed =
      !one.last.digest().empty() && !report.digest().empty() && one.last.digest() != report.digest();
  one.is_silent = false;
  // A switch without a table yet has not lost the former one.
  if (report.digest().empty()) report.set_digest(one.last.digest());
  if (is_on_ && (is_restarted || is_changed)) {
    add_counts(one.from, one.until, one.before);
    one.from = is_restarted ? beginning_of(report) : one.last;
    one.from.set_digest(report.digest());
    one.before.set_restarts(one.before.restarts() + (is_restarted ? 1 : 0));
    one.before.set_tables_changed(one.before.tables_changed() + (is_changed ? 1 : 0));
  }
  // The counters of an older process may include earlier runs.
  if (is_first) one.from = report.started_ns() < begin_utc_ ? report : beginning_of(report);
  one.last = std::move(report);
  if (!is_on_) return;
  one.until = one.last;
  note_depths(one);
}

// The greatest depths in a report are those of its run. For another run only the present depths are known.
void SwitchAccounts::note_depths(One& one) const {
  const bool of_run = one.last.run() == run_.value;
  for (const v1::SwitchReport::Ring& ring : one.last.rings()) {
    Depth& most = one.depths[ring.name()];
    most.frames = std::max(most.frames, of_run ? ring.waiting_most() : ring.waiting());
    most.bytes = std::max(most.bytes, of_run ? ring.waiting_bytes_most() : ring.waiting_bytes());
  }
}

void SwitchAccounts::silent(const std::string& name) {
  const auto found = ones_.find(name);
  if (found == ones_.end() || found->second.last.started_ns() == 0) return;
  One& one = found->second;
  if (std::exchange(one.is_silent, true) || !is_on_) return;
  one.before.set_silences(one.before.silences() + 1);
}

v1::SwitchAccount SwitchAccounts::account(const std::string& name) const {
  const auto one = ones_.find(name);
  if (one != ones_.end()) return account_of(name, one->second);
  v1::SwitchAccount none;
  none.set_name(name);
  return none;
}

v1::SwitchAccount SwitchAccounts::account_of(const std::string& name, const One& one) const {
  v1::SwitchAccount account = one.before;
  account.set_name(name);
  account.set_host(one.until.host());
  add_counts(one.from, one.until, account);
  auto& rings = *account.mutable_rings();
  for (Ring& ring : rings) {
    const auto most = one.depths.find(ring.name());
    if (most == one.depths.end()) continue;
    ring.set_waiting_most(most->second.frames);
    ring.set_waiting_bytes_most(most->second.bytes);
  }
  std::stable_sort(rings.begin(), rings.end(), [](const Ring& a, const Ring& b) {
    return a.dropped() != b.dropped() ? a.dropped() > b.dropped() : a.waiting_most() > b.waiting_most();
  });
  if (rings.size() > kRingsKept) {
    account.set_rings_left_out(static_cast<std::uint32_t>(rings.size() - kRingsKept));
    rings.DeleteSubrange(kRingsKept, rings.size() - kRingsKept);
  }
  WEIR_ASSERT(rings.size() <= kRingsKept);
  return account;
}

std::vector<v1::SwitchAccount> SwitchAccounts::accounts(RunNumber run) const {
  std::vector<v1::SwitchAccount> accounts;
  if (run != run_) return accounts;
  for (const auto& [name, one] : ones_) accounts.push_back(account_of(name, one));
  return accounts;
}

void SwitchAccounts::add_to(v1::ControlMemory& memory) const {
  if (!is_on_) return;
  memory.set_switches_run(run_.value);
  for (const auto& [name, one] : ones_) {
    v1::ControlMemory::SwitchInRun& kept = *memory.add_switches();
    *kept.mutable_before() = one.before;
    kept.mutable_before()->set_name(name);
    *kept.mutable_from() = one.from;
  }
}

void SwitchAccounts::recall(const v1::ControlMemory& memory) {
  WEIR_ASSERT(ones_.empty());
  if (memory.switches_run() == 0 || !memory.run_open() || memory.switches_run() != memory.run()) return;
  run_ = RunNumber(memory.switches_run());
  begin_utc_ = memory.run_begin_utc_ns();
  is_on_ = true;
  for (const v1::ControlMemory::SwitchInRun& kept : memory.switches()) {
    One& one = ones_[kept.before().name()];
    one.before = kept.before();
    one.from = one.until = one.last = kept.from();
  }
}

}  // namespace weir::run_control
