// Farms with processes that die, return, ignore orders and end their runs at any time, under random commands.
// Checks: a transition ends within its deadlines; every order is possible in its state; no run begins before
// the previous one has its account or was explicitly given up; a farm left alone settles.
#include "model_members.hpp"
#include "weir_catch.hpp"

#include <random>
#include <utility>

using namespace weir;
using namespace weir::control;
using weir::control::test::Farm;

namespace {

class RandomFarm {
 public:
  explicit RandomFarm(std::uint64_t seed) : random_(seed) {}

  void play(int steps) {
    std::uint32_t run = 0;
    for (int i = 0; i < steps; ++i) {
      if (chance(8)) disturb();
      if (chance(10)) {
        const auto command = static_cast<Command>(random_() % (kCommands - 1));  // except off
        if (farm_.command(command, ++run)) note(command);
      }
      if (chance(40)) {
        (void)farm_.machine.set_removed(random_() % farm_.processes.size(), chance(2), farm_.now, farm_.out);
      }
      if (chance(50)) restart_run_control();
      if (chance(60)) farm_.end_run();
      step();
    }
  }

  // All processes are present and follow orders: after a reset the farm can run.
  void come_to_rest() {
    for (std::size_t i = 0; i < farm_.processes.size(); ++i) {
      farm_.processes[i].deaf = false;
      farm_.processes[i].refuses.clear();
      if (!farm_.processes[i].alive) farm_.start_process(i);
      (void)farm_.machine.set_removed(i, false, farm_.now, farm_.out);
    }
    REQUIRE(farm_.command(Command::reset));
    settle();
    REQUIRE(farm_.machine.state() == State::idle);
    REQUIRE(farm_.command(Command::init));
    settle();
    REQUIRE(farm_.command(Command::configure));
    settle();
    REQUIRE(farm_.command(Command::start, 1'000'000));
    settle();
    REQUIRE(farm_.machine.state() == State::running);
    for (std::size_t i = 0; i < farm_.processes.size(); ++i) REQUIRE(farm_.state_of(i) == State::running);
    REQUIRE(farm_.command(Command::stop));
    settle();
    REQUIRE(farm_.machine.state() == State::ready);
    REQUIRE(farm_.illegal == 0);
  }

 private:
  bool chance(unsigned one_in) { return random_() % one_in == 0; }

  void disturb() {
    const std::size_t who = random_() % farm_.processes.size();
    test::ModelProcess& one = farm_.processes[who];
    switch (random_() % 5) {
      case 0:
        if (one.alive) farm_.kill(who);
        break;
      case 1:
        if (one.alive) one.alive = false;  // without a message
        break;
      case 2:
        one.deaf = !one.deaf;
        break;
      case 3:
        one.refuses = one.refuses.empty() ? "not today" : "";
        break;
      default:
        if (!one.alive) farm_.start_process(who);
        break;
    }
  }

  void note(Command command) {
    if (command == Command::start) {
      REQUIRE_FALSE(run_open_);
      run_open_ = true;
    }
    if (command == Command::reset) run_open_ = false;
  }

  // Notes whether the started run has its account by now, or was given up.
  void note_end() {
    if (std::exchange(runs_over_, farm_.runs_over) != farm_.runs_over) run_open_ = false;
    for (; events_seen_ < farm_.events.size(); ++events_seen_) {
      const std::string& event = farm_.events[events_seen_];
      if (event.starts_with("the farm is in error") || event == "the run ends without an account")
        run_open_ = false;
    }
  }

  void restart_run_control() {
    const Remembered kept = farm_.machine.remembered();
    farm_.machine = FarmMachine(test::small_plan(), {});
    farm_.machine.recall(kept, farm_.now);
    farm_.out = {};
    since_ = farm_.now;
    for (std::size_t i = 0; i < farm_.processes.size(); ++i) {
      const test::ModelProcess& one = farm_.processes[i];
      if (one.alive) farm_.machine.joined(i, one.incarnation, one.state, farm_.now, farm_.out);
    }
  }

  void step() {
    const auto before = farm_.machine.under_way();
    farm_.pass();
    note_end();
    if (!farm_.machine.under_way() || farm_.machine.under_way() != before) since_ = farm_.now;
    // The longest transition: a stop with its resets.
    REQUIRE(farm_.now - since_ <= 110 * kSecond);
    REQUIRE(farm_.illegal == 0);
  }

  void settle() {
    for (int i = 0; i < 1200 && farm_.machine.under_way(); ++i) step();
    REQUIRE_FALSE(farm_.machine.under_way());
  }

  std::mt19937_64 random_;
  Farm farm_;
  TimeNs since_ = farm_.now;
  bool run_open_ = false;  // according to the operator's view
  int runs_over_ = 0;
  std::size_t events_seen_ = 0;
};

}  // namespace

TEST_CASE("a farm's transitions end under random events, and left alone it runs again") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    RandomFarm farm(seed);
    farm.play(400);
    farm.come_to_rest();
  }
}
