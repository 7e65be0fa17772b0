#include "stop_hooks.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>
#include <weir/clock/clock.hpp>
#include <weir/hooks/hook_runner.hpp>
#include <weir/transport/signals.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <utility>

namespace weir::run {
namespace {

using control::Hook;
using control::HookPoint;

constexpr auto kSignalLook = std::chrono::milliseconds(50);  // for a signal
constexpr DurationNs kSilentWait = kSecond;                  // before it prints for which hooks it waits

boost::json::object account_of(hooks::TransitionFacts facts, const std::vector<std::string>& sets,
                               const v1::FarmView::Run& line) {
  for (const std::string& set : sets) {
    if (const std::size_t at = set.find('='); at != set.npos)
      facts.settings[set.substr(0, at)] = set.substr(at + 1);
  }
  boost::json::object account = hooks::account_of(facts);
  hooks::add_records(facts.folder, facts.run, account);
  hooks::add_end(line, account);
  return account;
}

// The hooks that were started and have not ended.
class RunningHooks {
 public:
  RunningHooks(hooks::HookRunner& runner, std::FILE* err) : runner_(runner), err_(err) {}

  void start(const Hook& hook, const boost::json::object& account) {
    if (runner_.add(hooks::job_of(hook, HookPoint::after_stop, ++last_, account)))
      running_[last_] = &hook;
    else
      fail(hook, "not started, too many hooks wait");
  }
  // Takes the ends of hooks, and waits a moment for one.
  void look() {
    for (const hooks::HookResult& result : runner_.wait(kSignalLook)) {
      const auto found = running_.find(result.id);
      WEIR_ASSERT(found != running_.end());
      if (!result.end.good()) fail(*found->second, result.end.text(*found->second));
      running_.erase(found);
    }
  }
  void give_up() {
    for (const auto& [id, hook] : std::exchange(running_, {})) fail(*hook, "ended by a signal to weir run");
  }
  [[nodiscard]] bool any() const { return !running_.empty(); }
  [[nodiscard]] std::string names() const {
    std::string names;
    for (const auto& [id, hook] : running_) names += (names.empty() ? "" : ", ") + hook->name;
    return names;
  }

 private:
  void fail(const Hook& hook, const std::string& how) const {
    fmt::print(err_, "weir run: hook {} failed after-stop: {}\n", hook.name, how);
  }

  hooks::HookRunner& runner_;
  std::FILE* err_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, const Hook*> running_;  // by job
};

}  // namespace

void inform_stop_hooks(std::vector<Hook> all, hooks::TransitionFacts facts,
                       const std::vector<std::string>& sets, const v1::FarmView::Run& line, std::FILE* out,
                       std::FILE* err) {
  std::erase_if(all, [](const Hook& one) { return !one.is_at(HookPoint::after_stop); });
  if (all.empty()) return;
  transport::SignalWatch signals({SIGINT, SIGTERM, SIGHUP});
  hooks::HookRunner runner(facts.folder + "/hooks");
  RunningHooks running(runner, err);
  const boost::json::object account = account_of(std::move(facts), sets, line);
  for (const Hook& hook : all) running.start(hook, account);
  const TimeNs begun = monotonic_now_ns();
  for (bool told = out == nullptr; running.any();) {
    running.look();
    if (signals.received()) running.give_up();
    if (told || !running.any() || monotonic_now_ns() - begun < kSilentWait) continue;
    fmt::print(out, "waiting for hooks after-stop: {} (Ctrl-C ends them)\n", running.names());
    std::fflush(out);
    told = true;
  }
}

}  // namespace weir::run
