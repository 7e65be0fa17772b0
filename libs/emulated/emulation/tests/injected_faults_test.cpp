#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/emulation/dummy_source.hpp>
#include <weir/emulation/injected_faults.hpp>

#include <map>
#include <numeric>

using namespace weir;
using namespace weir::emulation;
using namespace weir::source;

namespace {

struct Answers final : AnswerSink {
  void answer(const RequestedFragment& request, const SourceFragment& fragment) override {
    got[request.slice.value] = fragment;
    order.push_back(request.slice.value);
  }
  std::map<std::uint64_t, SourceFragment> got;
  std::vector<std::uint64_t> order;
};

// One dummy source with faults, in a buffer, with requests for each slice.
struct Faulty {
  explicit Faulty(const FaultRates& rates, std::uint64_t seed = 1)
      : injector(seed), buffer(sources(rates), limits()) {
    buffer.begin_run(RunNumber(1));
    injector.begin_run(0);
    buffer.tick(0, answers);
  }
  static BufferLimits limits() {
    BufferLimits limits;
    limits.bytes_max = 1U << 30U;
    limits.wait_ns = 500 * kMillisecond;
    return limits;
  }
  std::vector<std::unique_ptr<FragmentSource>> sources(const FaultRates& rates) {
    DummySettings settings;
    settings.size_bytes = 100;
    std::vector<std::unique_ptr<FragmentSource>> made;
    made.push_back(injector.wrap(
        std::make_unique<DummySource>(SourceId(7), std::make_shared<DummyGroup>(settings, true)), rates));
    return made;
  }
  void announce(std::uint64_t first, std::uint64_t count, TimeNs now) {
    buffer.tick(now, answers);
    injector.tick(now);
    for (std::uint64_t slice = first; slice < first + count; ++slice) {
      const std::vector<Trigger> one{{SliceId(slice), 0, 0, TriggerType(0)}};
      REQUIRE(buffer.announce(one, answers) == 1);
      RequestedFragment request;
      request.slice = SliceId(slice);
      request.source = SourceId(7);
      buffer.request(request, answers);
      buffer.make_some(1, answers);
      injector.pass(now, buffer, answers);
    }
  }
  void pass(TimeNs now) {
    buffer.tick(now, answers);
    injector.pass(now, buffer, answers);
  }
  [[nodiscard]] std::uint64_t count(InjectedFault fault) const {
    return injector.counts()[static_cast<std::size_t>(fault)];
  }
  [[nodiscard]] std::uint64_t dropped(DropReason reason) const {
    return buffer.counters().dropped[static_cast<std::size_t>(reason)];
  }
  [[nodiscard]] std::uint64_t answered(FragmentStatus status,
                                       MissingReason reason = MissingReason::none) const {
    std::uint64_t n = 0;
    for (const auto& [slice, fragment] : answers.got)
      n += fragment.status == status && fragment.reason == reason;
    return n;
  }
  // Holds at any time.
  void check_ledger() const {
    const BufferCounters& counters = buffer.counters();
    const std::uint64_t gone =
        std::accumulate(counters.dropped.begin(), counters.dropped.end(), std::uint64_t{0});
    CHECK(counters.produced == counters.cleared + gone + counters.held);
  }

  FaultInjector injector;
  Answers answers;
  FragmentBuffer buffer;
};

FaultRates rates(double FaultRates::*which, double share = 0.1) {
  FaultRates made;
  made.*which = share;
  return made;
}

constexpr std::uint64_t kSlices = 2000;

}  // namespace

TEST_CASE("without rates a wrapped source gives the same fragments as before") {
  Faulty plain{FaultRates()};
  plain.announce(0, kSlices, 0);
  CHECK(plain.answered(FragmentStatus::ok) == kSlices);
  for (const std::uint64_t count : plain.injector.counts()) CHECK(count == 0);
  plain.check_ledger();
}

TEST_CASE("a share of the fragments is dropped, known at once, and the same ones for the same seed") {
  Faulty one(rates(&FaultRates::drop));
  Faulty same(rates(&FaultRates::drop));
  Faulty other(rates(&FaultRates::drop), 2);
  for (Faulty* faulty : {&one, &same, &other}) faulty->announce(0, kSlices, 0);
  const std::uint64_t dropped = one.count(InjectedFault::drop);
  CHECK(dropped > kSlices / 10 - 60);
  CHECK(dropped < kSlices / 10 + 60);
  CHECK(one.answered(FragmentStatus::missing, MissingReason::gap) == dropped);
  CHECK(one.answered(FragmentStatus::ok) == kSlices - dropped);
  bool differs = false;
  for (std::uint64_t slice = 0; slice < kSlices; ++slice) {
    CHECK(one.answers.got[slice].status == same.answers.got[slice].status);
    differs = differs || one.answers.got[slice].status != other.answers.got[slice].status;
  }
  CHECK(differs);
  one.check_ledger();
}

TEST_CASE("a fragment that comes twice is dropped once") {
  Faulty faulty(rates(&FaultRates::duplicate));
  faulty.announce(0, kSlices, 0);
  CHECK(faulty.count(InjectedFault::duplicate) > 100);
  CHECK(faulty.dropped(DropReason::duplicate) == faulty.count(InjectedFault::duplicate));
  CHECK(faulty.answered(FragmentStatus::ok) == kSlices);
  faulty.check_ledger();
}

TEST_CASE(
    "a cut fragment is marked and has the checksum of the received bytes, a corrupt one that of the sent "
    "bytes") {
  Faulty cut(rates(&FaultRates::truncate));
  cut.announce(0, kSlices, 0);
  CHECK(cut.answered(FragmentStatus::truncated) == cut.count(InjectedFault::truncate));
  Faulty corrupt(rates(&FaultRates::corrupt));
  corrupt.announce(0, kSlices, 0);
  CHECK(corrupt.answered(FragmentStatus::ok) == kSlices);
  std::uint64_t wrong = 0;
  for (const auto& [slice, fragment] : corrupt.answers.got)
    wrong += crc32c(fragment.bytes) != fragment.crc32c;
  CHECK(wrong == corrupt.count(InjectedFault::corrupt));
  CHECK(wrong > 100);
  for (const auto& [slice, fragment] : cut.answers.got) {
    CHECK(crc32c(fragment.bytes) == fragment.crc32c);
    CHECK(fragment.bytes.size() == (fragment.status == FragmentStatus::truncated ? 50 : 100));
  }
}

TEST_CASE("a delayed fragment comes later, and one that is waited for no longer is dropped as late") {
  FaultRates slow = rates(&FaultRates::delay);
  slow.delay_ns = 100 * kMillisecond;
  Faulty faulty(slow);
  faulty.announce(0, kSlices, 0);
  const std::uint64_t delayed = faulty.count(InjectedFault::delay);
  CHECK(faulty.answers.got.size() == kSlices - delayed);
  faulty.pass(99 * kMillisecond);
  CHECK(faulty.answers.got.size() == kSlices - delayed);
  faulty.pass(100 * kMillisecond);
  CHECK(faulty.answered(FragmentStatus::ok) == kSlices);

  slow.delay_ns = kSecond;
  Faulty too_slow(slow);
  too_slow.announce(0, kSlices, 0);
  too_slow.pass(500 * kMillisecond);
  CHECK(too_slow.answered(FragmentStatus::missing, MissingReason::deadline) == delayed);
  too_slow.pass(kSecond);
  CHECK(too_slow.dropped(DropReason::late) == delayed);
  too_slow.check_ledger();
}

TEST_CASE("the number of delayed fragments is bounded: further ones arrive at once, and are counted") {
  FaultRates all;
  all.delay = 1;
  all.delay_ns = 100 * kMillisecond;
  Faulty faulty(all);
  constexpr std::uint64_t kStep = 4096;
  std::uint64_t next = 0;
  std::vector<SliceId> done(kStep);
  while (next < FaultInjector::kDelayedMax + kStep) {
    faulty.announce(next, kStep, 0);
    for (std::uint64_t i = 0; i < kStep; ++i) done[i] = SliceId(next + i);
    faulty.buffer.clear(done, faulty.answers);
    next += kStep;
  }
  CHECK(faulty.injector.not_delayed() == next - FaultInjector::kDelayedMax);
  faulty.pass(100 * kMillisecond);
  CHECK(faulty.dropped(DropReason::late) == FaultInjector::kDelayedMax);
  faulty.check_ledger();
}

TEST_CASE("a reordered fragment follows the next one, or leaves after a while if there is none") {
  FaultRates all;
  all.reorder = 1;
  Faulty faulty(all);
  faulty.announce(0, 4, 0);
  CHECK(faulty.answers.order == std::vector<std::uint64_t>{1, 0, 3, 2});
  CHECK(faulty.count(InjectedFault::reorder) == 2);
  faulty.announce(4, 1, 0);
  CHECK(faulty.answers.order.size() == 4);
  faulty.pass(100 * kMillisecond);
  CHECK(faulty.answers.order.back() == 4);
}

TEST_CASE("a silent source's fragments are missing when they are waited for no longer") {
  FaultRates quiet;
  quiet.silent_every_ns = kSecond;
  quiet.silent_for_ns = 200 * kMillisecond;
  Faulty faulty(quiet);
  faulty.announce(0, 10, 0);
  faulty.announce(10, 10, 800 * kMillisecond);
  faulty.announce(20, 10, 1000 * kMillisecond);
  CHECK(faulty.count(InjectedFault::silence) == 10);
  faulty.pass(1300 * kMillisecond);
  CHECK(faulty.answered(FragmentStatus::ok) == 20);
  CHECK(faulty.answered(FragmentStatus::missing, MissingReason::deadline) == 10);
}

TEST_CASE("fragments that still wait at the end of a run are dropped") {
  FaultRates all;
  all.delay = 0.5;
  all.reorder = 1;
  Faulty faulty(all);
  faulty.announce(0, 11, 0);
  faulty.injector.end_run();
  faulty.buffer.end_run(faulty.answers);
  CHECK(faulty.answers.got.size() == 11);
  faulty.check_ledger();
  faulty.buffer.begin_run(RunNumber(2));
  faulty.injector.begin_run(kSecond);
  faulty.answers.got.clear();
  faulty.pass(10 * kSecond);
  CHECK(faulty.answers.got.empty());
}
