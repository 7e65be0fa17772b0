// Pools with workers that die, hang and run out of memory, each from a seed: every slice ends once, and the
// poison ones are exactly those that kill.
#include "weir_catch.hpp"
#include <weir/worker_pool/worker_pool.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace weir::worker_pool {
namespace {

enum class Habit : std::uint8_t { fine, kills, hangs, eats_memory, two_steps, needs_more };

struct ModelWorker {
  bool alive = false;
  bool ready = false;
  bool hangs = false;
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  std::vector<PoolActions::Lend> lent;  // all of its life
  std::set<Token> states;
};

class Model {
 public:
  explicit Model(std::uint64_t seed)
      : random_(seed),
        batch_(1 + seed % 3),
        pool_(settings()),
        workers_(pool_.seats()),
        slices_(40 + seed % 80) {
    for (Token token = 0; token < slices_; ++token) {
      const auto dice = draw(100);
      Habit habit = Habit::fine;
      if (dice < 5)
        habit = Habit::kills;
      else if (dice < 8)
        habit = Habit::hangs;
      else if (dice < 11)
        habit = Habit::eats_memory;
      else if (dice < 25)
        habit = Habit::two_steps;
      else if (dice < 30)
        habit = Habit::needs_more;
      habits_.push_back(habit);
    }
  }

  void run() {
    Token next = 0;
    for (int turn = 0; turn < 60000 && finished_.size() < slices_; ++turn) {
      out_.clear();
      now_ += kMillisecond;
      for (Seat seat = 0; seat < pool_.seats(); ++seat) look(seat);
      while (next < slices_ && draw(3) == 0) submit(next++);
      act();
      out_.clear();
      pool_.pass(now_, out_);
      act();
      for (ModelWorker& worker : workers_) work(worker);
      const std::string broken = pool_.broken_invariant();
      if (!broken.empty()) FAIL(broken);
    }
    REQUIRE(finished_.size() == slices_);
    CHECK(pool_.in_pool() == 0);
    for (Token token = 0; token < slices_; ++token) {
      const Habit habit = habits_[token];
      const bool killer = habit == Habit::kills || habit == Habit::hangs || habit == Habit::eats_memory;
      INFO("slice " << token << " habit " << static_cast<int>(habit));
      CHECK(poison_.contains(token) == killer);
      CHECK(kills_[token] >= (killer ? 2U : 0U));
    }
  }

 private:
  PoolSettings settings() {
    PoolSettings made;
    made.workers = 1 + static_cast<std::uint32_t>(draw(3));
    made.spares = static_cast<std::uint32_t>(draw(2));
    made.lane_slots = 1 + static_cast<std::uint32_t>(draw(12));
    made.timeout_ns = 20 * kMillisecond;
    made.start_timeout_ns = kSecond;
    return made;
  }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  void submit(Token token) { pool_.submit(token, 0, out_); }

  void look(Seat seat) {
    ModelWorker& worker = workers_[seat];
    if (!pool_.is_running(seat)) return;
    if (worker.alive && !worker.ready && draw(4) == 0) {
      worker.ready = true;
      pool_.started(seat);
    }
    for (std::uint64_t n = pool_.observe(seat, worker.begun, worker.done, out_); n > 0; --n) take(seat);
    if (!worker.alive) {
      pool_.ended(seat, {end_[seat], "the end"}, now_, out_);
      worker = {};
    }
  }
  void take(Seat seat) {
    ModelWorker& worker = workers_[seat];
    const PoolActions::Lend lend = worker.lent[taken_[seat]++];
    const Habit habit = habits_[lend.token];
    const bool more = lend.kind == LendKind::step && step_[lend.token] == 0 &&
                      (habit == Habit::two_steps || habit == Habit::needs_more);
    const auto token = pool_.returned(seat, more, more && habit == Habit::two_steps,
                                      1 + static_cast<DurationNs>(draw(1000)));
    if (!token) return;
    CHECK(*token == lend.token);
    if (!more) return finish(*token);
    step_[*token] = 1;
    if (draw(10) == 0) {  // the slice leaves between its steps
      pool_.forget(*token);
      return finish(*token);
    }
    later_.push_back(*token);
  }
  void finish(Token token) {
    CHECK(finished_.insert(token).second);
    step_[token] = 0;
  }
  void act() {
    while (!later_.empty() && draw(2) == 0) {
      submit(later_.back());
      later_.pop_back();
    }
    const std::vector<Token> restarted = std::exchange(out_.restarted, {});
    for (const auto& one : out_.kills) kills_[one.token] += one.number;
    for (const auto& one : out_.poison) {
      poison_.insert(one.token);
      finish(one.token);
    }
    for (const auto& start : out_.start) {
      workers_[start.seat] = {};
      workers_[start.seat].alive = true;
      taken_[start.seat] = 0;
    }
    for (const auto& kill : out_.kill) {
      workers_[kill.seat].alive = false;
      end_[kill.seat] = EndKind::signal;
    }
    for (const auto& lend : out_.lend) workers_[lend.seat].lent.push_back(lend);
    out_.kills.clear();
    out_.poison.clear();
    out_.start.clear();
    out_.kill.clear();
    out_.lend.clear();
    for (const Token token : restarted) {
      step_[token] = 0;
      submit(token);
    }
    if (!out_.restarted.empty()) act();
  }

  void work(ModelWorker& worker) {
    if (!worker.alive || !worker.ready || worker.hangs) return;
    const auto seat = static_cast<Seat>(&worker - workers_.data());
    for (std::uint64_t budget = draw(6); budget > 0 && worker.done < worker.lent.size(); --budget) {
      const std::uint64_t batch = std::min<std::uint64_t>(batch_, worker.lent.size() - worker.done);
      worker.begun = worker.done + batch;
      for (std::uint64_t i = worker.done; i < worker.begun; ++i) {
        if (step(worker, seat, worker.lent[i])) return;
      }
      worker.done = worker.begun;
      if (draw(200) == 0) return die(worker, seat, EndKind::signal);  // between two slices
    }
  }
  // True if the worker does not come to an end with it.
  bool step(ModelWorker& worker, Seat seat, const PoolActions::Lend& lend) {
    if (lend.kind == LendKind::forget) {
      CHECK(worker.states.erase(lend.token) == 1);
      return false;
    }
    switch (habits_[lend.token]) {
      case Habit::kills:
        die(worker, seat, draw(2) == 0 ? EndKind::signal : EndKind::exit);
        return true;
      case Habit::hangs:
        worker.hangs = true;
        return true;
      case Habit::eats_memory:
        die(worker, seat, EndKind::memory);
        return true;
      case Habit::two_steps:
        if (step_[lend.token] == 0)
          worker.states.insert(lend.token);
        else
          CHECK(worker.states.erase(lend.token) == 1);
        return false;
      default:
        return false;
    }
  }
  void die(ModelWorker& worker, Seat seat, EndKind kind) {
    worker.alive = false;
    end_[seat] = kind;
  }

  std::mt19937_64 random_;
  std::uint64_t batch_;
  WorkerPool pool_;
  std::vector<ModelWorker> workers_;
  std::size_t slices_;
  std::vector<Habit> habits_;
  PoolActions out_;
  TimeNs now_ = kSecond;
  std::map<Token, int> step_;
  std::map<Token, std::uint32_t> kills_;
  std::map<Seat, EndKind> end_;
  std::map<Seat, std::uint64_t> taken_;
  std::set<Token> finished_;
  std::set<Token> poison_;
  std::vector<Token> later_;
};

TEST_CASE("worker pool: every slice ends once and only killers are poison, whatever workers do") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    Model model(seed);
    model.run();
  }
}

}  // namespace
}  // namespace weir::worker_pool
