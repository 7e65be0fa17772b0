#include "one_process.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <sys/socket.h>
#include <thread>

namespace {

using namespace weir;
using namespace weir::integration_test;
using system_test::DummyCheck;
using system_test::StoredRun;

void check_run(const std::optional<v1::RunSummary>& account, const TemporaryFolder& folder,
               std::uint64_t sources) {
  REQUIRE(account.has_value());
  INFO(account->ledger_text());
  CHECK(account->balanced());
  CHECK(!account->faults());
  CHECK(account->counters().at("stored") == 1000);
  const StoredRun run(folder / "out");
  CHECK(run.problems() == "");
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments == 1000 * sources);
}

// Breaks one of this process' connections, from underneath. Both ends are here, and both live on.
void break_a_connection(std::mt19937_64& random) {
  std::vector<int> sockets;
  constexpr int kDescriptorsMax = 1024;
  for (int fd = 3; fd < kDescriptorsMax; ++fd) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0) sockets.push_back(fd);
  }
  if (!sockets.empty()) ::shutdown(sockets[random() % sockets.size()], SHUT_RDWR);
}

// Every node on one loop, so on one thread.
std::optional<v1::RunSummary> run_on_one_loop(const Farm& farm,
                                              const std::function<void(TimeNs)>& besides = {}) {
  transport::Loop loop(node::socket_policy(farm.farm));
  Hosted supervisor(farm, "supervisor", {"127.0.0.1", 0}, loop);
  Watcher watcher(farm, supervisor.listens_at());
  std::vector<std::unique_ptr<Hosted>> others;
  for (const std::string& name : names_but_supervisor(farm)) {
    others.push_back(std::make_unique<Hosted>(farm, name, supervisor.listens_at(), loop));
  }
  const TimeNs end = loop.now_ns() + kPatience;
  const auto done = [&] {
    return watcher.account() && supervisor.node().finished() &&
           std::all_of(others.begin(), others.end(),
                       [](const auto& other) { return other->node().finished(); });
  };
  while (!done() && loop.now_ns() < end) {
    loop.run_once(
        [&](TimeNs now_ns) {
          if (!supervisor.node().finished()) supervisor.node().pass(now_ns);
          for (const auto& other : others) {
            if (!other->node().finished()) other->node().pass(now_ns);
          }
          watcher.pass(loop, now_ns);
          if (besides) besides(now_ns);
        },
        kWait);
  }
  CHECK(done());
  return watcher.account();
}

// Runs a loop's node to its end, then sends the remaining messages.
void run_to_end(transport::Loop& loop, node::Node& node, const std::function<void(TimeNs)>& besides = {}) {
  const TimeNs end = loop.now_ns() + kPatience;
  while (!node.finished() && loop.now_ns() < end) {
    loop.run_once(
        [&](TimeNs now_ns) {
          node.pass(now_ns);
          if (besides) besides(now_ns);
        },
        kWait);
  }
  while (loop.unsent_bytes() > 0 && loop.now_ns() < end) loop.run_once([](TimeNs) {}, kWait);
}

}  // namespace

TEST_CASE("a whole farm on one thread stores 1000 slices and its ledger balances") {
  const TemporaryFolder folder;
  const Farm farm = make_farm(folder,
                              "source: {kind: dummy, distribution: exponential, size_bytes: 800}\n"
                              "readout: {count: 3, sources_per_readout: 2}\n"
                              "dcm: {count: 2}\n"
                              "filter: {plugin: accept-all}\n");
  check_run(run_on_one_loop(farm), folder, 6);
}

TEST_CASE("connections that break between live nodes cost no slice, and none is stored twice") {
  const std::uint64_t seed = GENERATE(1U, 2U, 3U, 4U);
  CAPTURE(seed);
  const TemporaryFolder folder;
  const Farm farm = make_farm(folder,
                              "trigger: {mode: rate, rate_hz: 500}\n"
                              "source: {kind: dummy, distribution: exponential, size_bytes: 800}\n"
                              "readout: {count: 2, sources_per_readout: 2}\n"
                              "dcm: {count: 2, deadline_ms: 5000, grace_ms: 5000}\n"
                              "writer: {count: 2, sync_interval_ms: 50}\n"
                              "network: {reconnect_ms: 20}\n"
                              "filter: {plugin: accept-all}\n");
  std::mt19937_64 random(seed);
  constexpr DurationNs kBetween = 40 * kMillisecond;
  constexpr int kBreaks = 40;
  TimeNs next = 0;
  int broken = 0;
  const auto account = run_on_one_loop(farm, [&](TimeNs now_ns) {
    if (next == 0) next = now_ns + 10 * kBetween;
    if (now_ns < next || broken == kBreaks) return;
    next = now_ns + kBetween;
    ++broken;
    break_a_connection(random);
  });
  CHECK(broken > kBreaks / 4);  // the run may be over before the last breaks
  REQUIRE(account.has_value());
  INFO(account->ledger_text());
  CHECK(account->balanced());
  CHECK(account->counters().at("triggered") == 1000);
  const StoredRun run(folder / "out");
  CHECK(run.problems() == "");
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(account->counters().at("stored") == 1000);
  CHECK(check.slices == 1000);
}

TEST_CASE("connections that break in push runs cost no slice, and no announced fragment") {
  const std::uint64_t seed = GENERATE(1U, 2U, 3U);
  CAPTURE(seed);
  const TemporaryFolder folder;
  const Farm farm = make_farm(folder,
                              "trigger: {mode: clock, slice_ms: 2}\n"
                              "source: {kind: dummy, distribution: exponential, size_bytes: 800}\n"
                              "readout: {count: 4, sources_per_readout: 2, barrel_group: 2}\n"
                              "supervisor: {lease_ms: 60000}\n"
                              "dcm: {count: 2, deadline_ms: 20000, grace_ms: 20000, push_wait_ms: 50}\n"
                              "writer: {count: 2, sync_interval_ms: 50}\n"
                              "network: {reconnect_ms: 20}\n"
                              "filter: {plugin: accept-all}\n",
                              "push");
  std::mt19937_64 random(seed);
  constexpr DurationNs kBetween = 40 * kMillisecond;
  constexpr int kBreaks = 40;
  TimeNs next = 0;
  int broken = 0;
  const auto account = run_on_one_loop(farm, [&](TimeNs now_ns) {
    if (next == 0) next = now_ns + 10 * kBetween;
    if (now_ns < next || broken == kBreaks) return;
    next = now_ns + kBetween;
    ++broken;
    break_a_connection(random);
  });
  CHECK(broken > kBreaks / 4);
  REQUIRE(account.has_value());
  INFO(account->ledger_text());
  CHECK(account->balanced());
  CHECK(account->counters().at("triggered") == 1000);
  CHECK(account->counters().at("stored") == 1000);
  const StoredRun run(folder / "out");
  CHECK(run.problems() == "");
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments + check.missing == 1000 * 8);
  // An announcement that was lost with its connection is of a slice that this readout never makes.
  std::uint64_t other = 0;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentRecord& record = slice.fragment(i).record;
      other +=
          record.status == FragmentStatus::missing && record.reason != MissingReason::not_produced ? 1 : 0;
    }
  });
  CHECK(other == 0);
}

TEST_CASE("a whole farm with a thread for each node stores 1000 slices and its ledger balances") {
  const TemporaryFolder folder;
  const Farm farm = make_farm(folder,
                              "source: {kind: dummy, distribution: exponential, size_bytes: 800}\n"
                              "readout: {count: 2, sources_per_readout: 3}\n"
                              "dcm: {count: 2, processing_units: 2, range_bytes: 1000}\n"
                              "writer: {count: 2}\n"
                              "filter: {plugin: accept-all}\n");
  transport::Loop loop(node::socket_policy(farm.farm));
  Hosted supervisor(farm, "supervisor", {"127.0.0.1", 0}, loop);
  std::atomic<int> failed{0};
  std::vector<std::jthread> threads;
  for (const std::string& name : names_but_supervisor(farm)) {
    threads.emplace_back([&farm, &failed, name, at = supervisor.listens_at()] {
      try {
        transport::Loop own(node::socket_policy(farm.farm));
        Hosted hosted(farm, name, at, own);
        run_to_end(own, hosted.node());
        if (!hosted.node().failure().empty()) ++failed;
      } catch (const std::exception&) {
        ++failed;
      }
    });
  }
  Watcher watcher(farm, supervisor.listens_at());
  run_to_end(loop, supervisor.node(), [&](TimeNs now_ns) { watcher.pass(loop, now_ns); });
  for (int i = 0; i < 100 && !watcher.account(); ++i) {
    loop.run_once([&](TimeNs now_ns) { watcher.pass(loop, now_ns); }, kWait);
  }
  threads.clear();
  CHECK(failed == 0);
  check_run(watcher.account(), folder, 6);
}
