// Injected faults do not affect other fragments. In a buffer that is nearly always full, a fault kind with a
// rate that hits no fragment changes nothing, and delayed fragments count in the buffer's account.
#include "buffer_support.hpp"
#include "weir_catch.hpp"
#include <weir/emulation/injected_faults.hpp>

#include <deque>
#include <map>
#include <string>
#include <utility>

using namespace weir;
using namespace weir::emulation;
using namespace weir::source;
using namespace weir::source::test;

namespace {

constexpr std::uint32_t kFaultySources = 4;
constexpr std::uint32_t kBytes = 20'000;

// Makes fragments in its own memory, and counts the bytes in use.
class MeasuredSource final : public FragmentSource {
 public:
  MeasuredSource(std::uint32_t id, std::uint64_t& alive) : id_(id), alive_(alive) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] SourceFragment produce(const Trigger& trigger) override {
    // Sizes differ between slices, so that some slices do not fit behind others.
    const std::size_t size = kBytes / 2 + trigger.slice.value * 7919 % kBytes;
    const auto bytes = std::make_shared<std::vector<std::byte>>(size);
    alive_ += size;
    SourceFragment fragment;
    fragment.bytes = *bytes;
    fragment.crc32c = static_cast<std::uint32_t>(trigger.slice.value);
    fragment.owner = std::shared_ptr<const void>(
        bytes.get(), [bytes, &alive = alive_](const void*) { alive -= bytes->size(); });
    return fragment;
  }

 private:
  SourceId id_;
  std::uint64_t& alive_;
};

struct Outcome {
  BufferCounters counters;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::pair<FragmentStatus, MissingReason>> answers;
  std::array<std::uint64_t, kInjectedFaults> injected{};
  std::uint64_t alive_max = 0;
  std::uint64_t throttled = 0;  // number of throttled passes
  bool operator==(const Outcome& other) const {
    return counters == other.counters && answers == other.answers && injected == other.injected &&
           throttled == other.throttled;
  }
};

constexpr std::uint64_t kBufferBytes = 1'000'000;  // room for about 12 slices

// Drives a readout as fast as its room allows, and clears each slice some ms after its requests. If `rates`
// is empty, the sources have no injector.
Outcome drive(const std::vector<FaultRates>& rates, std::uint64_t slices = 2000) {
  Outcome outcome;
  std::uint64_t alive = 0;
  FaultInjector injector(1);
  std::vector<std::unique_ptr<FragmentSource>> sources;
  for (std::uint32_t id = 0; id < kFaultySources; ++id) {
    auto source = std::make_unique<MeasuredSource>(id, alive);
    if (rates.empty()) {
      sources.push_back(std::move(source));
    } else {
      sources.push_back(injector.wrap(std::move(source), rates[id % rates.size()]));
    }
  }
  BufferLimits limits;
  limits.bytes_max = kBufferBytes;
  limits.wait_ns = 20 * kMillisecond;
  FragmentBuffer buffer(std::move(sources), limits);
  AnswerList sink;
  buffer.begin_run(RunNumber(1));
  injector.begin_run(0);
  buffer.tick(0, sink);
  std::deque<std::pair<TimeNs, SliceId>> open;
  std::uint64_t next = 0;
  for (TimeNs now = 0; next < slices || !open.empty(); now += kMillisecond) {
    buffer.tick(now, sink);
    for (int i = 0; i < 4 && next < slices; ++i, ++next) {
      REQUIRE(buffer.announce(triggers(next, 1), sink) == 1);
      for (std::uint32_t id = 0; id < kFaultySources; ++id) buffer.request(ask(next, id), sink);
      open.emplace_back(now + 30 * kMillisecond, SliceId(next));
    }
    injector.tick(now);
    buffer.make_some(1024, sink);
    injector.pass(now, buffer, sink);
    outcome.alive_max = std::max(outcome.alive_max, alive);
    outcome.throttled += buffer.throttle() == Throttle::none ? 0 : 1;
    CHECK(balanced(buffer.counters()));
    while (!open.empty() && open.front().first <= now) {
      buffer.clear(std::span(&open.front().second, 1), sink);
      open.pop_front();
    }
  }
  for (const Answer& answer : sink.answers) {
    const bool first = outcome.answers
                           .try_emplace({answer.request.slice.value, answer.request.source.value},
                                        answer.status, answer.reason)
                           .second;
    CHECK(first);
  }
  CHECK(outcome.answers.size() == slices * kFaultySources);
  outcome.counters = buffer.counters();
  outcome.injected = injector.counts();
  CHECK(outcome.counters.bytes_held == 0);
  CHECK(outcome.counters.bytes_reserved == 0);
  injector.end_run();
  buffer.end_run(sink);
  CHECK(alive == 0);
  return outcome;
}

struct Kind {
  const char* name;
  double FaultRates::*rate;
};
constexpr Kind kKinds[] = {{"drop", &FaultRates::drop},         {"delay", &FaultRates::delay},
                           {"reorder", &FaultRates::reorder},   {"duplicate", &FaultRates::duplicate},
                           {"truncate", &FaultRates::truncate}, {"corrupt", &FaultRates::corrupt}};

FaultRates of(double FaultRates::*rate, double share) {
  FaultRates rates;
  rates.*rate = share;
  return rates;
}

}  // namespace

TEST_CASE("faults that do no harm at rate zero: every kind at a tiny rate leaves a full buffer as it is") {
  const Outcome plain = drive({});
  REQUIRE(plain.counters.served > 0);
  CHECK(drive({FaultRates()}) == plain);
  for (const Kind& kind : kKinds) {
    INFO(kind.name);
    CHECK(drive({of(kind.rate, 1e-12)}) == plain);
  }
  FaultRates all;
  for (const Kind& kind : kKinds) all.*kind.rate = 1e-12;
  all.silent_every_ns = 3600 * kSecond;
  all.silent_for_ns = 1;
  CHECK(drive({all}) == plain);
  // Some sources with faults next to others without.
  CHECK(drive({all, FaultRates()}) == plain);
}

TEST_CASE("a fault costs the fragments that it was done to, and no others") {
  const Outcome plain = drive({});
  for (const Kind& kind : kKinds) {
    INFO(kind.name);
    const Outcome some = drive({of(kind.rate, 0.001)});
    std::uint64_t injected = 0;
    for (const std::uint64_t count : some.injected) injected += count;
    CHECK(injected > 0);
    // A delayed or dropped fragment changes which later ones fit, in either direction.
    CHECK(some.counters.served + 2 * injected >= plain.counters.served);
  }
}

TEST_CASE("late fragments stay within the buffer's bytes, however late they are") {
  for (const DurationNs delay : {5 * kMillisecond, 25 * kMillisecond, 60 * kSecond}) {
    FaultRates late = of(&FaultRates::delay, 1);
    late.delay_ns = delay;
    const Outcome outcome = drive({late});
    INFO(delay);
    CHECK(outcome.alive_max <= kBufferBytes);
    CHECK(outcome.alive_max > kBufferBytes / 2);
    CHECK(outcome.injected[static_cast<std::size_t>(InjectedFault::delay)] > 1000);
  }
}
