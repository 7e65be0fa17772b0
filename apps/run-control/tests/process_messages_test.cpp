#include "../src/process_messages.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

v1::BusMessage join(const std::string& name, std::uint64_t incarnation, const std::string& farm = "small") {
  v1::BusMessage message;
  message.mutable_join()->set_farm(farm);
  message.mutable_join()->set_name(name);
  message.mutable_join()->set_incarnation(incarnation);
  message.mutable_join()->mutable_state()->set_state("idle");
  return message;
}

bus::Sender sender_called(const std::string& id) { return {id, "127.0.0.1", security::BusRole::node}; }

struct MessageDesk {
  explicit MessageDesk(RunBook::Keeper keeper = RunBook::Keeper::self) : farm(keeper) {}
  const v1::BusMessage& answer_to(const std::string& from, const v1::BusMessage& message) {
    reception.take(sender_called(from), message);
    return farm.sent.back().second;
  }
  test::SmallFarm farm;
  ProcessMessages reception{farm.parts, {70, 71}, farm.outbox()};
};

}  // namespace

TEST_CASE("a process of the farm is accepted and receives the ports, a stranger is refused") {
  MessageDesk desk;
  const v1::Welcome& welcome = desk.answer_to("a", join("dcm-0", 1)).welcome();
  CHECK(welcome.refused().empty());
  CHECK(welcome.publish_port() == 70);
  CHECK(welcome.subscribe_port() == 71);
  CHECK(desk.farm.machine.members()[desk.farm.member("dcm-0")].live);
  CHECK_FALSE(desk.answer_to("b", join("dcm-9", 1)).welcome().refused().empty());
  CHECK_FALSE(desk.answer_to("b", join("dcm-0", 1, "another")).welcome().refused().empty());
  CHECK(desk.farm.log.refusals() == 2);
}

TEST_CASE("a place belongs to a process with recent messages, and is free once it is silent") {
  MessageDesk desk;
  (void)desk.answer_to("a", join("dcm-0", 1));
  CHECK_THAT(desk.answer_to("b", join("dcm-0", 2)).welcome().refused(), ContainsSubstring("here already"));
  CHECK(desk.answer_to("c", join("dcm-0", 1)).welcome().refused().empty());  // it has connected again
  desk.farm.parts.now_ns += 100 * kSecond;
  CHECK(desk.answer_to("b", join("dcm-0", 2)).welcome().refused().empty());
}

TEST_CASE("a death in a run is an event with its signal, and a fault of the run once") {
  MessageDesk desk;
  control::Remembered before;
  before.goal = control::State::running;
  before.run = RunNumber(1);
  before.run_open = true;
  desk.farm.machine.recall(before, desk.farm.parts.now_ns);
  const auto dies = [&](std::uint64_t incarnation) {
    v1::BusMessage next = join("dcm-0", incarnation);
    next.mutable_join()->set_after("signal 11 (Segmentation fault) at slice " + std::to_string(incarnation));
    next.mutable_join()->mutable_state()->set_state("running");
    next.mutable_join()->mutable_state()->set_run(1);
    desk.farm.parts.now_ns += 100 * kSecond;
    (void)desk.answer_to("of " + std::to_string(incarnation), next);
  };
  dies(1);
  CHECK(desk.farm.book.faults().empty());  // its predecessor was of no run
  dies(2);
  dies(3);
  CHECK(desk.farm.book.faults() ==
        std::vector<std::string>{"dcm-0 died in the run: signal 11 (Segmentation fault) at slice 2"});
  CHECK_THAT(desk.farm.last_line(), ContainsSubstring("(death 2 of this process)"));
  CHECK(desk.farm.members[desk.farm.member("dcm-0")].after == "signal 11 (Segmentation fault) at slice 3");
}

TEST_CASE("a run with faults that ends without a writer names the operator of its removal") {
  MessageDesk desk;
  (void)desk.answer_to("s", join("supervisor", 1));
  REQUIRE(desk.farm.machine.set_removed(desk.farm.member("writer-0"), true, kSecond, desk.farm.parts.actions,
                                        "mark on daq-1, pid 4711"));
  v1::BusMessage over;
  over.mutable_run_over()->set_run(1);
  over.mutable_run_over()->mutable_summary()->set_run(1);
  over.mutable_run_over()->mutable_summary()->set_balanced(true);
  over.mutable_run_over()->mutable_summary()->set_faults(true);
  (void)desk.answer_to("s", over);
  CHECK(
      desk.farm.book.faults() ==
      std::vector<std::string>{"no writer was left at the end: writer-0 removed by mark on daq-1, pid 4711"});
  // A run that lost nothing is good without it.
  MessageDesk well;
  (void)well.answer_to("s", join("supervisor", 1));
  REQUIRE(
      well.farm.machine.set_removed(well.farm.member("writer-0"), true, kSecond, well.farm.parts.actions));
  over.mutable_run_over()->mutable_summary()->set_faults(false);
  (void)well.answer_to("s", over);
  CHECK(well.farm.book.faults().empty());
}

TEST_CASE("a message from an unknown process is answered with: join again") {
  MessageDesk desk;
  v1::BusMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_incarnation(1);
  CHECK(desk.answer_to("a", heartbeat).welcome().join_again());
  (void)desk.answer_to("a", join("dcm-0", 1));
  v1::BusMessage leave;
  leave.mutable_leave();
  desk.reception.take(sender_called("a"), leave);
  CHECK_FALSE(desk.farm.machine.members()[desk.farm.member("dcm-0")].live);
  CHECK(desk.answer_to("a", heartbeat).welcome().join_again());
}

TEST_CASE("a supervisor in a run reports its address when it joins") {
  MessageDesk desk;
  v1::BusMessage leads = join("supervisor", 1);
  v1::MemberState& state = *leads.mutable_join()->mutable_state();
  state.set_state("running");
  state.set_run(4);
  state.set_supervisor("0.0.0.0:7100");
  (void)desk.answer_to("s", leads);
  CHECK(desk.farm.members.supervisor(RunNumber(4)) == "127.0.0.1:7100");
}

TEST_CASE("in a farm of one run, a failed command makes its process leave, and a late process is dismissed") {
  MessageDesk desk(RunBook::Keeper::starter);
  (void)desk.answer_to("a", join("dcm-0", 1));
  v1::BusMessage failed;
  failed.mutable_answer()->set_id(1);
  failed.mutable_answer()->set_error("filter.plugin: there is none");
  desk.reception.take(sender_called("a"), failed);
  CHECK_FALSE(desk.farm.machine.members()[desk.farm.member("dcm-0")].live);
  CHECK(desk.farm.last_line() == "dcm-0: filter.plugin: there is none");

  (void)desk.answer_to("s", join("supervisor", 1));
  v1::BusMessage over;
  over.mutable_run_over()->set_run(1);
  CHECK(desk.answer_to("s", over).run_taken().run() == 1);
  const v1::BusMessage& last = desk.answer_to("d", join("dcm-0", 2));
  CHECK(last.order().command() == "off");
}

TEST_CASE("only a process that leaves before the end of its one run is lost") {
  for (const auto& [keeper, ended] :
       {std::pair(RunBook::Keeper::starter, true), std::pair(RunBook::Keeper::starter, false),
        std::pair(RunBook::Keeper::self, true)}) {
    CAPTURE(keeper == RunBook::Keeper::starter, ended);
    MessageDesk desk(keeper);
    v1::BusMessage joins = join("dcm-0", 1);
    joins.mutable_join()->mutable_state()->set_ended(ended);
    (void)desk.answer_to("a", joins);
    desk.farm.parts.actions = {};
    v1::BusMessage leaves;
    leaves.mutable_leave()->set_reason("run over");
    desk.reception.take(sender_called("a"), leaves);
    REQUIRE(desk.farm.parts.actions.events.size() == 1);
    const control::Event& event = desk.farm.parts.actions.events.front();
    const bool awaited = keeper == RunBook::Keeper::starter && ended;
    CHECK(event.level == (awaited ? control::Level::info : control::Level::warning));
    CHECK(event.text == (awaited ? "dcm-0 has ended" : "dcm-0 is gone"));
  }
}
