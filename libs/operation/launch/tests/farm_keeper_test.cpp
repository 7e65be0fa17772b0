#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/config/stop_limit.hpp>
#include <weir/launch/farm_keeper.hpp>

#include <vector>

namespace weir::launch {
namespace {

using Places = std::vector<std::size_t>;
using Verdict = FarmKeeper::Verdict;

constexpr TimeNs kNow = 7 * kSecond;
constexpr DurationNs kPatience = 100 * kSecond;
constexpr std::size_t kControl = 0;
constexpr std::size_t kSupervisor = 1;
constexpr std::size_t kWriter = 2;
constexpr std::size_t kDcm = 3;

FarmKeeper keeper_of_four() {
  FarmKeeper keeper(kPatience);
  keeper.add(FarmKeeper::Kind::control);
  keeper.add(FarmKeeper::Kind::supervisor);
  keeper.add(FarmKeeper::Kind::other);
  keeper.add(FarmKeeper::Kind::other);
  return keeper;
}

TEST_CASE("a kept process that ends unasked is restarted after its wait") {
  FarmKeeper keeper = keeper_of_four();
  CHECK(keeper.ended(kDcm, true, kNow) == Verdict::starts_again);
  CHECK(keeper.turn(kNow).start.empty());
  CHECK(keeper.turn(kNow + 200 * kMillisecond).start == Places{kDcm});
  keeper.started(kDcm);
  CHECK(keeper.turn(kNow + kSecond).start.empty());
  CHECK(keeper.ended(kDcm, false, kNow + kSecond) == Verdict::starts_again);
  CHECK(keeper.turn(kNow + kSecond + 200 * kMillisecond).start.empty());
  CHECK(keeper.turn(kNow + kSecond + 400 * kMillisecond).start == Places{kDcm});
  CHECK_FALSE(keeper.everyone_over());
}

TEST_CASE("a process that waits for its restart when the farm is off is not restarted") {
  FarmKeeper keeper = keeper_of_four();
  CHECK(keeper.ended(kDcm, false, kNow) == Verdict::starts_again);
  keeper.off();
  CHECK(keeper.ended(kWriter, true, kNow) == Verdict::over);
  CHECK(keeper.ended(kSupervisor, false, kNow) == Verdict::over);
  CHECK(keeper.turn(kNow + 10 * kSecond).start.empty());
  CHECK(keeper.ended(kControl, true, kNow + 10 * kSecond) == Verdict::over);
  CHECK(keeper.everyone_over());
}

TEST_CASE("a process that still lives when run control has ended the farm is told to end, and killed") {
  FarmKeeper keeper = keeper_of_four();
  keeper.off();
  CHECK(keeper.turn(kNow).terminate.empty());
  CHECK(keeper.ended(kSupervisor, true, kNow) == Verdict::over);
  CHECK(keeper.ended(kWriter, true, kNow) == Verdict::over);
  CHECK(keeper.turn(kNow + 1000 * kSecond).terminate.empty());  // run control does it
  const TimeNs off = kNow + 1000 * kSecond;
  CHECK(keeper.ended(kControl, true, off) == Verdict::over);
  CHECK(keeper.turn(off).terminate.empty());  // it may be ending already
  FarmKeeper::Deeds deeds = keeper.turn(off + kOffGrace);
  CHECK(deeds.terminate == Places{kDcm});
  CHECK_FALSE(deeds.kill);
  deeds = keeper.turn(off + kOffPatience - 1);
  CHECK(deeds.terminate.empty());
  CHECK_FALSE(deeds.kill);
  CHECK(keeper.turn(off + kOffPatience).kill);
  CHECK_FALSE(keeper.everyone_over());
  CHECK(keeper.ended(kDcm, false, off + kOffPatience) == Verdict::over);
  CHECK(keeper.everyone_over());
}

TEST_CASE("after a signal, stopped processes are killed once no other is awaited") {
  const std::vector<std::size_t> stopped{kWriter, kDcm};
  FarmKeeper keeper = keeper_of_four();
  CHECK(keeper.turn(kNow, stopped).end.empty());  // without a signal they may be continued at any time
  keeper.signalled(kNow);
  CHECK(keeper.turn(kNow + 50 * kSecond, stopped).end.empty());  // the supervisor drains the run
  CHECK(keeper.ended(kSupervisor, true, kNow + 50 * kSecond) == Verdict::over);
  const TimeNs alone = kNow + 51 * kSecond;
  CHECK(keeper.turn(alone, stopped).end.empty());
  CHECK(keeper.turn(alone + kSecond, Places{kDcm}).end.empty());  // the writer was continued
  CHECK(keeper.turn(alone + 2 * kSecond, stopped).end.empty());
  FarmKeeper::Deeds deeds = keeper.turn(alone + 2 * kSecond + kStoppedPatience, stopped);
  CHECK(deeds.end == stopped);
  CHECK_FALSE(deeds.kill);
  for (const std::size_t process : stopped)
    CHECK(keeper.ended(process, false, alone + 5 * kSecond) == Verdict::over);
  CHECK(keeper.turn(alone + 5 * kSecond, Places{}).terminate == Places{kControl});
  CHECK(keeper.turn(alone + 6 * kSecond, Places{kControl}).end.empty());
  CHECK(keeper.turn(alone + 6 * kSecond + kStoppedPatience, Places{kControl}).end == Places{kControl});
  CHECK(keeper.ended(kControl, false, alone + 9 * kSecond) == Verdict::over);
  CHECK(keeper.turn(alone + 20 * kSecond, Places{kControl}).end.empty());
  CHECK(keeper.everyone_over());
}

TEST_CASE("run control that dies while it ends the farm is restarted for that, alone") {
  FarmKeeper keeper = keeper_of_four();
  keeper.off();
  CHECK(keeper.ended(kDcm, true, kNow) == Verdict::over);
  CHECK(keeper.ended(kControl, false, kNow) == Verdict::starts_again);
  const FarmKeeper::Deeds deeds = keeper.turn(kNow + kSecond);
  CHECK(deeds.start == Places{kControl});
  CHECK(deeds.terminate.empty());
  CHECK_FALSE(keeper.turn(kNow + 1000 * kSecond).kill);
}

TEST_CASE("a signal ends the supervisor, then the others, then run control, and after its patience all") {
  FarmKeeper keeper = keeper_of_four();
  CHECK(keeper.ended(kDcm, false, kNow) == Verdict::starts_again);
  keeper.signalled(kNow);
  FarmKeeper::Deeds deeds = keeper.turn(kNow + kSecond);
  CHECK(deeds.start.empty());
  CHECK(deeds.terminate == Places{kSupervisor});
  CHECK(keeper.turn(kNow + 2 * kSecond).terminate.empty());
  CHECK(keeper.ended(kSupervisor, true, kNow + 3 * kSecond) == Verdict::over);
  CHECK(keeper.turn(kNow + 3 * kSecond).terminate == Places{kWriter});
  CHECK_FALSE(keeper.turn(kNow + kPatience - 1).kill);
  CHECK(keeper.turn(kNow + kPatience).kill);
  CHECK(keeper.ended(kWriter, false, kNow + kPatience) == Verdict::over);
  CHECK(keeper.turn(kNow + kPatience).terminate == Places{kControl});
  CHECK(keeper.ended(kControl, false, kNow + kPatience) == Verdict::over);
  CHECK(keeper.everyone_over());
}

TEST_CASE("a second signal kills at once") {
  FarmKeeper keeper = keeper_of_four();
  keeper.signalled(kNow);
  keeper.signalled(kNow + kSecond);
  CHECK(keeper.turn(kNow + kSecond).kill);
}

TEST_CASE("a farm that is told to end may drain for as long as its file allows, and at least a minute") {
  v1::Farm farm;
  farm.mutable_run()->set_drain_timeout_s(10);
  farm.mutable_control()->set_stop_s(5);
  CHECK(drain_patience(config::stop_limit(farm)) == 60 * kSecond);
  farm.mutable_run()->set_drain_timeout_s(600);
  CHECK(drain_patience(config::stop_limit(farm)) == 620 * kSecond);
  farm.mutable_control()->set_stop_s(1800);
  CHECK(drain_patience(config::stop_limit(farm)) == 1800 * kSecond);
}

}  // namespace
TEST_CASE("the parts of a stop end before it does, and the account has time to arrive") {
  v1::Farm farm;
  farm.mutable_control()->set_stop_s(60);
  farm.mutable_run()->set_drain_timeout_s(10);
  const config::StopParts parts = config::stop_parts(config::stop_limit(farm));
  CHECK(parts.drain_ns == 40 * kSecond);
  CHECK(parts.reports_ns == 57 * kSecond);
  CHECK(config::close_patience(farm) == 10 * kSecond);
  CHECK(parts.drain_ns + config::close_patience(farm) < parts.reports_ns);
  farm.mutable_run()->set_drain_timeout_s(600);
  const config::StopParts longer = config::stop_parts(config::stop_limit(farm));
  CHECK(longer.drain_ns == 600 * kSecond);
  CHECK(longer.drain_ns + config::close_patience(farm) < longer.reports_ns);
  const config::StopParts late = config::stop_parts(2 * kSecond);
  CHECK(late.drain_ns == 0);
  CHECK(late.reports_ns == 0);
  CHECK(config::gather_patience(30 * kSecond) == 27 * kSecond);
  CHECK(config::gather_patience(2 * kSecond) == kSecond);
}

TEST_CASE("a keeper knows the processes that it keeps") {
  const auto broken = [] {
    FarmKeeper keeper = keeper_of_four();
    keeper.started(4);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: process < processes_.size()"));
}

}  // namespace weir::launch
