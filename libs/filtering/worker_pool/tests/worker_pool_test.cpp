#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/worker_pool/worker_pool.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::worker_pool {
namespace {

constexpr TimeNs kStart = kSecond;

// A pool with workers that a test plays. Results are published in order.
class Bench {
 public:
  explicit Bench(std::uint32_t workers, std::uint32_t spares = 1, std::uint32_t slots = 8)
      : pool(settings(workers, spares, slots)) {
    pass();
    for (Seat seat = 0; seat < pool.seats(); ++seat) pool.started(seat);
    pass();
  }

  static PoolSettings settings(std::uint32_t workers, std::uint32_t spares, std::uint32_t slots) {
    PoolSettings made;
    made.workers = workers;
    made.spares = spares;
    made.lane_slots = slots;
    made.timeout_ns = 500 * kMillisecond;
    return made;
  }

  void pass(DurationNs step = kMillisecond) {
    out.clear();
    now += step;
    pool.pass(now, out);
    note();
  }
  void submit(Token token, std::uint32_t earlier = 0) {
    out.clear();
    pool.submit(token, earlier, out);
    note();
  }
  // The worker begins its next slices and finishes some.
  void work(Seat seat, std::uint64_t begun, std::uint64_t done, bool more = false) {
    out.clear();
    const std::uint64_t news = pool.observe(seat, begun, done, out);
    for (std::uint64_t i = 0; i < news; ++i) {
      if (const auto token = pool.returned(seat, more, more, kMicrosecond)) results.push_back(*token);
    }
    note();
  }
  void dies(Seat seat, EndKind kind = EndKind::signal) {
    out.clear();
    pool.ended(seat, {kind, "signal 11\nframe"}, now, out);
    note();
  }
  // Restarts ended workers.
  void restart() {
    pass(200 * kMillisecond);
    for (Seat seat = 0; seat < pool.seats(); ++seat) pool.started(seat);
    pass();
  }
  [[nodiscard]] std::vector<Token> lent_to(Seat seat) const {
    std::vector<Token> tokens;
    for (const auto& lend : lends) {
      if (lend.seat == seat) tokens.push_back(lend.token);
    }
    return tokens;
  }
  void note() {
    lends.insert(lends.end(), out.lend.begin(), out.lend.end());
    kills.insert(kills.end(), out.kill.begin(), out.kill.end());
    for (const auto& one : out.poison) poison.push_back(one.token);
    restarted.insert(restarted.end(), out.restarted.begin(), out.restarted.end());
    for (const auto& one : out.kills) reported += one.number;
    CHECK(pool.broken_invariant() == "");
  }

  WorkerPool pool;
  PoolActions out;
  TimeNs now = kStart;
  std::vector<PoolActions::Lend> lends;
  std::vector<PoolActions::Kill> kills;
  std::vector<Token> results;
  std::vector<Token> poison;
  std::vector<Token> restarted;
  std::uint32_t reported = 0;
};

TEST_CASE("worker pool: slices go to the workers that have fewest, and none to the spare") {
  Bench bench(2);
  for (Token token = 0; token < 4; ++token) bench.submit(token);
  bench.pass();
  CHECK(bench.lent_to(0) == std::vector<Token>{0});  // one each, until it is known how long they take
  CHECK(bench.lent_to(1) == std::vector<Token>{1});
  bench.work(0, 1, 1);
  bench.pass();
  CHECK(bench.results == std::vector<Token>{0});
  CHECK(bench.lent_to(0) == std::vector<Token>{0, 2});
  CHECK(bench.lent_to(2).empty());
}

TEST_CASE(
    "worker pool: the slice in process() is tried again in the spare, and is poison after the second kill") {
  Bench bench(1);
  bench.submit(7);
  bench.pass();
  bench.work(0, 1, 0);
  bench.dies(0);
  CHECK(bench.reported == 1);
  CHECK(bench.poison.empty());
  bench.pass();
  CHECK(bench.lent_to(1) == std::vector<Token>{7});
  bench.work(1, 1, 0);
  bench.dies(1);
  CHECK(bench.reported == 2);
  CHECK(bench.poison == std::vector<Token>{7});
  CHECK(bench.out.poison.front().text == "signal 11\nframe");
  CHECK(bench.pool.in_pool() == 0);
  CHECK(bench.pool.ends(EndKind::signal) == 2);
}

TEST_CASE("worker pool: when no slice waits for a fresh worker, as many take slices as are configured") {
  Bench bench(2);
  const auto takers = [&] {
    std::set<Seat> seats;
    for (const auto& lend : bench.lends) seats.insert(lend.seat);
    return seats.size();
  };
  bench.submit(7);
  bench.submit(8);
  bench.pass();
  for (const Seat seat : {0U, 1U}) bench.work(seat, 1, 0);
  for (const Seat seat : {0U, 1U}) bench.dies(seat);
  bench.pass();  // both slices wait for a fresh worker; the spare gets one of them
  CHECK(bench.lent_to(2).size() == 1);
  bench.restart();  // the other one gets a restarted worker, beside which a third may take slices
  bench.work(2, 1, 1);
  for (const Seat seat : {0U, 1U}) {
    if (bench.lent_to(seat).size() == 2) bench.work(seat, 1, 1);
  }
  CHECK(bench.results.size() == 2);
  bench.pass();
  for (const auto& kill : std::vector(bench.kills)) bench.dies(kill.seat);
  bench.restart();
  bench.lends.clear();
  for (Token token = 100; token < 110; ++token) bench.submit(token);
  bench.pass();
  CHECK(takers() == 2);
  CHECK(bench.pool.restarts() == 2);
}

// Both workers take too long, one of them takes long to die, and meanwhile the spares have had slices.
TEST_CASE("worker pool: a slice that needs a fresh worker gets one, though as many as may be take slices") {
  Bench bench(2, 2);
  bench.submit(7);
  bench.submit(8);
  bench.pass();
  for (const Seat seat : {0U, 1U}) bench.work(seat, 1, 0);
  for (int i = 0; i < 7; ++i) bench.pass(100 * kMillisecond);
  REQUIRE(bench.kills.size() >= 2);
  bench.submit(9);
  bench.submit(10);
  bench.pass();
  for (const Seat seat : {2U, 3U}) {
    REQUIRE(bench.lent_to(seat).size() == 1);
    bench.work(seat, 1, 1);
  }
  bench.dies(0);
  bench.restart();
  REQUIRE(bench.lent_to(0) == std::vector<Token>{7, 7});
  bench.work(0, 1, 1);
  bench.dies(1);
  for (Seat seat = 0; seat < bench.pool.seats(); ++seat) {
    bench.restart();
    for (const auto& kill : std::exchange(bench.kills, {})) {
      if (kill.seat != 1 && !bench.pool.is_ready(kill.seat) && bench.pool.is_running(kill.seat))
        bench.dies(kill.seat);
    }
  }
  CHECK(std::count_if(bench.lends.begin(), bench.lends.end(),
                      [](const auto& lend) { return lend.token == 8; }) == 2);
}

TEST_CASE("worker pool: kills of earlier attempts count") {
  Bench bench(1);
  bench.submit(7, 1);
  bench.pass();
  bench.work(0, 1, 0);
  bench.dies(0);
  CHECK(bench.poison == std::vector<Token>{7});
}

TEST_CASE(
    "worker pool: published results are kept, and slices that were not begun go elsewhere without blame") {
  Bench bench(1);
  bench.submit(0);
  bench.pass();
  bench.work(0, 1, 1);
  for (Token token = 1; token < 5; ++token) bench.submit(token);
  bench.pass();
  for (std::uint64_t n = 2; bench.lent_to(0).size() < 5; ++n) {
    bench.work(0, n, n);
    bench.pass();
  }
  const std::uint64_t lent = bench.lent_to(0).size();
  bench.work(0, lent, lent - 1);
  bench.dies(0, EndKind::exit);
  bench.restart();
  CHECK(bench.lent_to(1) == std::vector<Token>{4});  // the blamed one, alone
  CHECK(bench.results == std::vector<Token>{0, 1, 2, 3});
  CHECK(bench.reported == 1);
}

TEST_CASE("worker pool: memory that runs out blames nothing until the slice is repeated alone") {
  Bench bench(1);
  bench.submit(3);
  bench.pass();
  bench.work(0, 1, 0);
  bench.dies(0, EndKind::memory);
  CHECK(bench.reported == 0);
  bench.pass();
  bench.work(1, 1, 0);
  bench.dies(1, EndKind::memory);
  CHECK(bench.reported == 2);
  CHECK(bench.poison == std::vector<Token>{3});

  bench.restart();
  bench.submit(4);
  bench.pass();
  const Seat seat = bench.lends.back().seat;
  bench.work(seat, 1, 0);
  bench.dies(seat, EndKind::memory);  // an earlier slice's leak
  bench.pass();
  const Seat other = bench.lends.back().seat;
  CHECK(other != seat);
  bench.work(other, 1, 1);
  CHECK(bench.results == std::vector<Token>{4});
  CHECK(bench.reported == 2);
}

TEST_CASE(
    "worker pool: a batch that ends its worker is repeated slice by slice, and blames only what fails "
    "alone") {
  Bench bench(1, 1, 16);
  bench.submit(100);
  bench.pass();
  bench.work(0, 1, 1);
  for (std::uint64_t n = 2; n < 60; ++n) {  // short slices: several are lent at a time
    bench.submit(100 + n);
    bench.pass();
    bench.work(0, n, n);
  }
  bench.results.clear();
  for (Token token = 0; token < 3; ++token) bench.submit(token);
  bench.pass();
  REQUIRE(bench.lent_to(0).back() == 2);
  bench.work(0, 62, 59);
  bench.dies(0);
  CHECK(bench.reported == 0);
  std::map<Seat, std::uint64_t> before;  // slices lent to workers of a seat that have ended
  before[0] = bench.lent_to(0).size();
  for (int round = 0; bench.results.size() + bench.poison.size() < 3; ++round) {
    REQUIRE(round < 10);
    bench.restart();
    const PoolActions::Lend last = bench.lends.back();
    const std::uint64_t n = bench.lent_to(last.seat).size() - before[last.seat];
    bench.work(last.seat, n, last.token == 1 ? n - 1 : n);
    if (last.token != 1) continue;
    bench.dies(last.seat);
    before[last.seat] += n;
  }
  CHECK(bench.poison == std::vector<Token>{1});
  CHECK(bench.reported == 2);
}

TEST_CASE(
    "worker pool: a slice over its time is ended softly, then hard, and a DCM that was stalled itself blames "
    "nothing") {
  Bench bench(1);
  bench.submit(1);
  bench.pass();
  bench.work(0, 1, 0);
  bench.pass(10 * kSecond);  // this process was stopped
  CHECK(bench.kills.empty());
  for (int i = 0; i < 6; ++i) bench.pass(100 * kMillisecond);
  REQUIRE(bench.kills.size() == 1);
  CHECK_FALSE(bench.kills[0].hard);
  bench.pass(250 * kMillisecond);
  REQUIRE(bench.kills.size() == 2);
  CHECK(bench.kills[1].hard);
  CHECK(bench.pool.in_pool() == 1);
  CHECK(bench.lent_to(1).empty());  // its blocks stay with the worker that has not ended
  bench.pass(6 * kSecond);
  CHECK(bench.out.unkillable == std::vector<Seat>{0});
  bench.dies(0);
  CHECK(bench.pool.ends(EndKind::timeout) == 1);
  bench.pass();
  CHECK(bench.lent_to(1) == std::vector<Token>{1});
}

TEST_CASE(
    "worker pool: a slice that was finished just before the signal is not blamed, nor is the next one") {
  Bench bench(1);
  for (Token token = 0; token < 40; ++token) {
    bench.submit(token);
    bench.pass();
    bench.work(0, token + 1, token + 1);
  }
  bench.submit(40);
  bench.submit(41);
  bench.pass();
  bench.work(0, 41, 40);
  for (int i = 0; i < 6; ++i) bench.pass(100 * kMillisecond);
  REQUIRE(bench.kills.size() == 1);
  bench.work(0, 42, 41);  // it went on
  bench.dies(0);
  CHECK(bench.reported == 0);
  CHECK(bench.results.back() == 40);
  bench.pass();
  CHECK(bench.lends.back().token == 41);
}

TEST_CASE("worker pool: a lane with impossible counters ends its worker, and no slice is blamed for sure") {
  for (const auto& [begun, done] : {std::pair<std::uint64_t, std::uint64_t>{5, 1}, {0, 1}, {1, 2}}) {
    Bench bench(1);
    bench.submit(1);
    bench.pass();
    bench.work(0, begun, done);
    REQUIRE(bench.kills.size() == 1);
    CHECK(bench.kills[0].hard);
    CHECK(bench.results.empty());
    bench.dies(0);
    CHECK(bench.pool.ends(EndKind::corrupt) == 1);
    bench.pass();
    CHECK(bench.lent_to(1) == std::vector<Token>{1});
  }
}

TEST_CASE(
    "worker pool: a step goes to the worker that holds the state, and begins at step 0 if that has ended") {
  Bench bench(2);
  bench.submit(1);
  bench.submit(2);
  bench.pass();
  bench.work(0, 1, 1, true);
  bench.work(1, 1, 1, true);
  bench.submit(2);
  bench.pass();
  CHECK(bench.lent_to(1) == std::vector<Token>{2, 2});
  bench.dies(0);
  bench.submit(1);
  CHECK(bench.restarted == std::vector<Token>{1});
  CHECK(bench.pool.in_pool() == 1);
  bench.submit(1);
  bench.pass();
  CHECK(bench.lends.back().token == 1);
  CHECK(bench.reported == 0);

  bench.work(1, 2, 1);
  bench.dies(1);  // in the second step: blamed, and from step 0 on
  CHECK(bench.restarted == std::vector<Token>{1, 2});
  CHECK(bench.reported == 1);
}

TEST_CASE("worker pool: three ends of workers right after a step of a slice make it poison") {
  Bench bench(1);
  const auto end_after_step = [&](std::uint32_t i) {
    bench.lends.clear();
    bench.submit(1);  // step 0
    bench.pass();
    REQUIRE(bench.lends.size() == 1);
    const Seat seat = bench.lends.back().seat;
    bench.work(seat, 1, 1, true);
    // The step that comes next waits for the worker, or for data.
    const bool waits = i % 2 == 0;
    if (waits) bench.submit(1);
    CHECK(bench.poison.empty());
    bench.dies(seat, EndKind::exit);
    if (!waits) bench.submit(1);
    for (int second = 0; second < 10; ++second) bench.restart();
  };
  for (std::uint32_t i = 1; i <= WorkerPool::kEndsAfterStepMax; ++i) end_after_step(i);
  CHECK(bench.poison == std::vector<Token>{1});
  CHECK(bench.restarted.size() == WorkerPool::kEndsAfterStepMax - 1);
  CHECK(bench.pool.in_pool() == 0);
  CHECK(bench.reported == 0);
  // Another slice under this token has no record.
  bench.poison.clear();
  end_after_step(1);
  CHECK(bench.poison.empty());
}

TEST_CASE("worker pool: dropping the state of other slices does not hide which step was the last") {
  Bench bench(1, 0);
  std::uint32_t ends = 0;
  while (bench.poison.empty() && ends < 2 * WorkerPool::kIdleEndsMax) {
    bench.submit(2);
    bench.pass();
    bench.work(0, 1, 1, true);
    bench.submit(1);
    bench.pass();
    bench.work(0, 2, 2, true);
    bench.pool.forget(2);
    bench.pass();
    REQUIRE(bench.lends.back().kind == LendKind::forget);
    bench.work(0, 3, 3);
    bench.dies(0, EndKind::exit);
    ++ends;
    bench.submit(1);
    bench.pass(10 * kSecond);
    bench.pool.started(0);
  }
  CHECK(ends == WorkerPool::kEndsAfterStepMax);
  CHECK(bench.poison == std::vector<Token>{1});
}

TEST_CASE("worker pool: an end while a state is dropped counts as one between the steps of the others") {
  Bench bench(1, 0);
  std::uint32_t ends = 0;
  while (bench.poison.empty() && ends < 2 * WorkerPool::kIdleEndsMax) {
    for (const Token token : {1U, 2U}) bench.submit(token);
    bench.pass();
    for (std::uint64_t done : {1U, 2U}) {
      bench.work(0, done, done, true);
      bench.pass();
    }
    bench.pool.forget(2);
    bench.pass();
    bench.work(0, 3, 2);
    bench.dies(0, EndKind::exit);
    ++ends;
    bench.submit(1);
    bench.pass(10 * kSecond);
    bench.pool.started(0);
  }
  CHECK(ends == WorkerPool::kIdleEndsMax);
  CHECK(bench.poison == std::vector<Token>{1});
  CHECK(bench.reported == 0);
}

TEST_CASE(
    "worker pool: thirty ends between the steps of a slice make it poison, though another step was the "
    "last") {
  Bench bench(1, 0);
  std::uint32_t ends = 0;
  while (bench.poison.empty() && ends < 2 * WorkerPool::kIdleEndsMax) {
    bench.submit(1);
    bench.pass();
    bench.work(0, 1, 1, true);
    bench.submit(100 + ends);
    bench.pass();
    bench.work(0, 2, 2);
    bench.dies(0, EndKind::exit);
    ++ends;
    bench.submit(1);
    bench.pass(10 * kSecond);
    bench.pool.started(0);
  }
  CHECK(ends == WorkerPool::kIdleEndsMax);
  CHECK(bench.poison == std::vector<Token>{1});
  CHECK(bench.restarted.size() == WorkerPool::kIdleEndsMax - 1);
  CHECK(bench.results.size() == 2 * WorkerPool::kIdleEndsMax);
  CHECK(bench.reported == 0);
}

TEST_CASE(
    "worker pool: a batch that ends its worker later is repeated slice by slice, and one slice is poison") {
  constexpr Token kGuilty = 1;  // leaves behind what ends its worker
  constexpr Token kInnocent = 2;
  Bench bench(1, 0, 16);
  std::uint32_t ends = 0;
  std::uint64_t done = 0;
  std::size_t taken = 0;  // of bench.lends
  const auto do_batch = [&] {
    bench.pass();
    std::vector<Token> batch;
    for (; taken < bench.lends.size(); ++taken) batch.push_back(bench.lends[taken].token);
    const bool ends_worker = std::ranges::count(batch, kGuilty) > 0;
    done += batch.size();
    bench.work(0, done, done, ends_worker);
    if (!ends_worker) return;
    bench.dies(0, EndKind::exit);
    ++ends;
    done = 0;
    for (const Token token : batch) bench.submit(token);
    bench.pass(10 * kSecond);
    bench.pool.started(0);
  };
  bench.restarted = {kGuilty, kInnocent};
  for (Token other = 100; bench.poison.empty() && ends < 2 * WorkerPool::kIdleEndsMax;) {
    for (int i = 0; i < 10; ++i) {  // short slices: then several are lent at a time
      bench.submit(other++);
      do_batch();
    }
    for (const Token token : std::exchange(bench.restarted, {})) bench.submit(token);
    do_batch();
  }
  CHECK(ends == 1 + WorkerPool::kEndsAfterStepMax);  // in the batch, and alone
  CHECK(bench.poison == std::vector<Token>{kGuilty});
  CHECK(std::ranges::count(bench.results, kInnocent) == 2);
  CHECK(bench.reported == 0);
}

TEST_CASE("worker pool: state that is no longer needed is dropped in its worker") {
  Bench bench(1);
  bench.submit(1);
  bench.pass();
  bench.work(0, 1, 1, true);
  bench.pool.forget(1);
  bench.pass();
  CHECK(bench.lends.back().kind == LendKind::forget);
  bench.work(0, 2, 2);
  bench.submit(1);  // another slice under this token
  CHECK(bench.restarted.empty());
}

TEST_CASE("worker pool: a forget goes before any later step, also while a slice is alone in the worker") {
  Bench bench(2, 0);
  const auto finish = [&bench](Seat seat, bool more = false) {
    const std::uint64_t lent = bench.lent_to(seat).size();
    bench.work(seat, lent, lent, more);
  };
  for (Token token = 100; token < 200; token += 2) {  // then the pool knows that slices are short
    bench.submit(token);
    bench.submit(token + 1);
    bench.pass();
    finish(0);
    finish(1);
  }
  bench.submit(1);
  bench.pass();
  REQUIRE(bench.lends.back().seat == 0);
  finish(0, true);
  for (Token token = 8; token < 12; ++token) bench.submit(token);
  bench.pass();
  finish(0);
  const std::uint64_t lent = bench.lent_to(1).size();
  bench.work(1, lent, lent - 2);
  bench.dies(1);
  bench.pass();
  REQUIRE(bench.lends.back().seat == 0);  // one of the two, alone
  bench.pool.forget(1);
  bench.submit(1);  // another slice under this token
  bench.pass();
  CHECK(bench.lends.back().kind == LendKind::forget);
  CHECK(bench.lends.back().token == 1);
  CHECK(bench.lends.back().seat == 0);
  finish(0);
  bench.pass();
  CHECK(bench.lends.back().kind == LendKind::step);
}

TEST_CASE("worker pool: on a busy machine a worker gets more time at each start, and a slice is not blamed") {
  PoolSettings settings = Bench::settings(1, 0, 8);
  settings.start_timeout_ns = kSecond;
  WorkerPool pool(settings);
  PoolActions out;
  TimeNs now = kStart;
  pool.submit(7, 0, out);
  std::vector<DurationNs> patience;
  TimeNs started = 0;
  while (patience.size() < 7) {
    out.clear();
    pool.pass(now += 10 * kMillisecond, out);
    if (!out.start.empty()) started = now;
    if (out.kill.empty()) continue;
    if (!out.kill.front().hard) patience.push_back((now - started) / kSecond);
    pool.ended(0, {EndKind::signal, "signal 3"}, now, out);
    CHECK(out.kills.empty());
  }
  CHECK(patience == std::vector<DurationNs>{1, 2, 4, 8, 16, 30, 30});
  while (out.start.empty()) pool.pass(now += 10 * kMillisecond, out);
  pool.started(0);
  out.clear();
  pool.pass(now += kMillisecond, out);
  REQUIRE(out.lend.size() == 1);
  CHECK(out.lend.front().token == 7);
}

// Passes `time`; a worker that is started in `seat` ends at once: before it is ready, or after.
int starts_within(Bench& bench, Seat seat, DurationNs time, bool gets_ready, EndKind kind = EndKind::exit) {
  int starts = 0;
  for (const TimeNs until = bench.now + time; bench.now < until;) {
    bench.pass(10 * kMillisecond);
    CHECK_FALSE(bench.out.failed);
    const bool started = std::any_of(bench.out.start.begin(), bench.out.start.end(),
                                     [seat](const auto& start) { return start.seat == seat; });
    if (!started) continue;
    ++starts;
    if (gets_ready) bench.pool.started(seat);
    bench.dies(seat, kind);
  }
  return starts;
}

TEST_CASE("worker pool: one worker that cannot be replaced is tried ever more slowly, and the others go on") {
  for (const bool gets_ready : {false, true}) {
    INFO("ready at first: " << gets_ready);
    Bench bench(2, 1);
    bench.dies(2);
    const int starts = starts_within(bench, 2, 100 * kSecond, gets_ready);
    CHECK(starts > 15);
    CHECK(starts < 30);
    CHECK(bench.pool.is_unreplaced(2));
    CHECK_FALSE(bench.pool.is_unreplaced(0));
    bench.submit(1);
    bench.pass();
    bench.work(0, 1, 1);
    CHECK(bench.results == std::vector<Token>{1});
    // A slice that wants a fresh worker does not wait for the seat that stays empty.
    bench.submit(2);
    bench.pass();
    bench.work(0, 2, 1);
    bench.dies(0, EndKind::exit);
    bench.pass(kMillisecond);
    const auto retried = bench.lent_to(1);
    CHECK(std::find(retried.begin(), retried.end(), Token{2}) != retried.end());
  }
}

TEST_CASE("worker pool: workers that end on their own are replaced ever more slowly unless slices are many") {
  Bench bench(1, 0);
  bench.submit(0);
  bench.pass();
  bench.work(0, 1, 1);
  const auto ends_idle = [&bench](int times, int slices) {
    TimeNs longest = 0;
    for (int i = 0; i < times; ++i) {
      bench.pool.started(0);
      bench.pass();
      for (int n = 0; n < slices; ++n) {
        bench.submit(static_cast<Token>(1000 * i + n));
        bench.pass();
        bench.work(0, static_cast<std::uint64_t>(n) + 1, static_cast<std::uint64_t>(n) + 1);
      }
      bench.dies(0, EndKind::exit);
      const TimeNs ended = bench.now;
      do bench.pass(10 * kMillisecond);
      while (bench.out.start.empty());
      longest = std::max(longest, bench.now - ended);
    }
    return longest;
  };
  bench.dies(0, EndKind::exit);
  do bench.pass();
  while (bench.out.start.empty());
  CHECK(ends_idle(20, 200) <= 10 * kMillisecond);
  CHECK(ends_idle(20, 10) >= 5 * kSecond);
}

// A worker that finishes `good` slices and then ends in `inside` others, again and again. Returns the pauses
// between its ends and its next starts.
std::vector<DurationNs> pauses_in_slices(int ends, std::uint64_t good, std::uint64_t inside, EndKind kind) {
  Bench bench(1, 0, 512);
  Token token = 0;
  std::vector<DurationNs> pauses;
  for (int i = 0; i < ends; ++i) {
    while (bench.pool.in_pool() < good + inside) bench.submit(++token);
    for (std::uint64_t n = 0; n < good; ++n) {
      bench.pass();
      bench.work(0, n + 1, n + 1);
    }
    bench.pass();
    bench.work(0, good + inside, good);
    bench.dies(0, kind);
    const TimeNs ended = bench.now;
    do bench.pass(10 * kMillisecond);
    while (bench.out.start.empty());
    pauses.push_back(bench.now - ended);
    bench.pool.started(0);
    bench.pass();
  }
  return pauses;
}

TEST_CASE("worker pool: a worker that keeps ending in slices is replaced after short pauses that grow") {
  constexpr DurationNs kAtOnce = 10 * kMillisecond;  // in the next pass
  for (const EndKind kind : {EndKind::signal, EndKind::exit, EndKind::timeout}) {
    INFO(name(kind));
    const auto pauses = pauses_in_slices(20, 10, 1, kind);
    const std::vector<DurationNs> first(pauses.begin(), pauses.begin() + 3);
    CHECK(first == std::vector<DurationNs>(3, kAtOnce));
    CHECK(pauses[4] > kAtOnce);
    CHECK(std::is_sorted(pauses.begin(), pauses.end()));
    CHECK(pauses.back() == 500 * kMillisecond);
    const auto rare = pauses_in_slices(20, 200, 1, kind);
    CHECK(std::all_of(rare.begin(), rare.end(), [](DurationNs pause) { return pause == kAtOnce; }));
  }
  const auto batches = pauses_in_slices(20, 10, 3, EndKind::signal);
  CHECK(batches.back() == 500 * kMillisecond);
}

TEST_CASE(
    "worker pool: while a worker that ended in slices is put off, the others go on, with its slice too") {
  Bench bench(2, 0);
  const auto ends_in = [&bench](Token token, std::uint32_t earlier) {
    bench.submit(token, earlier);
    bench.pass();
    REQUIRE(bench.lends.back().seat == 0);
    bench.work(0, 1, 0);
    bench.dies(0, EndKind::exit);
  };
  for (Token token = 0; token < 12; ++token) {
    ends_in(token, 1);
    bench.pass(600 * kMillisecond);
    REQUIRE(bench.out.start.size() == 1);
    bench.pool.started(0);
    bench.pass();
  }
  CHECK(bench.poison.size() == 12);
  ends_in(100, 0);
  bench.submit(101);
  bench.pass(400 * kMillisecond);
  CHECK(bench.out.start.empty());
  CHECK(bench.lent_to(1) == std::vector<Token>{100});  // alone
  bench.work(1, 1, 1);
  bench.pass();
  bench.work(1, 2, 2);
  CHECK(bench.results == std::vector<Token>{100, 101});
}

TEST_CASE("worker pool: workers out of memory are replaced at once, however often") {
  Bench bench(1, 0);
  std::uint64_t done = 0;
  for (int i = 0; i < 50; ++i) {
    bench.submit(1);
    bench.pass();
    bench.work(0, 1, 1);
    bench.dies(0, EndKind::memory);
    bench.pass();
    REQUIRE(bench.out.start.size() == 1);
    bench.pool.started(0);
    bench.pass();
    ++done;
  }
  CHECK(bench.results.size() == done);
}

TEST_CASE("worker pool: starts that fail now and then end no run, unless ten in a row do") {
  Bench bench(1, 0);
  const auto wait_for_start = [&bench] {
    do bench.pass(10 * kMillisecond);
    while (bench.out.start.empty() && !bench.out.failed);
  };
  for (std::uint32_t i = 0; i < 2 * WorkerPool::kStartFailuresMax; ++i) {
    bench.submit(i);
    bench.pass();
    bench.work(0, 1, 1);
    bench.pass(10 * kSecond);
    bench.dies(0, EndKind::exit);
    wait_for_start();
    REQUIRE_FALSE(bench.out.failed);
    bench.dies(0, EndKind::exit);  // before it is ready
    wait_for_start();
    REQUIRE_FALSE(bench.out.failed);
    bench.pool.started(0);
  }
  CHECK(bench.results.size() == 2 * WorkerPool::kStartFailuresMax);
  bench.submit(0);
  bench.pass();
  bench.work(0, 1, 1);
  bench.dies(0, EndKind::exit);
  const TimeNs died = bench.now;
  std::uint32_t starts = 0;
  while (!bench.out.failed && starts < 100) {
    wait_for_start();
    if (bench.out.start.empty()) break;
    ++starts;
    bench.pass(2 * kSecond);
    bench.dies(0, EndKind::exit);
  }
  CHECK(bench.out.failed);
  CHECK(starts == WorkerPool::kStartFailuresMax);
  CHECK(bench.now - died > 30 * kSecond);
}

TEST_CASE("worker pool: workers that do not start are retried more and more slowly, and then given up") {
  WorkerPool pool(Bench::settings(1, 0, 8));
  PoolActions out;
  TimeNs now = kStart;
  int starts = 0;
  const TimeNs begin = now;
  while (!out.failed && now < begin + 1000 * kSecond) {
    out.clear();
    pool.pass(now, out);
    if (!out.start.empty()) {
      ++starts;
      pool.ended(0, {EndKind::exit, "refused: no such file"}, now, out);
    }
    now += 10 * kMillisecond;
  }
  CHECK(starts == 10);
  CHECK(now - begin > 10 * kSecond);
  CHECK(pool.last_end() == "start: refused: no such file");
}

TEST_CASE("a pool has a worker") {
  const auto broken = [] { const WorkerPool pool(Bench::settings(0, 1, 8)); };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: settings.workers > 0"));
}

}  // namespace
}  // namespace weir::worker_pool
