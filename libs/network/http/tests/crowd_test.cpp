#include "crowd.hpp"

#include "broken_invariant.hpp"
#include "weir_catch.hpp"

#include <vector>

using weir::http::Crowd;
using weir::http::Doing;

TEST_CASE("the oldest connection without a request makes room, and one with a request stays") {
  Crowd crowd;
  const auto operators = crowd.enter("10.0.0.1");
  crowd.turn_to(operators, Doing::busy);
  crowd.turn_to(operators, Doing::idle);
  std::vector<Crowd::Id> strangers;
  for (int i = 0; i < 5; ++i) strangers.push_back(crowd.enter("10.0.0.9"));
  for (int i = 0; i < 4; ++i) {
    CHECK(crowd.makes_room() == strangers[static_cast<std::size_t>(i)]);
    crowd.leave(strangers[static_cast<std::size_t>(i)]);
  }
  CHECK(crowd.size() == 2);
}

TEST_CASE("idle connections leave half of the places to new ones") {
  Crowd crowd;
  std::vector<Crowd::Id> idle;
  for (int i = 0; i < 6; ++i) {
    idle.push_back(crowd.enter("a"));
    crowd.turn_to(idle.back(), Doing::idle);
  }
  for (int i = 0; i < 4; ++i) (void)crowd.enter("b");
  CHECK(crowd.makes_room() == idle[0]);
  crowd.turn_to(idle[0], Doing::busy);  // sends another request
  CHECK(crowd.makes_room() == idle[1]);
}

TEST_CASE("a client that reads no response makes room if none is idle, and event streams never do") {
  Crowd crowd;
  CHECK_FALSE(crowd.makes_room().has_value());
  const auto listener = crowd.enter("a");
  crowd.turn_to(listener, Doing::listening);
  CHECK_FALSE(crowd.makes_room().has_value());
  const auto slow = crowd.enter("b");
  crowd.turn_to(slow, Doing::busy);
  CHECK(crowd.makes_room() == slow);
}

TEST_CASE("a new listener is made room by the address that has most, and by no other") {
  Crowd crowd;
  const auto listens = [&](const char* peer) {
    const auto id = crowd.enter(peer);
    crowd.turn_to(id, Doing::listening);
    return id;
  };
  (void)listens("good");
  const auto first = listens("greedy");
  (void)listens("greedy");
  CHECK(crowd.listener_makes_room("good") == first);
  CHECK(crowd.listener_makes_room("other") == first);
  CHECK_FALSE(crowd.listener_makes_room("greedy").has_value());
}

TEST_CASE("a connection with an event stream does not take requests again") {
  const auto broken = [] {
    Crowd crowd;
    const auto id = crowd.enter("10.0.0.1");
    crowd.turn_to(id, Doing::listening);
    crowd.turn_to(id, Doing::idle);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: found->second.doing != Doing::listening"));
}
