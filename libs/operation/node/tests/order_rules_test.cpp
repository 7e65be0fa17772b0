#include "../src/order_rules.hpp"

#include "../src/account_delivery.hpp"
#include "weir_catch.hpp"

#include <string>

using namespace weir;
using namespace weir::node;
using Action = OrderVerdict::Action;
using control::State;

namespace {

constexpr RunNumber kRun(7);

OrderContext process(State state) { return {"dcm-0", "", state, {}, {}}; }

OrderContext with_node(State state) {
  OrderContext running = process(state);
  running.run = kRun;
  return running;
}

v1::Order order_of(const std::string& command, std::uint32_t run = 0) {
  v1::Order order;
  order.set_command(command);
  order.set_run(run);
  return order;
}

}  // namespace

TEST_CASE("a command is carried out in the states that have it, and refused with the state in others") {
  const OrderVerdict init = judge(order_of("init"), process(State::idle));
  CHECK(init.action == Action::carry_out);
  CHECK(init.command == control::Command::init);
  const OrderVerdict pause = judge(order_of("pause"), process(State::ready));
  CHECK(pause.action == Action::reply);
  CHECK(pause.error == "dcm-0 is ready: pause is not possible now");
  CHECK(judge(order_of("dance"), process(State::ready)).error == "'dance' is not a command");
}

TEST_CASE("a start that was carried out before is answered again, another run's is not possible") {
  const OrderVerdict again = judge(order_of("start", 7), with_node(State::running));
  CHECK(again.action == Action::reply);
  CHECK(again.error.empty());
  CHECK_FALSE(judge(order_of("start", 8), with_node(State::running)).error.empty());
}

TEST_CASE("while a node prepares its run, orders wait that neither end it nor repeat its start") {
  OrderContext preparing = with_node(State::ready);
  preparing.prepared = kRun;
  for (const char* command : {"pause", "stop", "init", "configure", "dance"})
    CHECK(judge(order_of(command), preparing).action == Action::hold);
  CHECK(judge(order_of("start", 8), preparing).action == Action::hold);
  CHECK(judge(order_of("start", 7), preparing).action == Action::join_start);
  CHECK(judge(order_of("reset"), preparing).action == Action::carry_out);
  CHECK(judge(order_of("off"), preparing).action == Action::carry_out);
  CHECK(judge(order_of("log-level"), preparing).action == Action::set_level);
  CHECK(judge(order_of("restart"), preparing).action == Action::restart);
}

TEST_CASE("a message for the run's node needs a run") {
  v1::Order order;
  order.mutable_tell()->set_kind(v1::Command::PAUSE);
  CHECK(judge(order, with_node(State::running)).action == Action::relay);
  const OrderVerdict none = judge(order, process(State::ready));
  CHECK(none.action == Action::reply);
  CHECK(none.error == "no run is active");
}

TEST_CASE("a process that ends begins no run") {
  OrderContext ending = process(State::ready);
  ending.quits = "SIGTERM";
  CHECK(judge(order_of("start", 8), ending).error == "dcm-0 ends: SIGTERM");
  CHECK(judge(order_of("reset"), ending).action == Action::carry_out);
}

TEST_CASE("a run's account is sent once, and its receipt is noted once") {
  AccountDelivery account;
  account.begin();
  CHECK_FALSE(account.has_summary());
  CHECK_FALSE(account.take_received(true));
  v1::RunSummary summary;
  summary.set_balanced(true);
  account.set_summary(summary);
  CHECK(account.has_summary());
  const v1::RunOver over = account.take(kRun, "why");
  CHECK(over.run() == 7);
  CHECK(over.failure() == "why");
  CHECK(over.summary().balanced());
  CHECK(account.is_sent());
  CHECK_FALSE(account.has_summary());
  CHECK_FALSE(account.take_received(false));
  CHECK(account.take_received(true));
  CHECK_FALSE(account.take_received(true));
  account.begin();
  CHECK_FALSE(account.is_sent());
}

TEST_CASE("the account of a run that failed early has no summary") {
  AccountDelivery account;
  CHECK_FALSE(account.take(kRun, "disk full").has_summary());
}
