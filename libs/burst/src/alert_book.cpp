#include <weir/base/assert.hpp>
#include <weir/burst/alert_book.hpp>

#include <algorithm>

namespace weir::burst {
namespace {

constexpr std::int64_t kQuantumMax = INT64_MAX / kQuantum - 1;

SliceSum between(const std::map<std::int64_t, SliceSum>& times, const Alert& alert) {
  SliceSum sum;
  const auto end = times.lower_bound(quantum_of(alert.until));
  for (auto at = times.lower_bound(quantum_of(alert.from)); at != end; ++at) sum += at->second;
  return sum;
}

}  // namespace

void AlertBook::announced(UtcNs time) { ++unsettled_[quantum_of(time)]; }

void AlertBook::settled(SliceId slice, UtcNs time, std::optional<NodeIndex> kept_by) {
  const std::int64_t quantum = quantum_of(time);
  const auto open = unsettled_.find(quantum);
  if (open != unsettled_.end() && --open->second == 0) unsettled_.erase(open);
  if (quantum < floor_) return;
  const bool kept = kept_by && kept_by->value < dcms_;
  Times& times = kept ? kept_[kept_by->value] : not_kept_;
  times[quantum].add(slice);
  bound(times);
  for (auto& [number, parts] : parts_) {
    AlertAccount& account = accounts_.at(number);
    if (!account.alert.contains(time)) continue;
    if (kept) {
      parts[kept_by->value].asked.add(slice);
      account.asked.add(slice);
    } else {
      account.not_kept.add(slice);
    }
  }
}

// A ring forgets the times of overwritten slices at the same bound, and later: it sees fewer of them.
void AlertBook::bound(Times& times) {
  if (times.size() <= kTimesMax) return;
  floor_ = std::max(floor_, std::next(times.begin())->first);
  for (Times& each : kept_) each.erase(each.begin(), each.lower_bound(floor_));
  not_kept_.erase(not_kept_.begin(), not_kept_.lower_bound(floor_));
  lost_.erase(lost_.begin(), lost_.lower_bound(floor_));
}

std::optional<Alert> AlertBook::ask(UtcNs from, UtcNs until, const std::string& reason, std::string& error) {
  if (from >= until) {
    error = "its window is empty";
  } else if (parts_.size() >= kOpenAlertsMax) {
    error = "no_room: " + std::to_string(kOpenAlertsMax) + " alerts are being saved";
  } else if (accounts_.size() >= kAlertsMax) {
    error = "no_room: the run has had " + std::to_string(kAlertsMax) + " alerts";
  }
  if (!error.empty()) return std::nullopt;
  Alert alert;
  alert.number = accounts_.empty() ? 1 : accounts_.rbegin()->first + 1;
  alert.from = std::max({quantum_of(from), floor_, -kQuantumMax}) * kQuantum;
  alert.until = std::min(quantum_of(until - 1) + 1, kQuantumMax) * kQuantum;
  AlertAccount& account = accounts_[alert.number];
  account.alert = alert;
  account.reason = reason;
  account.not_kept = between(not_kept_, alert);
  account.asked = between(lost_, alert);
  std::vector<Part>& parts = parts_[alert.number];
  parts.resize(dcms_);
  for (std::size_t i = 0; i < dcms_; ++i) {
    parts[i].asked = between(kept_[i], alert);
    account.asked += parts[i].asked;
  }
  return alert;
}

void AlertBook::adopt(const Alert& alert) {
  exact_ = false;
  if (accounts_.contains(alert.number)) return;
  accounts_[alert.number].alert = alert;
  parts_[alert.number].resize(dcms_);
}

void AlertBook::told(NodeIndex dcm, std::uint32_t alert, const Account& account) {
  const auto parts = parts_.find(alert);
  if (parts == parts_.end() || dcm.value >= dcms_) return;
  parts->second[dcm.value].told = account;
  add_up(alert);
}

void AlertBook::dcm_left(NodeIndex dcm, TimeNs now) {
  if (dcm.value >= dcms_) return;
  away_since_[dcm.value] = now;
  if (!kept_[dcm.value].empty()) exact_ = false;
}

void AlertBook::dcm_joined(NodeIndex dcm, bool same_process) {
  if (dcm.value >= dcms_) return;
  if (!same_process) bury(dcm);
  away_since_[dcm.value].reset();
}

// Its ring is gone with it.
void AlertBook::bury(NodeIndex dcm) {
  Times& times = kept_[dcm.value];
  for (const auto& [quantum, sum] : times) lost_[quantum] += sum;
  times.clear();
  bound(lost_);
  for (auto& [number, parts] : parts_) {
    Part& part = parts[dcm.value];
    part.told.waiting = {};
    part.earlier += part.told;
    part.told = {};
    part.asked = {};
  }
}

void AlertBook::add_up(std::uint32_t number) {
  AlertAccount& account = accounts_.at(number);
  account.told = {};
  const std::vector<Part>& parts = parts_.at(number);
  for (std::size_t dcm = 0; dcm < dcms_; ++dcm) {
    Account told = parts[dcm].told;
    if (away_since_[dcm]) told.waiting = {};
    account.told += told;
    account.told += parts[dcm].earlier;
  }
}

std::uint64_t AlertBook::unsettled(const Alert& alert) const {
  std::uint64_t sum = 0;
  const auto end = unsettled_.lower_bound(quantum_of(alert.until));
  for (auto at = unsettled_.lower_bound(quantum_of(alert.from)); at != end; ++at) sum += at->second;
  return sum;
}

std::vector<std::uint32_t> AlertBook::take_ended(UtcNs utc, TimeNs now, bool at_end, bool no_longer) {
  std::vector<std::uint32_t> ended;
  for (auto& [number, parts] : parts_) {
    const Alert& alert = accounts_.at(number).alert;
    const bool whole = at_end || (utc >= alert.until && unsettled(alert) == 0);
    bool done = true;
    for (std::size_t dcm = 0; dcm < dcms_ && done; ++dcm) {
      const Part& part = parts[dcm];
      done = (away_since_[dcm] && now - *away_since_[dcm] >= kReturnPatience) ||
             (part.told.waiting.count == 0 && part.told.all().count >= part.asked.count);
    }
    if ((whole && done) || no_longer) ended.push_back(number);
  }
  for (const std::uint32_t number : ended) {
    add_up(number);
    AlertAccount& account = accounts_.at(number);
    account.ended = true;
    const std::uint64_t known = account.told.all().count - account.told.waiting.count;
    account.lost = account.asked.count - std::min(account.asked.count, known);
    parts_.erase(number);
  }
  return ended;
}

bool AlertBook::is_open() const { return !parts_.empty(); }

std::vector<Alert> AlertBook::open_alerts() const {
  std::vector<Alert> alerts;
  for (const auto& [number, parts] : parts_) alerts.push_back(accounts_.at(number).alert);
  return alerts;
}

}  // namespace weir::burst
