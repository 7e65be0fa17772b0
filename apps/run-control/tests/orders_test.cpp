#include "small_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;

namespace {

control::Order start(std::size_t member, std::uint32_t run) {
  control::Order order;
  order.member = member;
  order.id = 3;
  order.command = control::Command::start;
  order.run = RunNumber(run);
  return order;
}

}  // namespace

TEST_CASE(
    "a start has the address of the run's supervisor, and its previous address for the supervisor itself") {
  test::SmallFarm farm;
  farm.join_all();
  const std::size_t supervisor = farm.member("supervisor");
  const std::size_t dcm = farm.member("dcm-0");
  farm.setup.start({"run.slices=5"});
  farm.orders.send(start(supervisor, 2));
  CHECK(farm.sent.back().first == "of supervisor");
  CHECK(farm.sent.back().second.order().listen().empty());
  CHECK(farm.sent.back().second.order().sets(0) == "run.slices=5");
  farm.members.supervisor_listens(RunNumber(2), "127.0.0.1:70", "");
  farm.orders.send(start(dcm, 2));
  CHECK(farm.sent.back().second.order().supervisor() == "127.0.0.1:70");
  farm.orders.send(start(supervisor, 2));
  CHECK(farm.sent.back().second.order().listen() == "127.0.0.1:70");
  farm.orders.send(start(supervisor, 3));
  CHECK(farm.sent.back().second.order().listen().empty());
}

TEST_CASE("a configure carries the whole configured farm, without settings for the next one") {
  test::SmallFarm farm;
  farm.join_all();
  auto configuration = farm.setup.prepare({"dcm.credits=4"});
  REQUIRE(configuration);
  farm.setup.configure(std::move(*configuration));
  REQUIRE(farm.setup.set({"dcm.credits=5"}).empty());
  control::Order order;
  order.command = control::Command::configure;
  farm.orders.send(order);
  const v1::Order& sent = farm.sent.back().second.order();
  CHECK(sent.farm().dcm().credits() == 4);
  CHECK(sent.sets(0) == "dcm.credits=4");
}

TEST_CASE("a start carries the identity of the run") {
  test::SmallFarm farm;
  farm.join_all();
  v1::RunIdentity identity;
  identity.add_parts()->set_kind("filter plugin");
  REQUIRE(farm.book.begin(RunNumber(2), farm.setup.of_run(RunNumber(2)), identity).empty());
  farm.orders.send(start(farm.member("dcm-0"), 2));
  REQUIRE(farm.sent.back().second.order().identity().parts_size() == 1);
  CHECK(farm.sent.back().second.order().identity().parts(0).kind() == "filter plugin");
}

TEST_CASE("orders without awaited answers have ids of their own kind, each different") {
  test::SmallFarm farm;
  farm.join_all();
  farm.orders.tell(0, {});
  farm.orders.tell(1, {});
  const std::uint64_t first = farm.sent[0].second.order().id();
  CHECK(Orders::is_tell(first));
  CHECK(farm.sent[1].second.order().id() != first);
  CHECK_FALSE(Orders::is_tell(3));
}

TEST_CASE("a supervisor is informed of removed nodes during its run, and not without one") {
  test::SmallFarm farm;
  farm.join_all();
  REQUIRE(farm.machine.set_removed(farm.member("dcm-0"), true, kSecond, farm.parts.actions));
  farm.orders.tell_who_is_out();
  CHECK(farm.sent.empty());
  farm.runs("supervisor", 1);
  farm.orders.tell_who_is_out();
  REQUIRE(farm.sent.size() == 1);
  CHECK(farm.sent[0].second.order().tell().kind() == v1::Command::DRAIN);
  CHECK(farm.sent[0].second.order().tell().nodes(0) == "dcm-0");
}
