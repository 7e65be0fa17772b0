#include <weir/base/assert.hpp>
#include <weir/control/hooks.hpp>

#include <algorithm>
#include <utility>

namespace weir::control {
namespace {

constexpr std::array<std::string_view, kHookPoints> kPointNames = {
    "before-configure", "before-start",   "after-init", "after-configure", "after-start",
    "after-pause",      "after-continue", "after-stop", "after-reset"};

// The shell's, for a command that is not there or cannot be executed.
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

std::string seconds_text(DurationNs limit_ns) {
  const auto tenths = (limit_ns + kSecond / 20) / (kSecond / 10);
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
}

}  // namespace

std::string_view name(HookPoint point) { return kPointNames[static_cast<std::size_t>(point)]; }

std::optional<HookPoint> hook_point_of(std::string_view name) {
  const auto found = std::find(kPointNames.begin(), kPointNames.end(), name);
  if (found == kPointNames.end()) return std::nullopt;
  return static_cast<HookPoint>(found - kPointNames.begin());
}

std::optional<HookPoint> point_before(Command command) {
  if (command == Command::configure) return HookPoint::before_configure;
  if (command == Command::start) return HookPoint::before_start;
  return std::nullopt;
}

bool Hook::is_at(HookPoint point) const { return std::find(at.begin(), at.end(), point) != at.end(); }

bool HookEnd::failed() const {
  return kind != Kind::status || status == kCannotExecute || status == kNotFound;
}

std::string HookEnd::text(const Hook& hook) const {
  std::string text;
  switch (kind) {
    case Kind::status:
      text = "exit status " + std::to_string(status);
      break;
    case Kind::by_signal:
      text = "ended by signal " + std::to_string(status);
      break;
    case Kind::late:
      text = "took longer than " + seconds_text(hook.limit_ns) + " (limit_s)";
      break;
    case Kind::not_started:
      text = "cannot be started";
      break;
  }
  return output.empty() ? text : text + ": " + output;
}

void HookGate::open(Command command, std::vector<std::size_t> hooks) {
  WEIR_ASSERT(!command_ && !hooks.empty());
  command_ = command;
  missing_ = std::move(hooks);
  refusal_.clear();
}

void HookGate::ended(std::size_t hook, const Hook& what, const HookEnd& end) {
  if (std::erase(missing_, hook) == 0) return;
  const bool refuses = end.failed() ? what.refuse_on_failure : !end.good();
  if (!refuses) return;
  const bool has_reason = !end.failed() && !end.output.empty();
  refusal_ += (refusal_.empty() ? "" : "; ") + ("hook " + what.name + ": ") +
              (has_reason ? end.output : end.text(what));
}

std::optional<HookGate::Verdict> HookGate::take_verdict() {
  if (!command_ || !missing_.empty()) return std::nullopt;
  Verdict verdict{*command_, std::move(refusal_)};
  close();
  WEIR_ASSERT(!command_);
  return verdict;
}

std::vector<TransitionWatch::Passed> TransitionWatch::look(const Seen& now) {
  std::vector<Passed> passed;
  if (!last_) {
    last_ = now;
    return passed;
  }
  const Seen before = std::exchange(*last_, now);
  const auto ended = [&](Command command) { return before.under_way == command && now.under_way != command; };
  if (before.open && before.open != now.open) passed.push_back({HookPoint::after_stop, before.open});
  const auto add = [&](bool is_true, HookPoint point) {
    if (is_true) passed.push_back({point, std::nullopt});
  };
  add(before.state == State::idle && now.state == State::standby, HookPoint::after_init);
  add(ended(Command::configure) && now.state == State::ready && !now.configure_refused,
      HookPoint::after_configure);
  add(before.state == State::ready && now.state == State::running, HookPoint::after_start);
  add(before.state == State::running && now.state == State::paused, HookPoint::after_pause);
  add(before.state == State::paused && now.state == State::running, HookPoint::after_continue);
  add(ended(Command::reset) && now.state == State::idle, HookPoint::after_reset);
  return passed;
}

}  // namespace weir::control
