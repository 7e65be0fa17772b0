#include "hook_desk.hpp"

#include <weir/base/assert.hpp>
#include <weir/hooks/hook_job.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::run_control {
namespace {

namespace json = boost::json;

}  // namespace

HookDesk::HookDesk(std::vector<control::Hook> hooks, std::string folder, EventLog& log)
    : hooks_(std::move(hooks)), log_(log) {
  if (!hooks_.empty()) runner_.emplace(std::move(folder));
}

bool HookDesk::has(control::HookPoint point) const {
  return std::any_of(hooks_.begin(), hooks_.end(),
                     [&](const control::Hook& one) { return one.is_at(point); });
}

bool HookDesk::ask(control::Command command, const json::object& account) {
  const auto point = control::point_before(command);
  if (!point || !has(*point)) return false;
  WEIR_ASSERT(!gate_.waits() && runner_.has_value());
  refused_.reset();
  asked_.clear();
  longest_ns_ = 0;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    if (!hooks_[i].is_at(*point)) continue;
    asked.push_back(i);
    longest_ns_ = std::max(longest_ns_, hooks_[i].limit_ns + hooks::HookRunner::kGrace);
  }
  gate_.open(command, asked);
  for (const std::size_t hook : asked) {
    if (start(hook, *point, account)) {
      asked_.push_back(last_id_);
    } else {
      gate_.ended(hook, hooks_[hook], {control::HookEnd::Kind::not_started, 0, "too many hooks wait"});
    }
  }
  return true;
}

std::optional<control::HookGate::Verdict> HookDesk::take_verdict() {
  auto verdict = gate_.take_verdict();
  if (!verdict || verdict->refusal.empty()) return verdict;
  ++counts_.refused;
  const std::string what = std::string(control::name(verdict->command)) + " refused";
  refused_ = control::Finding{control::Gravity::warning, what, verdict->refusal};
  log_.note(control::Level::warning, what + " by " + verdict->refusal);
  return verdict;
}

void HookDesk::give_up() {
  gate_.close();
  for (const std::uint64_t id : std::exchange(asked_, {})) {
    runner_->cancel(id);
    jobs_.erase(id);
  }
}

void HookDesk::inform(control::HookPoint point, const json::object& account) {
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    if (hooks_[i].is_at(point)) (void)start(i, point, account);
  }
}

bool HookDesk::start(std::size_t hook, control::HookPoint point, json::object account) {
  WEIR_ASSERT(hook < hooks_.size() && runner_.has_value());
  const control::Hook& what = hooks_[hook];
  hooks::HookJob job = hooks::job_of(what, point, ++last_id_, std::move(account));
  const std::uint64_t id = job.id;
  const std::string occasion = job.occasion;
  if (runner_->add(std::move(job))) {
    jobs_[id] = {hook, point, occasion};
    ++counts_.started;
    return true;
  }
  ++counts_.dropped;
  failed_[what.name] = occasion + ": not started, too many hooks wait";
  log_.error("hook " + what.name + " " + failed_[what.name]);
  return false;
}

void HookDesk::look() {
  if (!runner_) return;
  for (const hooks::HookResult& result : runner_->take()) {
    const auto found = jobs_.find(result.id);
    if (found == jobs_.end()) continue;  // given up
    const Job job = found->second;
    jobs_.erase(found);
    note_end(job, result);
    if (control::may_refuse(job.point)) gate_.ended(job.hook, hooks_[job.hook], result.end);
  }
}

void HookDesk::note_end(const Job& job, const hooks::HookResult& result) {
  WEIR_ASSERT(job.hook < hooks_.size());
  const control::Hook& what = hooks_[job.hook];
  const bool bad = control::may_refuse(job.point) ? result.end.failed() : !result.end.good();
  if (!bad) {
    failed_.erase(what.name);
    return;
  }
  ++counts_.failed;
  failed_[what.name] = job.occasion + ": " + result.end.text(what);
  log_.note(control::Level::warning, "hook " + what.name + " failed " + failed_[what.name]);
}

std::vector<control::Finding> HookDesk::findings() const {
  std::vector<control::Finding> findings;
  if (refused_) findings.push_back(*refused_);
  for (const auto& [name, how] : failed_)
    findings.push_back({control::Gravity::warning, "hook failed", "hook " + name + ", " + how});
  return findings;
}

}  // namespace weir::run_control
