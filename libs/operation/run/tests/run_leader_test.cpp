#include "weir_catch.hpp"
#include <weir/run/run_leader.hpp>
#include <weir/v1/bus.pb.h>

#include <optional>
#include <string>

namespace weir::run {
namespace {

constexpr TimeNs kNow = 7 * kSecond;

v1::Reply reply_to(const v1::Request& request, const std::string& error = {}) {
  v1::Reply reply;
  reply.set_id(request.id());
  reply.set_good(error.empty());
  reply.set_error(error);
  return reply;
}

v1::Reply view_for(const v1::Request& request, const std::string& state, const std::string& under_way = {}) {
  v1::Reply reply = reply_to(request);
  reply.mutable_view()->set_state(state);
  reply.mutable_view()->set_under_way(under_way);
  auto& node = *reply.mutable_view()->add_nodes();
  node.set_name("dcm-0");
  node.set_live(true);
  return reply;
}

v1::Reply error_for(const v1::Request& request, const std::string& reason) {
  v1::Reply reply = view_for(request, "error");
  reply.mutable_view()->set_reason(reason);
  return reply;
}

v1::Request asked(RunLeader& leader, TimeNs now) {
  std::optional<v1::Request> request = leader.next(now);
  REQUIRE(request.has_value());
  return std::move(*request);
}

// Leads one step with a command that is accepted and done at once.
void lead(RunLeader& leader, const std::string& command, const std::string& state, TimeNs now) {
  const v1::Request wish = asked(leader, now);
  REQUIRE(wish.command() == command);
  leader.take(reply_to(wish), now);
  const v1::Request look = asked(leader, now);
  REQUIRE(look.command() == "watch");
  leader.take(view_for(look, state), now);
}

void lead_into_run(RunLeader& leader, TimeNs now) {
  lead(leader, "init", "standby", now);
  lead(leader, "configure", "ready", now);
  lead(leader, "start", "running", now);
  REQUIRE(leader.failure().empty());
}

TEST_CASE("a reply that waits for hooks has their time, and a refusal by one is the failure") {
  RunLeader leader(RunNumber(12));
  lead(leader, "init", "standby", kNow);
  const v1::Request configure = asked(leader, kNow);
  v1::Reply pending = reply_to(configure);
  pending.set_good(false);
  pending.set_pending_ms(30'000);
  leader.take(pending, kNow);
  CHECK_FALSE(leader.next(kNow + 39 * kSecond).has_value());
  CHECK(leader.failure().empty());
  leader.take(reply_to(configure, "configure refused by hook voltage: module 3 is off"), kNow + 39 * kSecond);
  CHECK(leader.failure() == "configure refused by hook voltage: module 3 is off");
  RunLeader unanswered(RunNumber(13));
  const v1::Request init = asked(unanswered, kNow);
  pending = reply_to(init);
  pending.set_pending_ms(30'000);
  unanswered.take(pending, kNow);
  CHECK_FALSE(unanswered.next(kNow + 40 * kSecond).has_value());
  CHECK(unanswered.failure() == "run control does not answer");
}

TEST_CASE("a farm is led by init, configure and start, each after the previous one") {
  RunLeader leader(RunNumber(12), {{"type", "laser"}});
  const v1::Request init = asked(leader, kNow);
  CHECK(init.command() == "init");
  CHECK_FALSE(leader.next(kNow + kSecond).has_value());  // one request at a time
  leader.take(reply_to(init), kNow);
  const v1::Request look = asked(leader, kNow);
  CHECK(look.command() == "watch");
  leader.take(view_for(look, "idle", "init"), kNow);
  CHECK_FALSE(leader.next(kNow).has_value());  // it waits for the end
  const TimeNs later = kNow + 100 * kMillisecond;
  leader.take(view_for(look, "standby"), later);
  lead(leader, "configure", "ready", later);
  CHECK_FALSE(leader.started());
  const v1::Request start = asked(leader, later);
  CHECK(leader.started());  // the run may begin from now on
  CHECK(start.fields().at("type") == "laser");
  CHECK(start.command() == "start");
  CHECK(start.run() == 12);
  leader.take(reply_to(start), later);
  // The run was over before its state was seen, but it took place.
  leader.take(view_for(asked(leader, later), "ready"), later);
  CHECK(leader.led());
  CHECK_FALSE(leader.next(later).has_value());
  CHECK(leader.failure().empty());
}

TEST_CASE("what run control refuses, and a farm in error, is the failure") {
  RunLeader refused(RunNumber(1));
  refused.take(reply_to(asked(refused, kNow), "the farm is running"), kNow);
  CHECK(refused.failure() == "the farm is running");
  CHECK_FALSE(refused.next(kNow + kSecond).has_value());

  RunLeader broken(RunNumber(1));
  broken.take(reply_to(asked(broken, kNow)), kNow);
  broken.take(error_for(asked(broken, kNow), "supervisor: no port"), kNow);
  CHECK(broken.failure() == "supervisor: no port");
}

TEST_CASE("a process that does not follow is named, with the last error about it") {
  RunLeader leader(RunNumber(1));
  leader.take(reply_to(asked(leader, kNow)), kNow);
  v1::Reply view = view_for(asked(leader, kNow), "standby");
  view.mutable_view()->mutable_nodes(0)->set_inactive(true);
  auto& line = *view.mutable_view()->add_events();
  line.set_level("error");
  line.set_text("dcm-0: no memory");
  leader.take(view, kNow);
  CHECK(leader.failure() == "init was not followed by dcm-0: dcm-0: no memory");
}

TEST_CASE("run control that does not answer is a failure before the run, and ignored once it is on") {
  RunLeader silent(RunNumber(1));
  (void)asked(silent, kNow);
  (void)silent.next(kNow + 60 * kSecond);
  CHECK(silent.failure() == "run control does not answer");

  RunLeader leader(RunNumber(1));
  lead_into_run(leader, kNow);
  leader.stop("SIGINT");
  const v1::Request stop = asked(leader, kNow);
  CHECK(stop.command() == "stop");
  CHECK(stop.reason() == "SIGINT");
  CHECK_FALSE(leader.is_silent(kNow + kSecond));
  CHECK(leader.is_silent(kNow + 60 * kSecond));
  CHECK(leader.failure().empty());  // the run is on
}

TEST_CASE("a stop is repeated while the farm is in its run, and not once it is in progress") {
  RunLeader leader(RunNumber(1));
  lead_into_run(leader, kNow);
  leader.stop("no DCM is left");
  const v1::Request refused = asked(leader, kNow);
  CHECK(refused.command() == "stop");
  leader.take(reply_to(refused, "pause is under way"), kNow);
  CHECK_FALSE(leader.next(kNow + 10 * kMillisecond).has_value());  // not repeated at once
  leader.look_again();
  leader.take(view_for(asked(leader, kNow + 10 * kMillisecond), "running", "pause"), kNow);
  CHECK_FALSE(leader.next(kNow + 2 * kSecond).has_value());  // it can wait for that to end
  const v1::Request look = asked(leader, kNow + 4 * kSecond);
  leader.take(view_for(look, "paused"), kNow + 4 * kSecond);
  const v1::Request taken = asked(leader, kNow + 4 * kSecond);
  CHECK(taken.command() == "stop");
  leader.take(reply_to(taken), kNow + 4 * kSecond);
  CHECK_FALSE(leader.next(kNow + 6 * kSecond).has_value());
  leader.take(view_for(look, "paused", "stop"), kNow + 6 * kSecond);
  CHECK_FALSE(leader.next(kNow + 6 * kSecond).has_value());
}

TEST_CASE("a restarted run control is asked again, also for a stop that it does not know") {
  RunLeader leader(RunNumber(1));
  lead_into_run(leader, kNow);
  leader.stop("SIGINT");
  const v1::Request lost = asked(leader, kNow);
  REQUIRE(lost.command() == "stop");
  leader.control_again();
  const v1::Request again = asked(leader, kNow + kSecond);
  CHECK(again.command() == "stop");
  leader.take(reply_to(again), kNow + kSecond);
  const v1::Request look = asked(leader, kNow + kSecond);
  CHECK(look.command() == "watch");
  leader.take(view_for(look, "running", "stop"), kNow + kSecond);
  CHECK_FALSE(leader.next(kNow + 2 * kSecond).has_value());
}

TEST_CASE("a farm that is reset, or in error, is in its run no more") {
  RunLeader leader(RunNumber(1));
  CHECK_FALSE(leader.led());
  lead_into_run(leader, kNow);
  CHECK(leader.led());
  CHECK_FALSE(leader.next(kNow).has_value());
  const TimeNs now = kNow + 4 * kSecond;
  const v1::Request look = asked(leader, now);
  leader.take(view_for(look, "paused"), now);
  CHECK(leader.lost().empty());
  leader.take(view_for(look, "ready"), now);  // the run is over
  CHECK(leader.lost().empty());
  leader.take(view_for(look, "running", "reset"), now);
  CHECK(leader.lost() == "the farm was reset");

  RunLeader broken(RunNumber(1));
  lead_into_run(broken, kNow);
  broken.take(error_for(asked(broken, now), "writer-0 is essential and did not return"), now);
  CHECK(broken.lost() == "the farm is in error: writer-0 is essential and did not return");
}

TEST_CASE("removed processes are known from a request made after a process' end") {
  RunLeader leader(RunNumber(1));
  lead_into_run(leader, kNow);
  leader.take(view_for(asked(leader, kNow + 4 * kSecond), "running"), kNow + 4 * kSecond);
  const TimeNs ended = kNow + 4100 * kMillisecond;  // long before the next request
  CHECK_FALSE(leader.next(ended).has_value());
  CHECK(leader.looked_ns() < ended);
  leader.look_again();
  const v1::Request look = asked(leader, ended);
  CHECK(leader.looked_ns() < ended);  // requested, and not answered
  v1::Reply view = view_for(look, "running");
  view.mutable_view()->mutable_nodes(0)->set_excluded(true);
  leader.take(view, ended + kMillisecond);
  CHECK(leader.looked_ns() == ended);
  CHECK(leader.taken_out("dcm-0"));
  CHECK_FALSE(leader.taken_out("dcm-1"));
  leader.take(view_for(look, "running"), ended + kSecond);  // added again, as reported without a request
  CHECK_FALSE(leader.taken_out("dcm-0"));
  CHECK(leader.was_taken_out("dcm-0"));
  leader.starts_again("dcm-0");
  CHECK_FALSE(leader.was_taken_out("dcm-0"));
  CHECK_FALSE(leader.was_taken_out("dcm-1"));
}

TEST_CASE("replies to other requests are passed over") {
  RunLeader leader(RunNumber(1));
  const v1::Request init = asked(leader, kNow);
  v1::Reply other = reply_to(init, "no");
  other.set_id(init.id() + 7);
  leader.take(other, kNow);
  CHECK(leader.failure().empty());
  CHECK_FALSE(leader.next(kNow).has_value());
}

}  // namespace
}  // namespace weir::run
