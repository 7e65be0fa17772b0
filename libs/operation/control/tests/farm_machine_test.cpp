#include "model_members.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <utility>

using namespace weir;
using namespace weir::control;
using weir::control::test::Farm;

namespace {

constexpr std::size_t kSupervisor = 0;
constexpr std::size_t kReadout0 = 2;
constexpr std::size_t kDcm0 = 4;
constexpr std::size_t kDcm1 = 5;

constexpr int kPassesToReturn = 300;  // Deadlines::return_ns

// Run control dies, and a new process resumes from its stored state.
void restart_run_control(Farm& farm) {
  const Remembered kept = farm.machine.remembered();
  farm.machine = FarmMachine(control::test::small_plan(), {});
  farm.machine.recall(kept, farm.now);
  farm.out = {};
  farm.orders.clear();
  for (std::size_t i = 0; i < farm.processes.size(); ++i) {
    const control::test::ModelProcess& one = farm.processes[i];
    if (one.alive) farm.machine.joined(i, one.incarnation, one.state, farm.now, farm.out);
  }
}

bool was_ordered(const Farm& farm, std::size_t member, Command command) {
  return std::any_of(farm.orders.begin(), farm.orders.end(),
                     [&](const Order& order) { return order.member == member && order.command == command; });
}

}  // namespace

TEST_CASE("a farm goes from idle to running and back to ready, and its next run needs no new process") {
  Farm farm;
  farm.to_running(7);
  CHECK(farm.machine.state() == State::running);
  for (std::size_t i = 0; i < farm.processes.size(); ++i) CHECK(farm.state_of(i) == State::running);
  CHECK(farm.command(Command::pause));
  farm.settle();
  CHECK(farm.machine.state() == State::paused);
  CHECK(farm.command(Command::continue_run));
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.command(Command::stop));
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.runs_over == 1);
  CHECK(farm.command(Command::start, 8));
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.illegal == 0);
}

TEST_CASE("a command that is not possible is refused with the possible ones") {
  Farm farm;
  farm.to_ready();
  CHECK_FALSE(farm.command(Command::pause));
  CHECK(farm.refused ==
        "the farm is ready: pause is not possible now; possible commands: configure, start, reset, off");
  CHECK(farm.command(Command::start, 3));
  CHECK_FALSE(farm.command(Command::stop));
  CHECK(farm.refused == "start is under way: wait for it, or reset");
  farm.settle();
  CHECK(farm.command(Command::stop));
  farm.settle();
  CHECK_FALSE(farm.command(Command::start, 3));
  CHECK(farm.refused == "run 3: a run's number is above all before it, the last was 3");
}

TEST_CASE("the supervisor is started before the others, with the names of absent members") {
  Farm farm;
  farm.start_all();
  farm.kill(kDcm0);
  farm.command(Command::init);
  farm.settle();
  CHECK(farm.has_event("init was held up by dcm-0 (not there)"));
  farm.command(Command::configure);
  farm.settle();
  farm.orders.clear();
  farm.command(Command::start, 1);
  farm.settle();
  REQUIRE(farm.machine.state() == State::running);
  CHECK(farm.orders.front().member == kSupervisor);
  CHECK(farm.orders.front().absent == std::vector<std::string>{"dcm-0"});
  farm.start_process(kDcm0);  // and resumes its place during the run
  for (int i = 0; i < 5; ++i) farm.pass();
  CHECK(farm.state_of(kDcm0) == State::running);
}

TEST_CASE("a process that does not answer is inactive, and the run begins without it") {
  Farm farm;
  farm.to_ready();
  farm.processes[kReadout0].deaf = true;
  farm.command(Command::start, 1);
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.machine.members()[kReadout0].inactive);
  CHECK(farm.has_event("start was held up by readout-0 (ready)"));
}

TEST_CASE("a member known to be inactive holds neither a start nor a stop, and takes part once it follows") {
  Farm farm;
  farm.to_ready();
  farm.processes[kReadout0].deaf = true;
  farm.command(Command::start, 1);
  farm.settle();
  REQUIRE(farm.machine.members()[kReadout0].inactive);
  TimeNs begun = farm.now;
  farm.command(Command::stop);
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.now - begun < 2 * kSecond);
  farm.orders.clear();
  begun = farm.now;
  farm.command(Command::start, 2);
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.now - begun < 2 * kSecond);
  CHECK(farm.orders.front().absent == std::vector<std::string>{"readout-0"});  // the supervisor does not wait
  CHECK(was_ordered(farm, kReadout0, Command::start));                         // it may follow all the same
  // It missed that order too, and is led into the next run as soon as it answers.
  farm.processes[kReadout0].deaf = false;
  farm.command(Command::stop);
  farm.settle();
  farm.command(Command::start, 3);
  farm.settle();
  for (int i = 0; i < 5; ++i) farm.pass();
  CHECK(farm.state_of(kReadout0) == State::running);
  CHECK_FALSE(farm.machine.members()[kReadout0].inactive);
}

TEST_CASE("a process that refuses its configuration does not hold the starts, and is asked in each") {
  Farm farm;
  farm.to_running(1);
  farm.processes[kDcm0].refuses = "filter plugin 'x' has checksum 2, and the run began with 1";
  farm.kill(kDcm0);
  farm.start_process(kDcm0);
  for (int i = 0; i < 5; ++i) farm.pass();
  REQUIRE(farm.machine.members()[kDcm0].inactive);
  CHECK(farm.machine.state() == State::running);
  for (std::uint32_t run = 2; run < 4; ++run) {
    farm.command(Command::stop);
    farm.settle();
    farm.orders.clear();
    farm.command(Command::start, run);
    farm.settle();
    CHECK(farm.machine.state() == State::running);
    CHECK(was_ordered(farm, kDcm0, Command::init));
  }
  farm.processes[kDcm0].refuses.clear();
  farm.command(Command::stop);
  farm.settle();
  farm.command(Command::start, 4);
  farm.settle();
  for (int i = 0; i < 5; ++i) farm.pass();
  CHECK(farm.state_of(kDcm0) == State::running);
}

TEST_CASE("the supervisor of a run that begins learns of each member that refuses to take part") {
  Farm farm;
  farm.to_ready();
  farm.processes[kDcm0].refuses = "filter plugin 'x' has checksum 2, and the run began with 1";
  farm.command(Command::start, 1);
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.without == std::vector<std::size_t>{kDcm0});
}

TEST_CASE("off reaches a member that is still busy with an order, or has refused one") {
  for (const bool deaf : {true, false}) {
    Farm farm;
    farm.to_ready();
    farm.kill(kDcm0);
    farm.start_process(kDcm0);
    farm.processes[kDcm0].deaf = deaf;
    if (!deaf) farm.processes[kDcm0].refuses = "its plugin refuses the parameters";
    for (int i = 0; i < 5; ++i) farm.pass();
    farm.command(Command::off);
    for (int i = 0; i < 10; ++i) farm.pass();
    CHECK(was_ordered(farm, kDcm0, Command::off));
  }
}

TEST_CASE("without an essential process no run starts or continues") {
  Farm farm;
  farm.to_ready();
  farm.processes[kSupervisor].deaf = true;
  farm.command(Command::start, 1);
  farm.settle();
  CHECK(farm.machine.state() == State::error);
  CHECK(farm.machine.reason() == "start failed: supervisor-0 (ready) did not follow in time");
  farm.processes[kSupervisor].deaf = false;
  CHECK(farm.command(Command::reset));
  farm.settle();
  CHECK(farm.machine.state() == State::idle);
}

TEST_CASE("a refusal of an essential process fails the transition with its reason") {
  Farm farm;
  farm.start_all();
  farm.command(Command::init);
  farm.settle();
  farm.processes[kSupervisor].refuses = "its farm file is another one";
  farm.command(Command::configure);
  farm.settle();
  CHECK(farm.machine.state() == State::error);
  CHECK(farm.machine.reason() == "supervisor-0: its farm file is another one");
}

TEST_CASE("a process that was started again in a run is led back into it") {
  Farm farm;
  farm.to_running(4);
  farm.kill(kDcm0);
  farm.pass();
  farm.orders.clear();
  farm.start_process(kDcm0);
  for (int i = 0; i < 5; ++i) farm.pass();
  CHECK(farm.state_of(kDcm0) == State::running);
  CHECK(farm.processes[kDcm0].state.run == RunNumber(4));
  CHECK(farm.orders.size() == 3);
  CHECK(farm.machine.state() == State::running);
}

TEST_CASE("the supervisor may die while the run is being stopped: it resumes the run and ends it") {
  Farm farm;
  farm.to_running(4);
  farm.processes[kSupervisor].deaf = true;
  farm.command(Command::stop);
  farm.pass();
  farm.kill(kSupervisor);
  farm.pass();
  farm.orders.clear();
  farm.start_process(kSupervisor);
  farm.settle();
  CHECK(was_ordered(farm, kSupervisor, Command::start));
  CHECK(was_ordered(farm, kSupervisor, Command::stop));
  CHECK(farm.runs_over == 1);
  CHECK(farm.machine.state() == State::ready);
}

TEST_CASE("a supervisor that stays absent ends in error after its time, and reset recovers") {
  Farm farm;
  farm.to_running();
  farm.kill(kSupervisor);
  for (int i = 0; i < 310; ++i) farm.pass();
  CHECK(farm.machine.state() == State::error);
  CHECK(farm.machine.reason() == "supervisor-0 is essential and did not return");
  farm.start_process(kSupervisor);
  CHECK(farm.command(Command::reset));
  farm.settle();
  CHECK(farm.machine.state() == State::idle);
  CHECK(farm.state_of(kReadout0) == State::idle);
}

TEST_CASE("another essential process that stays absent stops the run") {
  auto plan = control::test::small_plan();
  plan[kReadout0].duty = Duty::essential;
  Farm farm(plan);
  farm.to_running();
  farm.kill(kReadout0);
  for (int i = 0; i < 310; ++i) farm.pass();
  farm.start_process(kReadout0);
  farm.settle();
  CHECK(farm.runs_over == 1);
  CHECK(farm.has_event("readout-0 is essential and did not return: the run is stopped"));
  CHECK(farm.machine.state() == State::ready);
}

TEST_CASE("stop always ends: a process that holds it up is named and reset") {
  Farm farm;
  farm.to_running();
  farm.processes[kDcm0].deaf = true;  // stays running
  farm.command(Command::stop);
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.has_event("stop was held up by dcm-0 (running)"));
  CHECK(was_ordered(farm, kDcm0, Command::reset));
  CHECK(farm.now < 120 * kSecond);
}

TEST_CASE("a run that ends on its own leads the farm back to ready") {
  Farm farm;
  farm.to_running();
  farm.end_run();
  farm.settle();
  CHECK(farm.runs_over == 1);
  CHECK(farm.machine.state() == State::ready);
}

TEST_CASE("a removed member is not started, and an added one joins the present run") {
  Farm farm;
  farm.to_ready();
  CHECK(farm.machine.set_removed(kDcm0, true, farm.now, farm.out).has_value());
  farm.command(Command::start, 1);
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.state_of(kDcm0) == State::ready);
  CHECK(farm.machine.set_removed(kDcm0, false, farm.now, farm.out).has_value());
  for (int i = 0; i < 3; ++i) farm.pass();
  CHECK(farm.state_of(kDcm0) == State::running);
  // Removed during the run: its part ends, and it is not started again by itself.
  CHECK(farm.machine.set_removed(kDcm0, true, farm.now, farm.out).has_value());
  farm.processes[kDcm0].state.state = State::ready;
  farm.processes[kDcm0].state.ended = true;
  for (int i = 0; i < 3; ++i) farm.pass();
  CHECK(farm.state_of(kDcm0) == State::ready);
  CHECK(farm.machine.set_removed(kDcm0, false, farm.now, farm.out).has_value());
  for (int i = 0; i < 3; ++i) farm.pass();
  CHECK(farm.state_of(kDcm0) == State::running);
  CHECK_FALSE(farm.machine.set_removed(kSupervisor, true, farm.now, farm.out).has_value());
}

TEST_CASE("a restarted run control finds the run unchanged, and gives no orders") {
  Farm farm;
  farm.to_running(9);
  restart_run_control(farm);
  for (int i = 0; i < 400; ++i) farm.pass();
  CHECK(farm.orders.empty());
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.command(Command::stop));
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.runs_over == 1);
}

TEST_CASE("run control that was started again while the run was being stopped waits for its account") {
  Farm farm;
  farm.to_running(9);
  farm.processes[kSupervisor].deaf = true;  // it drains, and reports nothing until it has finished
  REQUIRE(farm.command(Command::stop));
  farm.pass();
  restart_run_control(farm);
  CHECK(farm.machine.under_way() == Command::stop);
  CHECK_FALSE(farm.command(Command::start, 10));
  for (int i = 0; i < 3; ++i) farm.pass();
  CHECK_FALSE(was_ordered(farm, kSupervisor, Command::reset));
  CHECK(farm.runs_over == 0);
  farm.end_run();
  farm.processes[kSupervisor].state.state = State::ready;
  farm.processes[kSupervisor].state.ended = true;
  farm.processes[kSupervisor].deaf = false;
  farm.settle();
  CHECK(farm.runs_over == 1);
  CHECK(farm.machine.state() == State::ready);
  REQUIRE(farm.command(Command::start, 10));
  farm.settle();
  CHECK(farm.machine.state() == State::running);
}

TEST_CASE(
    "a supervisor that was absent, like run control, when the run was to stop stops it when it returns") {
  Farm farm;
  farm.to_running(9);
  farm.kill(kSupervisor);
  REQUIRE(farm.command(Command::stop));
  farm.pass();
  restart_run_control(farm);
  farm.start_process(kSupervisor);
  farm.settle();
  CHECK(was_ordered(farm, kSupervisor, Command::stop));
  CHECK(farm.runs_over == 1);
  CHECK(farm.machine.state() == State::ready);
}

TEST_CASE("pause and continue wait for a supervisor that is being started again") {
  Farm farm;
  farm.to_running(4);
  farm.kill(kSupervisor);
  REQUIRE(farm.command(Command::pause));
  farm.pass();
  CHECK(farm.machine.under_way() == Command::pause);
  farm.start_process(kSupervisor);  // idle: pause is not allowed there
  farm.settle();
  CHECK(farm.machine.state() == State::paused);
  farm.kill(kSupervisor);
  farm.start_process(kSupervisor);
  farm.processes[kSupervisor].state.state = State::idle;
  REQUIRE(farm.command(Command::continue_run));
  farm.settle();
  CHECK(farm.machine.state() == State::running);
  for (int i = 0; i < 10; ++i) farm.pass();
  CHECK(farm.machine.state() == State::running);
  CHECK(farm.state_of(kSupervisor) == State::running);
  CHECK(farm.illegal == 0);
}

TEST_CASE("a failed pause leaves the run as it is, with the reason") {
  Farm farm;
  farm.to_running(4);
  SECTION("the supervisor stays away") {
    farm.kill(kSupervisor);
    REQUIRE(farm.command(Command::pause));
    farm.settle();
    CHECK(farm.has_event("pause failed: supervisor-0 (not there) did not follow in time"));
    farm.start_process(kSupervisor);
  }
  SECTION("it refuses") {
    farm.processes[kSupervisor].refuses = "the run ends";
    REQUIRE(farm.command(Command::pause));
    farm.settle();
    farm.pass();
    CHECK(farm.has_event("pause failed: supervisor-0: the run ends"));
    farm.processes[kSupervisor].refuses.clear();
  }
  SECTION("it goes on all the same") {
    farm.processes[kSupervisor].ignores_pause = true;
    REQUIRE(farm.command(Command::pause));
    farm.settle();
    farm.pass();
    CHECK(farm.has_event("pause failed: supervisor-0 is running"));
  }
  CHECK(farm.machine.state() == State::running);
  for (int i = 0; i < 5; ++i) farm.pass();
  REQUIRE(farm.command(Command::stop));
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.runs_over == 1);
}

TEST_CASE("a process that returns slowly does not hold up a pause") {
  Farm farm;
  farm.to_running(4);
  farm.kill(kReadout0);
  farm.start_process(kReadout0);
  farm.processes[kReadout0].deaf = true;
  const TimeNs before = farm.now;
  REQUIRE(farm.command(Command::pause));
  farm.settle();
  CHECK(farm.machine.state() == State::paused);
  CHECK(farm.now - before < kSecond);
}

TEST_CASE("a supervisor that is refused to re-enter its run has the time of an absent one") {
  Farm farm;
  farm.to_running(4);
  farm.kill(kSupervisor);
  farm.start_process(kSupervisor);
  farm.processes[kSupervisor].refuses = "its farm file is another one";
  for (int i = 0; i < kPassesToReturn / 2; ++i) farm.pass();
  CHECK(farm.has_event("supervisor-0: its farm file is another one"));
  CHECK(farm.machine.state() == State::running);
  SECTION("the file is put right, and the process started again") {
    farm.kill(kSupervisor);
    farm.start_process(kSupervisor);
    farm.processes[kSupervisor].refuses.clear();
    for (int i = 0; i < kPassesToReturn; ++i) farm.pass();
    CHECK(farm.state_of(kSupervisor) == State::running);
    CHECK(farm.machine.state() == State::running);
  }
  SECTION("nothing is done") {
    for (int i = 0; i < kPassesToReturn; ++i) farm.pass();
    CHECK(farm.machine.state() == State::error);
    CHECK(farm.machine.reason() == "supervisor-0 is essential and does not follow");
  }
}

TEST_CASE("a supervisor that does not answer while it re-enters its run does not leave it without an end") {
  Farm farm;
  farm.to_running(4);
  farm.kill(kSupervisor);
  farm.start_process(kSupervisor);
  farm.processes[kSupervisor].deaf = true;
  for (int i = 0; i < 2 * kPassesToReturn; ++i) farm.pass();
  CHECK(farm.machine.state() == State::error);
  CHECK(farm.machine.reason() == "supervisor-0 is essential and does not follow");
}

TEST_CASE("a transient process is never waited for, and follows the farm when it is present") {
  Farm farm;
  farm.start_all();
  farm.kill(kDcm1);
  farm.command(Command::init);
  farm.settle(2);
  CHECK(farm.machine.state() == State::standby);
  farm.start_process(kDcm1);
  for (int i = 0; i < 3; ++i) farm.pass();
  CHECK(farm.state_of(kDcm1) == State::standby);
}

TEST_CASE("a process in error holds nothing up, and reset recovers it") {
  Farm farm;
  farm.to_running();
  farm.processes[kDcm0].state.state = State::error;
  farm.processes[kDcm0].state.reason = "its filter fails";
  farm.pass();
  CHECK(farm.has_event("dcm-0: its filter fails"));
  const TimeNs before = farm.now;
  CHECK(farm.command(Command::stop));
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.now - before < 5 * kSecond);
  CHECK(farm.command(Command::reset));
  farm.settle();
  CHECK(farm.state_of(kDcm0) == State::idle);
}

TEST_CASE("off ends every process") {
  Farm farm;
  farm.to_ready();
  CHECK(farm.command(Command::off));
  farm.settle();
  CHECK(farm.machine.all_gone());
  CHECK(farm.illegal == 0);
}

TEST_CASE("off in a run stops the run first, and then ends every process") {
  Farm farm;
  farm.to_running(3);
  REQUIRE(farm.command(Command::off));
  CHECK(farm.machine.under_way() == Command::stop);
  CHECK_FALSE(farm.machine.going_off());
  farm.settle();
  for (int i = 0; i < 50 && !farm.machine.all_gone(); ++i) farm.pass();
  CHECK(farm.runs_over == 1);
  CHECK(farm.machine.all_gone());
  CHECK(farm.illegal == 0);
}

TEST_CASE("an order to stop has the time until the account is due, less with each repetition") {
  Farm farm;
  farm.to_running(3);
  farm.orders.clear();
  farm.processes[kSupervisor].deaf = true;
  REQUIRE(farm.command(Command::stop));
  farm.pass();
  REQUIRE(was_ordered(farm, kSupervisor, Command::stop));
  CHECK(farm.orders.back().limit_ns == Deadlines{}.stop_ns);
  for (int i = 0; i < 100; ++i) farm.pass();  // 10 s
  farm.orders.clear();
  farm.kill(kSupervisor);
  farm.start_process(kSupervisor);
  for (int i = 0; i < 20; ++i) farm.pass();
  REQUIRE(was_ordered(farm, kSupervisor, Command::stop));
  CHECK(farm.orders.back().limit_ns < Deadlines{}.stop_ns - 9 * kSecond);
}

TEST_CASE("an abandoned run is reported as lost, once") {
  Farm farm;
  SECTION("by a reset") {
    farm.to_running(3);
    farm.command(Command::reset);
    REQUIRE(farm.out.lost);
    CHECK(farm.out.lost->run == RunNumber(3));
    CHECK(farm.out.lost->begun);
    CHECK(farm.out.lost->why == kResetReason);
    farm.out.lost.reset();
    farm.settle();
    farm.command(Command::reset);
    CHECK_FALSE(farm.out.lost);
  }
  SECTION("because it never began") {
    farm.to_ready();
    farm.processes[kSupervisor].refuses = "the journal is of another run";
    farm.command(Command::start, 3);
    farm.machine.tick(farm.now, farm.out);
    const FarmActions taken = std::exchange(farm.out, {});
    for (const Order& order : taken.orders) farm.carry_out(order);
    REQUIRE(farm.out.lost);
    CHECK_FALSE(farm.out.lost->begun);
    CHECK(farm.out.lost->why == "supervisor-0: the journal is of another run");
  }
}

TEST_CASE("a supervisor that returns when its run was given up is asked for the account after all") {
  Farm farm;
  farm.to_running(3);
  farm.processes[kSupervisor].alive = false;  // frozen
  farm.command(Command::stop);
  farm.settle();
  CHECK(farm.has_event("the run ends without an account"));
  farm.processes[kSupervisor].alive = true;
  farm.command(Command::reset);
  farm.settle();
  CHECK(farm.state_of(kSupervisor) == State::idle);
  CHECK(farm.illegal == 0);
}

TEST_CASE("a wrong setting is refused by configure as a whole, with the process' sentence") {
  Farm farm;
  farm.start_all();
  farm.command(Command::init);
  farm.settle();
  farm.command(Command::configure);
  farm.machine.tick(farm.now, farm.out);
  const FarmActions taken = std::exchange(farm.out, {});
  for (const Order& order : taken.orders) {
    const bool wrong = order.member == kDcm0;
    MemberState state = farm.processes[order.member].state;
    if (!wrong) state.state = State::ready;
    if (!wrong) state.epoch = order.epoch;
    farm.processes[order.member].state = state;
    farm.machine.answered(order.member, order.id, !wrong, wrong ? "farm.yaml:9: filter.parameters" : "",
                          state, farm.now, farm.out, wrong);
  }
  CHECK(farm.machine.state() == State::standby);
  CHECK_FALSE(farm.machine.under_way());
  CHECK(farm.machine.why_refused() == "dcm-0: farm.yaml:9: filter.parameters");
  CHECK_FALSE(farm.command(Command::start, 1));
  CHECK(farm.command(Command::configure));
  CHECK(farm.machine.why_refused().empty());
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  CHECK(farm.command(Command::start, 1));
  farm.settle();
  CHECK(farm.machine.state() == State::running);
}

TEST_CASE("answers to a configure that is refused already change nothing, and do not refuse the next one") {
  Farm farm;
  farm.start_all();
  farm.command(Command::init);
  farm.settle();
  farm.command(Command::configure);
  farm.machine.tick(farm.now, farm.out);
  const std::vector<Order> first = std::exchange(farm.out, {}).orders;
  const auto refuse = [&](std::size_t member, const std::string& why) {
    for (const Order& order : first) {
      if (order.member == member)
        farm.machine.answered(member, order.id, false, why, farm.processes[member].state, farm.now, farm.out,
                              true);
    }
  };
  refuse(kDcm0, "farm.yaml:9: filter.parameters");
  REQUIRE(farm.machine.state() == State::standby);
  SECTION("before the next one") {
    refuse(kDcm1, "farm.yaml:9: filter.parameters");
    CHECK_FALSE(farm.machine.members()[kDcm1].inactive);
    CHECK(farm.machine.why_refused() == "dcm-0: farm.yaml:9: filter.parameters");
    CHECK(farm.command(Command::configure));
  }
  SECTION("during the next one") {
    CHECK(farm.command(Command::configure));
    refuse(kDcm1, "farm.yaml:9: filter.parameters");
    CHECK(farm.machine.why_refused().empty());
    CHECK(farm.machine.under_way() == Command::configure);
  }
  // The other members carry out the first order too, after its refusal.
  for (const Order& order : first) {
    if (order.member != kDcm0 && order.member != kDcm1) farm.carry_out(order);
  }
  farm.settle();
  CHECK(farm.machine.state() == State::ready);
  for (const Member& member : farm.machine.members()) CHECK_FALSE(member.inactive);
}

TEST_CASE("a member that returns as another process has died, one that returns as itself was away") {
  Farm farm;
  farm.to_running(1);
  const Member& dcm = farm.machine.members()[kDcm0];
  const auto wait = [&] {
    for (int i = 0; i < 100; ++i) farm.pass();
  };
  farm.kill(kDcm0);
  wait();
  CHECK(dcm.losses == 1);
  CHECK(dcm.deaths == 0);
  farm.start_process(kDcm0);
  wait();
  CHECK(dcm.deaths == 1);
  CHECK(dcm.died_ns == dcm.lost_ns);
  farm.processes[kDcm0].alive = false;  // stopped
  wait();
  CHECK_FALSE(dcm.live);
  farm.processes[kDcm0].alive = true;
  wait();
  CHECK(dcm.live);
  CHECK(dcm.losses == 2);
  CHECK(dcm.deaths == 1);
}

TEST_CASE("a removed member is known with the time of its removal until it is added") {
  Farm farm;
  farm.to_running(1);
  REQUIRE(farm.machine.set_removed(kDcm0, true, farm.now, farm.out));
  CHECK(farm.machine.members()[kDcm0].removed_ns == farm.now);
  REQUIRE(farm.machine.set_removed(kDcm0, false, farm.now, farm.out));
  CHECK(farm.machine.members()[kDcm0].removed_ns == 0);
}

TEST_CASE("in a farm of one run processes that end after it are not losses") {
  Farm farm;
  farm.machine = FarmMachine(control::test::small_plan(), {}, true);
  farm.to_running(1);
  CHECK_FALSE(farm.machine.is_over());
  farm.processes[kSupervisor].state.draining = true;
  farm.pass();
  CHECK_FALSE(farm.machine.is_over());
  farm.kill(kDcm0);
  farm.pass();
  farm.machine.accounted();
  CHECK(farm.machine.is_over());
  CHECK(farm.has_event("dcm-0 has ended"));
  CHECK_FALSE(farm.has_event("dcm-0 is gone"));
}

TEST_CASE("a farm that gathers has one event, and a later process one of its own") {
  FarmMachine machine(control::test::small_plan(), {});
  FarmActions out;
  const std::size_t count = machine.members().size();
  for (std::size_t i = 0; i < count; ++i) machine.joined(i, Incarnation(i + 1), {}, 0, out);
  REQUIRE(out.events.size() == 1);
  CHECK(out.events.front().text == "all " + std::to_string(count) + " processes have joined");
  out = {};
  MemberState ready;
  ready.state = State::ready;
  machine.left(kDcm0, kSecond, out);
  out = {};
  machine.joined(kDcm0, Incarnation(99), ready, 2 * kSecond, out);
  REQUIRE_FALSE(out.events.empty());
  CHECK(out.events.front().text.ends_with(" has joined: ready"));
}
