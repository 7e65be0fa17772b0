#pragma once

#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::worker_pool {

using Token = std::uint64_t;  // the caller's name of a slice
using Seat = std::uint32_t;   // place of one worker process at a time

struct PoolSettings {
  std::uint32_t workers = 1;                  // that get slices
  std::uint32_t spares = 1;                   // ready, to take the place of one that ends
  std::uint32_t lane_slots = 64;              // slices lent to one worker at most
  std::uint32_t kills_max = 2;                // kills that make a slice poison
  DurationNs timeout_ns = kSecond;            // one slice in process()
  DurationNs start_timeout_ns = 2 * kSecond;  // from the start of a process until it can take slices
  // Ends per slice, except for want of memory; beyond, the next starts are put off ever longer.
  double end_share_max = 0.01;
};

// Why a worker ended.
enum class EndKind : std::uint8_t {
  signal,   // a signal that nobody sent on purpose
  exit,     // it exited
  memory,   // its memory limit, or a SIGKILL that this process did not send
  timeout,  // ended for a slice that took too long
  corrupt,  // ended because its lane held nonsense
  start,    // it was not ready in time, or refused to start
};
constexpr std::size_t kEndKinds = 6;
[[nodiscard]] std::string_view name(EndKind kind);  // "signal", "exit", ...

// How a process ended, as its pidfd reports it. `text` goes into the record of a poison slice.
struct WorkerEnd {
  EndKind kind = EndKind::signal;
  std::string text;
};

enum class LendKind : std::uint8_t { step, forget };

// Orders to the caller, to be carried out in this order.
struct PoolActions {
  struct Start {
    Seat seat;
  };
  struct Kill {
    Seat seat;
    bool hard;  // SIGKILL; else SIGQUIT, which leaves a backtrace
  };
  struct Lend {
    Seat seat;
    Token token;
    LendKind kind;
  };
  struct Kills {
    Token token;
    std::uint32_t number;  // to be added to the slice's count
  };
  struct Poison {
    Token token;
    std::string text;
  };

  std::vector<Kills> kills;      // report to the supervisor
  std::vector<Poison> poison;    // decided: store unfiltered; not in the pool any more
  std::vector<Token> restarted;  // submit again from step 0: their state is gone; not in the pool any more
  std::vector<Kill> kill;
  std::vector<Start> start;
  std::vector<Lend> lend;
  std::vector<Seat> unkillable;  // survived SIGKILL for 5 s
  bool failed = false;           // no worker is ready and none starts: the last reason is last_end()

  void clear();
};

// Lends slices to worker processes and decides what happens to them when a worker ends: which results stand,
// which slice is to blame, which is tried again, which is poison (docs/decisions/0041). Pure: time comes in,
// actions go out. One thread.
//
// A pass of the caller: for every worker observe(), a returned() for each new result, ended() where the pidfd
// reports the end; then submit() and pass(). A slice is in the pool from submit() until returned(), or until
// it is in Actions::poison or Actions::restarted.
class WorkerPool {
 public:
  static constexpr DurationNs kHardKillAfter = 200 * kMillisecond;
  static constexpr DurationNs kUnkillableAfter = 5 * kSecond;
  static constexpr DurationNs kGapMax = 100 * kMillisecond;  // between two passes, as timeouts count it
  static constexpr DurationNs kLendTime = 2 * kMillisecond;  // of work that a worker has ahead
  static constexpr std::uint32_t kStartFailuresMax = 10;     // of each seat, in a row
  static constexpr std::uint32_t kUnreplacedAfter = 3;       // start failures of a seat, in a row
  static constexpr DurationNs kSettledAfter = 5 * kSecond;   // a worker that lives so long has started
  static constexpr double kEndsFree = 3;                     // ends that put off no start
  // Ends of workers between the steps of a slice: then it is poison. Those right after its step, and all.
  static constexpr std::uint32_t kEndsAfterStepMax = 3;
  static constexpr std::uint32_t kIdleEndsMax = 30;

  explicit WorkerPool(const PoolSettings& settings);

  // One step of a slice. `kills`: of earlier attempts. A step goes to the worker that holds the slice's
  // state. Requires: the token is not in the pool.
  void submit(Token token, std::uint32_t kills, PoolActions& out);
  // The slice has left the filter between two steps: drops its state and its kills.
  // Requires: the token is not in the pool.
  void forget(Token token);

  // The worker can take slices.
  void started(Seat seat);
  // Reads the lane's counters. Returns the number of results to take, each of which the caller reports with
  // returned(), oldest first. Counters that break their order end the worker.
  [[nodiscard]] std::uint64_t observe(Seat seat, std::uint64_t begun, std::uint64_t done, PoolActions& out);
  // The entry that returned() takes next. Requires: observe() has announced it.
  [[nodiscard]] Token next_token(Seat seat) const { return seats_[seat].lent.front().token; }
  [[nodiscard]] LendKind next_kind(Seat seat) const { return seats_[seat].lent.front().kind; }
  // A worker's oldest result was taken: the token, nothing for a forget. `more`: the slice returns for
  // another step; `holds_state`: to this worker.
  std::optional<Token> returned(Seat seat, bool more, bool holds_state, DurationNs wall_ns);
  // The result that is to be taken next has lengths or texts that are impossible.
  void corrupt(Seat seat, PoolActions& out);
  // The pidfd reports the end, and all results were taken before.
  void ended(Seat seat, WorkerEnd end, TimeNs now_ns, PoolActions& out);
  // Timeouts, starts, lending.
  void pass(TimeNs now_ns, PoolActions& out);

  [[nodiscard]] Seat seats() const { return static_cast<Seat>(seats_.size()); }
  [[nodiscard]] bool is_running(Seat seat) const;  // its process may live
  [[nodiscard]] bool is_ready(Seat seat) const;    // started, and not ordered to end
  // Nothing in its lane can be believed.
  [[nodiscard]] bool is_corrupt(Seat seat) const { return seats_[seat].ended_for == EndKind::corrupt; }
  // Tokens in process(), with the time at which the pool saw that they were.
  struct Running {
    Token token;
    TimeNs since_ns;
  };
  void running(std::vector<Running>& out) const;
  [[nodiscard]] std::size_t in_pool() const { return in_pool_; }
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] std::uint64_t ends(EndKind kind) const { return ends_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint64_t poisoned() const { return poisoned_; }
  [[nodiscard]] std::uint64_t retried() const { return retried_; }
  // The seat stays empty: its process could not be started, or ended before its first result, several times
  // in a row.
  [[nodiscard]] bool is_unreplaced(Seat seat) const { return seats_[seat].failures >= kUnreplacedAfter; }
  // Why the last one ended: one line, empty at first.
  [[nodiscard]] const std::string& last_end() const { return last_end_; }
  // Returns the first broken rule, such as a slice in two places; empty: none.
  [[nodiscard]] std::string broken_invariant() const;

 private:
  enum class State : std::uint8_t { empty, starting, ready, active, ending };
  struct Lent {
    Token token = 0;
    LendKind kind = LendKind::step;
  };
  struct Worker {
    State state = State::empty;
    bool fresh = true;              // no slice was lent to it
    bool exclusive = false;         // has a slice that must be alone
    bool hard = false;              // SIGKILL was sent
    bool reported = false;          // as unkillable
    bool retired = false;           // ended because more workers took slices than the settings allow
    bool succeeds_retired = false;  // the next start in this seat is not a restart
    std::optional<EndKind> ended_for;
    std::uint64_t life = 0;
    std::uint32_t failures = 0;  // of this seat to start, in a row
    TimeNs start_after_ns = 0;   // of this seat
    TimeNs ready_ns = 0;         // 0: not yet
    std::deque<Lent> lent;
    std::deque<Lent> own;       // steps that only this worker can do
    std::vector<Token> latest;  // slices with state whose steps were the last to be done, at most a lane
    std::deque<Lent> forgets;   // sent before any step, so that a token's next slice finds no old state
    std::uint64_t lent_total = 0;
    std::uint64_t done = 0;
    std::uint64_t begun = 0;
    std::uint64_t begun_at_kill = 0;
    std::uint64_t owed = 0;  // results that observe() announced and returned() has not confirmed
    DurationNs mean_ns = kLendTime;
    DurationNs busy_ns = 0;  // in the slice or batch that is in process()
    TimeNs since_ns = 0;     // of the state; of an active one: of process()
  };
  enum class Wish : std::uint8_t { any, alone, fresh };
  // Record of a slice that ended a worker, or that was repeated.
  struct Mark {
    std::uint32_t kills = 0;
    // Its worker ended outside of all slices and had this one's state; and nothing was done after its step.
    std::uint32_t idle_ends = 0;
    std::uint32_t ends_after_step = 0;
    bool memory = false;  // memory ran out once
    Wish wish = Wish::any;
  };
  struct Home {
    Seat seat = 0;
    std::uint64_t life = 0;
  };

  [[nodiscard]] static bool has_step(const Worker& worker, std::uint64_t from, std::uint64_t count);
  void enter(Worker& worker, State state, TimeNs now_ns);
  void end(Seat seat, EndKind why, PoolActions& out);
  void watch(Seat seat, DurationNs step_ns, TimeNs now_ns, PoolActions& out);
  void promote(TimeNs now_ns);
  void retire_extra(PoolActions& out);
  void empty_seat(Worker& worker, TimeNs now_ns);
  [[nodiscard]] bool holds_state(Seat seat) const;
  void lend_forgets(PoolActions& out);
  void lend_marked(PoolActions& out);
  void lend_own(PoolActions& out);
  void lend_others(PoolActions& out);
  void lend(Seat seat, Lent what, PoolActions& out);
  [[nodiscard]] bool has_room(const Worker& worker) const;
  [[nodiscard]] bool has_fresh() const;  // one that takes slices
  [[nodiscard]] bool fresh_waits() const;
  [[nodiscard]] bool fresh_comes() const;
  [[nodiscard]] bool comes(const Worker& worker) const;
  [[nodiscard]] std::size_t fresh_reserved() const;
  [[nodiscard]] std::optional<Seat> least_lent(std::size_t reserved) const;
  [[nodiscard]] std::optional<Seat> seat_for(Wish wish) const;
  // Returns whether it ended in slices.
  bool settle_lent(Worker& worker, const WorkerEnd& end, PoolActions& out);
  void blame(Token token, const WorkerEnd& end, PoolActions& out);
  void repeat(Token token, Wish wish, PoolActions& out);
  void not_begun(std::deque<Lent>& lent, PoolActions& out);
  [[nodiscard]] bool lose_state(Token token);
  void note_idle_end(Seat seat);
  void restart(Token token, PoolActions& out);
  [[nodiscard]] std::string reason(EndKind kind) const;
  void note_end(const WorkerEnd& end);
  void put_off(Worker& worker, const WorkerEnd& end, bool starting, bool in_slices);

  PoolSettings settings_;
  std::vector<Worker> seats_;
  std::deque<Token> queue_;
  std::deque<Token> marked_;  // that wait for a worker of their own
  std::unordered_map<Token, Mark> marks_;
  std::unordered_map<Token, Home> homes_;
  std::optional<Seat> draining_;  // gets nothing, so that a marked slice can be alone
  TimeNs last_pass_ns_ = 0;
  TimeNs now_ns_ = 0;
  double ends_owed_ = 0;  // ends that are not yet balanced by results
  std::uint64_t starts_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t poisoned_ = 0;
  std::uint64_t retried_ = 0;
  std::size_t in_pool_ = 0;
  std::array<std::uint64_t, kEndKinds> ends_{};
  std::string last_end_;
};

}  // namespace weir::worker_pool
