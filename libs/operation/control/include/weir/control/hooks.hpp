#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/control/states.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Commands that run control executes at transitions of the farm: when, and the effect of their end. Pure.
namespace weir::control {

enum class HookPoint : std::uint8_t {
  before_configure,  // these two may refuse; all others are informed
  before_start,
  after_init,
  after_configure,
  after_start,
  after_pause,
  after_continue,
  after_stop,  // each end of a run, once its account is recorded
  after_reset,
};
constexpr std::size_t kHookPoints = 9;
[[nodiscard]] std::string_view name(HookPoint point);  // "before-configure", …
[[nodiscard]] std::optional<HookPoint> hook_point_of(std::string_view name);
[[nodiscard]] constexpr bool may_refuse(HookPoint point) { return point <= HookPoint::before_start; }
// Returns the point before this command; nothing: no hook precedes it.
[[nodiscard]] std::optional<HookPoint> point_before(Command command);

struct Hook {
  std::string name;
  std::vector<HookPoint> at;
  std::string run;  // command for the shell
  DurationNs limit_ns = 0;
  bool refuse_on_failure = true;  // of a hook that may refuse: whether it refuses when it fails

  [[nodiscard]] bool is_at(HookPoint point) const;
};

// How a hook's command ended.
struct HookEnd {
  enum class Kind : std::uint8_t { status, by_signal, late, not_started };
  Kind kind = Kind::status;
  int status = 0;      // exit status, or the signal's number
  std::string output;  // the first line; empty: none

  [[nodiscard]] bool good() const { return kind == Kind::status && status == 0; }
  // True if the command did not decide: it could not be started, was killed, or was not found by the shell.
  [[nodiscard]] bool failed() const;
  // Returns "exit status 3: the high voltage is off", "took longer than 10 s", …
  [[nodiscard]] std::string text(const Hook& hook) const;
};

// Collects the answers of the hooks before one transition.
class HookGate {
 public:
  // Waits for these hooks. Requires: not waiting; at least one hook.
  void open(Command command, std::vector<std::size_t> hooks);
  [[nodiscard]] std::optional<Command> waits() const { return command_; }
  // A hook's answer; of no effect for a hook that is not waited for.
  void ended(std::size_t hook, const Hook& what, const HookEnd& end);
  // Gives the transition up.
  void close() { *this = {}; }

  struct Verdict {
    Command command = Command::configure;
    std::string refusal;  // empty: no hook refuses
  };
  // Once, when all hooks have answered.
  [[nodiscard]] std::optional<Verdict> take_verdict();

 private:
  std::optional<Command> command_;
  std::vector<std::size_t> missing_;
  std::string refusal_;
};

// Finds the ends of transitions in the farm's successive states.
class TransitionWatch {
 public:
  struct Seen {
    State state = State::idle;
    std::optional<Command> under_way;
    bool configure_refused = false;
    std::optional<RunNumber> open;  // the run without a recorded end
  };
  struct Passed {
    HookPoint point = HookPoint::after_init;
    std::optional<RunNumber> run;  // of after_stop
  };
  // Returns the ends since the last call; none on the first one.
  [[nodiscard]] std::vector<Passed> look(const Seen& now);

 private:
  std::optional<Seen> last_;
};

}  // namespace weir::control
