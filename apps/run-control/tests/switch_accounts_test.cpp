#include "../src/switch_accounts.hpp"

#include "weir_catch.hpp"

#include <string>
#include <vector>

using namespace weir;
using namespace weir::run_control;

namespace {

constexpr UtcNs kRunBegin = 100 * kSecond;
const std::vector<std::string> kOneSwitch{"daq"};

// A report of a process that started before the run.
v1::SwitchReport counts(std::uint64_t received, std::uint64_t dropped, std::uint64_t waiting_most = 0) {
  v1::SwitchReport report;
  report.set_name("daq");
  report.set_host("sw-1");
  report.set_started_ns(kSecond);
  report.set_digest("a");
  report.set_received(received);
  report.set_sent(received - dropped);
  report.set_lost(dropped);
  (*report.mutable_dropped())["queue_full"] = dropped;
  v1::SwitchReport::Ring& ring = *report.add_rings();
  ring.set_name("dcm-0");
  ring.set_frames(received - dropped);
  ring.set_dropped(dropped);
  ring.set_room(10);
  ring.set_waiting(1);
  ring.set_waiting_bytes(100);
  ring.set_waiting_most(waiting_most);
  ring.set_waiting_bytes_most(100 * waiting_most);
  return report;
}

v1::SwitchReport of_run(v1::SwitchReport report, std::uint32_t run) {
  report.set_run(run);
  return report;
}

SwitchAccounts in_run_3() {
  SwitchAccounts accounts;
  accounts.take(counts(100, 5, 9));
  accounts.begin(RunNumber(3), kRunBegin, kOneSwitch);
  return accounts;
}

}  // namespace

TEST_CASE("a switch's account has the frames of the run only, and its greatest depth in the run") {
  SwitchAccounts accounts = in_run_3();
  CHECK(accounts.account("daq").received() == 0);
  accounts.take(counts(120, 5, 9));  // has not heard of the run
  CHECK(accounts.account("daq").rings(0).waiting_most() == 1);
  accounts.take(of_run(counts(150, 6, 4), 3));
  v1::SwitchAccount account = accounts.account("daq");
  CHECK(account.received() == 50);
  CHECK(account.sent() == 49);
  CHECK(account.host() == "sw-1");
  CHECK(account.dropped().size() == 1);
  CHECK(account.dropped().at("queue_full") == 1);
  REQUIRE(account.rings_size() == 1);
  CHECK(account.rings(0).frames() == 49);
  CHECK(account.rings(0).dropped() == 1);
  CHECK(account.rings(0).waiting_most() == 4);
  CHECK(account.rings(0).waiting_bytes_most() == 400);
  CHECK(account.rings(0).room() == 10);
  accounts.end();
  accounts.begin(RunNumber(4), kRunBegin, kOneSwitch);
  account = accounts.account("daq");
  CHECK(account.received() == 0);
  CHECK(account.dropped().empty());
  CHECK(account.rings(0).waiting_most() == 1);
  CHECK(accounts.accounts(RunNumber(3)).empty());
  CHECK(accounts.accounts(RunNumber(4)).size() == 1);
}

TEST_CASE(
    "frames after the end of a run are not counted, and those before the next one are its neighbours'") {
  SwitchAccounts accounts = in_run_3();
  accounts.take(counts(150, 5));
  accounts.end();
  accounts.take(counts(1'000, 5, 8));
  CHECK(accounts.account("daq").received() == 50);
  CHECK(accounts.account("daq").rings(0).waiting_most() == 1);
  accounts.begin(RunNumber(4), kRunBegin, kOneSwitch);
  accounts.take(counts(1'001, 5));
  CHECK(accounts.account("daq").received() == 1);
}

TEST_CASE("a restarted switch counts on, and a changed table is counted without a loss of its rings") {
  SwitchAccounts accounts = in_run_3();
  accounts.take(of_run(counts(150, 7), 3));
  v1::SwitchReport changed = of_run(counts(170, 8), 3);
  changed.set_digest("b");
  changed.mutable_rings(0)->set_name("dcm-1");
  changed.mutable_rings(0)->set_dropped(1);
  accounts.take(changed);
  v1::SwitchAccount account = accounts.account("daq");
  CHECK(account.tables_changed() == 1);
  CHECK(account.restarts() == 0);
  CHECK(account.received() == 70);
  REQUIRE(account.rings_size() == 2);
  CHECK(account.rings(0).name() == "dcm-0");
  CHECK(account.rings(0).dropped() == 2);
  CHECK(account.rings(1).dropped() == 1);
  v1::SwitchReport waiting;  // for its table
  waiting.set_name("daq");
  waiting.set_host("sw-2");
  waiting.set_started_ns(2 * kRunBegin);
  accounts.take(waiting);
  v1::SwitchReport again = of_run(counts(10, 0, 2), 3);
  again.set_started_ns(2 * kRunBegin);
  again.set_digest("b");
  accounts.take(again);
  account = accounts.account("daq");
  CHECK(account.restarts() == 1);
  CHECK(account.tables_changed() == 1);
  CHECK(account.received() == 80);
  CHECK(account.dropped().at("queue_full") == 3);
  CHECK(account.host() == "sw-1");
}

TEST_CASE("a silence in the run is counted once, also one from before it") {
  SwitchAccounts accounts;
  accounts.silent("daq");  // it has never connected
  accounts.take(counts(0, 0));
  accounts.silent("daq");
  accounts.begin(RunNumber(3), kRunBegin, kOneSwitch);
  accounts.silent("daq");
  CHECK(accounts.account("daq").silences() == 1);
  accounts.take(counts(0, 0));
  CHECK(accounts.account("daq").silences() == 1);
  accounts.silent("daq");
  CHECK(accounts.account("daq").silences() == 2);
}

TEST_CASE("a switch that never connects is in the account, and one that has left the farm is not") {
  SwitchAccounts accounts = in_run_3();
  accounts.begin(RunNumber(4), kRunBegin, {"other"});
  REQUIRE(accounts.accounts(RunNumber(4)).size() == 1);
  CHECK(accounts.accounts(RunNumber(4))[0].name() == "other");
  CHECK(accounts.accounts(RunNumber(4))[0].host().empty());
}

TEST_CASE("a switch that starts in the run counts from its start, an older one from its first report") {
  SwitchAccounts accounts;
  accounts.begin(RunNumber(3), kRunBegin, kOneSwitch);
  accounts.take(counts(100, 5));
  CHECK(accounts.account("daq").received() == 0);
  SwitchAccounts others;
  others.begin(RunNumber(3), kRunBegin, kOneSwitch);
  v1::SwitchReport fresh = counts(100, 5);
  fresh.set_started_ns(kRunBegin + 1);
  others.take(fresh);
  CHECK(others.account("daq").received() == 100);
  CHECK(others.account("daq").restarts() == 0);
}

TEST_CASE("a report of an old switch, without reasons, bytes and run, is counted") {
  SwitchAccounts accounts = in_run_3();
  const auto old = [](std::uint64_t received, std::uint64_t lost, std::uint64_t waiting) {
    v1::SwitchReport report = counts(received, lost, 9);
    report.clear_dropped();
    report.mutable_rings(0)->set_waiting(waiting);
    report.mutable_rings(0)->clear_waiting_bytes();
    report.mutable_rings(0)->clear_waiting_bytes_most();
    return report;
  };
  SwitchAccounts all_old;
  all_old.take(old(100, 5, 1));
  all_old.begin(RunNumber(3), kRunBegin, kOneSwitch);
  all_old.take(old(110, 8, 6));
  all_old.take(old(120, 8, 2));
  const v1::SwitchAccount account = all_old.account("daq");
  CHECK(account.received() == 20);
  CHECK(account.dropped().at("unspecified") == 3);
  CHECK(account.rings(0).waiting_most() == 6);
  CHECK(account.rings(0).waiting_bytes_most() == 0);
}

TEST_CASE("a restarted run control counts on in the run that is on, and in no other") {
  SwitchAccounts accounts = in_run_3();
  accounts.take(of_run(counts(150, 7, 6), 3));
  v1::SwitchReport changed = of_run(counts(160, 7, 6), 3);
  changed.set_digest("b");
  accounts.take(changed);
  v1::ControlMemory memory;
  memory.set_run(3);
  memory.set_run_open(true);
  memory.set_run_begin_utc_ns(kRunBegin);
  accounts.add_to(memory);
  changed = of_run(counts(190, 8, 7), 3);
  changed.set_digest("b");
  SwitchAccounts next;
  next.recall(memory);
  CHECK(next.is_on());
  next.take(changed);
  const v1::SwitchAccount account = next.account("daq");
  CHECK(account.received() == 90);
  CHECK(account.tables_changed() == 1);
  CHECK(account.restarts() == 0);
  CHECK(account.dropped().at("queue_full") == 3);
  CHECK(account.rings(0).waiting_most() == 7);
  memory.set_run(4);
  SwitchAccounts stranger;
  stranger.recall(memory);
  CHECK_FALSE(stranger.is_on());
  accounts.end();
  v1::ControlMemory between;
  accounts.add_to(between);
  CHECK(between.switches_size() == 0);
}

TEST_CASE("an account has the rings with the most drops, then the deepest, and the number of the others") {
  SwitchAccounts accounts = in_run_3();
  v1::SwitchReport report = of_run(counts(100, 5), 3);
  for (int i = 1; i <= 40; ++i) {
    v1::SwitchReport::Ring& ring = *report.add_rings();
    ring.set_name("dcm-" + std::to_string(i));
    ring.set_waiting_most(static_cast<std::uint64_t>(i));
    ring.set_dropped(i == 7 ? 1 : 0);
  }
  accounts.take(report);
  const v1::SwitchAccount account = accounts.account("daq");
  REQUIRE(account.rings_size() == 32);
  CHECK(account.rings(0).name() == "dcm-7");
  CHECK(account.rings(1).name() == "dcm-40");
  CHECK(account.rings_left_out() == 9);
}
