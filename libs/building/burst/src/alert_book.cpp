#include <weir/base/assert.hpp>
#include <weir/burst/alert_book.hpp>

#include <algorithm>
#include <utility>

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

AlertBook::AlertBook(AlertBookState state, TimeNs now)
    : dcms_(state.kept.size()), state_(std::move(state)), away_since_(dcms_, now), exact_(false) {
  for (const auto& [number, parts] : state_.parts)
    WEIR_ASSERT(parts.size() == dcms_ && state_.accounts.contains(number));
}

void AlertBook::announced(UtcNs time) { ++unsettled_[quantum_of(time)]; }

void AlertBook::settled(SliceId slice, UtcNs time, std::optional<NodeIndex> kept_by) {
  const std::int64_t quantum = quantum_of(time);
  const auto open = unsettled_.find(quantum);
  if (open != unsettled_.end() && --open->second == 0) unsettled_.erase(open);
  if (quantum < state_.floor) return;
  const bool kept = kept_by && kept_by->value < dcms_;
  Times& times = kept ? state_.kept[kept_by->value] : state_.not_kept;
  times[quantum].add(slice);
  bound(times);
  for (auto& [number, parts] : state_.parts) {
    AlertAccount& account = state_.accounts.at(number);
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
  state_.floor = std::max(state_.floor, std::next(times.begin())->first);
  for (Times& each : state_.kept) each.erase(each.begin(), each.lower_bound(state_.floor));
  state_.not_kept.erase(state_.not_kept.begin(), state_.not_kept.lower_bound(state_.floor));
  state_.lost.erase(state_.lost.begin(), state_.lost.lower_bound(state_.floor));
}

std::optional<Alert> AlertBook::ask(UtcNs from, UtcNs until, const std::string& reason, std::string& error) {
  if (from >= until) {
    error = "its window is empty";
  } else if (state_.parts.size() >= kOpenAlertsMax) {
    error = "no_room: " + std::to_string(kOpenAlertsMax) + " alerts are being saved";
  } else if (state_.accounts.size() >= kAlertsMax) {
    error = "no_room: the run has had " + std::to_string(kAlertsMax) + " alerts";
  }
  if (!error.empty()) return std::nullopt;
  Alert alert;
  alert.number = state_.accounts.empty() ? 1 : state_.accounts.rbegin()->first + 1;
  alert.from = std::max({quantum_of(from), state_.floor, -kQuantumMax}) * kQuantum;
  alert.until = std::min(quantum_of(until - 1) + 1, kQuantumMax) * kQuantum;
  AlertAccount& account = state_.accounts[alert.number];
  account.alert = alert;
  account.reason = reason;
  account.not_kept = between(state_.not_kept, alert);
  account.asked = between(state_.lost, alert);
  std::vector<Part>& parts = state_.parts[alert.number];
  parts.resize(dcms_);
  for (std::size_t i = 0; i < dcms_; ++i) {
    parts[i].asked = between(state_.kept[i], alert);
    account.asked += parts[i].asked;
  }
  return alert;
}

void AlertBook::told(NodeIndex dcm, std::uint32_t alert, const Account& account) {
  const auto parts = state_.parts.find(alert);
  if (parts == state_.parts.end() || dcm.value >= dcms_) return;
  parts->second[dcm.value].told = account;
  add_up(alert);
}

void AlertBook::dcm_left(NodeIndex dcm, TimeNs now) {
  if (dcm.value >= dcms_) return;
  away_since_[dcm.value] = now;
  if (!state_.kept[dcm.value].empty()) exact_ = false;
}

void AlertBook::dcm_joined(NodeIndex dcm) {
  if (dcm.value < dcms_) away_since_[dcm.value].reset();
}

void AlertBook::dcm_replaced(NodeIndex dcm) {
  if (dcm.value >= dcms_) return;
  Times& times = state_.kept[dcm.value];
  for (const auto& [quantum, sum] : times) state_.lost[quantum] += sum;
  times.clear();
  bound(state_.lost);
  for (auto& [number, parts] : state_.parts) {
    Part& part = parts[dcm.value];
    part.told.waiting = {};
    part.earlier += part.told;
    part.told = {};
    part.asked = {};
  }
}

void AlertBook::add_up(std::uint32_t number) {
  AlertAccount& account = state_.accounts.at(number);
  account.told = {};
  const std::vector<Part>& parts = state_.parts.at(number);
  for (const Part& part : parts) {
    account.told += part.told;
    account.told += part.earlier;
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
  for (auto& [number, parts] : state_.parts) {
    const Alert& alert = state_.accounts.at(number).alert;
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
    AlertAccount& account = state_.accounts.at(number);
    account.ended = true;
    account.told.waiting = {};
    for (std::size_t dcm = 0; dcm < dcms_; ++dcm) {
      if (!away_since_[dcm]) account.told.waiting += state_.parts.at(number)[dcm].told.waiting;
    }
    const std::uint64_t known = account.told.all().count - account.told.waiting.count;
    account.lost = account.asked.count - std::min(account.asked.count, known);
    state_.parts.erase(number);
  }
  return ended;
}

void AlertBook::end(std::uint32_t number, const AlertAccount& account) {
  state_.parts.erase(number);
  state_.accounts[number] = account;
}

std::vector<std::uint32_t> AlertBook::ended_first() const {
  std::vector<std::uint32_t> numbers;
  for (const bool ended : {true, false}) {
    for (const auto& [number, account] : state_.accounts) {
      if (account.ended == ended) numbers.push_back(number);
    }
  }
  return numbers;
}

}  // namespace weir::burst
