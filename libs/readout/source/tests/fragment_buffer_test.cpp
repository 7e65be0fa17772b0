#include "buffer_support.hpp"
#include "weir_catch.hpp"
#include <weir/source/fragment_buffer.hpp>

using namespace weir;
using namespace weir::source;
using namespace weir::source::test;

namespace {

// A buffer with sources 1 to 3, in a run.
struct Fixture {
  explicit Fixture(BufferLimits limits = {}, std::size_t size = 16) {
    std::vector<std::unique_ptr<FragmentSource>> list;
    for (std::uint32_t id : {3U, 1U, 2U}) {
      auto source = std::make_unique<CountingSource>(id, size);
      sources[id] = source.get();
      list.push_back(std::move(source));
    }
    buffer = std::make_unique<FragmentBuffer>(std::move(list), limits);
    buffer->begin_run(RunNumber(1));
  }
  void make(std::uint64_t from, std::uint64_t count) {
    REQUIRE(buffer->announce(triggers(from, count), sink) == count);
    buffer->make_some(count, sink);
  }
  void clear(std::uint64_t slice) { buffer->clear(std::vector{SliceId(slice)}, sink); }
  [[nodiscard]] MissingReason reason_for(std::uint64_t slice, std::uint32_t source) {
    sink.answers.clear();
    buffer->request(ask(slice, source), sink);
    REQUIRE(sink.answers.size() == 1);
    REQUIRE(sink.answers[0].status == FragmentStatus::missing);
    return sink.answers[0].reason;
  }
  const BufferCounters& counters() { return buffer->counters(); }

  CountingSource* sources[4] = {};
  std::unique_ptr<FragmentBuffer> buffer;
  AnswerList sink;
};

}  // namespace

TEST_CASE("a fragment is served until it is cleared, to any attempt, and then is gone", "[buffer]") {
  Fixture f;
  f.make(10, 2);
  f.buffer->request(ask(10, 2), f.sink);
  f.buffer->request(ask(10, 2, 7, 1), f.sink);
  const auto answers = f.sink.take();
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].crc32c == 10);
  CHECK(answers[0].status == FragmentStatus::ok);
  CHECK(answers[1].request == ask(10, 2, 7, 1));
  CHECK(f.sources[2]->asked == 2);
  f.clear(10);
  CHECK(f.reason_for(10, 2) == MissingReason::not_produced);
  CHECK(f.counters().cleared == 3);
  CHECK(f.counters().held == 3);
  CHECK(balanced(f.counters()));
}

TEST_CASE("an early request is parked and answered when the slice is made", "[buffer]") {
  Fixture f;
  f.buffer->request(ask(5, 1), f.sink);
  f.buffer->request(ask(5, 3), f.sink);
  CHECK(f.sink.answers.empty());
  CHECK(f.counters().parked == 2);
  REQUIRE(f.buffer->announce(triggers(5, 1), f.sink) == 1);
  f.buffer->request(ask(5, 2), f.sink);
  CHECK(f.sink.answers.empty());
  f.buffer->make_some(1, f.sink);
  const auto answers = f.sink.take();
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].request.source == SourceId(1));
  CHECK(answers[2].request.source == SourceId(2));
  CHECK(answers[2].crc32c == 5);
  CHECK(f.counters().parked == 0);
  CHECK(f.counters().parked_total == 3);
}

TEST_CASE("a parked request is answered missing when the watermark passes its slice", "[buffer]") {
  Fixture f;
  f.make(100, 1);
  f.buffer->request(ask(105, 1), f.sink);
  f.buffer->request(ask(110, 1), f.sink);
  f.make(107, 1);
  const auto answers = f.sink.take();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].request.slice == SliceId(105));
  CHECK(answers[0].reason == MissingReason::not_produced);
  CHECK(f.counters().parked == 1);
  f.buffer->advance_watermark(SliceId(110), f.sink);
  CHECK(f.sink.answers.size() == 1);
  CHECK(f.reason_for(103, 1) == MissingReason::not_produced);
}

TEST_CASE("slices before this process' first one are missing (restarted)", "[buffer]") {
  Fixture f;
  f.buffer->request(ask(90, 1), f.sink);
  CHECK(f.sink.answers.empty());
  f.make(100, 1);
  REQUIRE(f.sink.answers.size() == 1);
  CHECK(f.sink.answers[0].reason == MissingReason::restarted);
  CHECK(f.reason_for(99, 2) == MissingReason::restarted);
}

TEST_CASE("a watermark before the first announcement tells a restarted readout's past", "[buffer]") {
  Fixture f;
  f.buffer->advance_watermark(SliceId(50), f.sink);
  CHECK(f.reason_for(50, 1) == MissingReason::restarted);
  f.buffer->request(ask(51, 1), f.sink);
  CHECK(f.counters().parked == 1);
}

TEST_CASE("a slice announced before this process is missing as restarted, and no other, where ids descend",
          "[buffer]") {
  BufferLimits limits;
  limits.ids_ascend = false;
  Fixture f(limits);
  f.buffer->request(ask(900, 1), f.sink);
  f.buffer->miss(SliceId(900), f.sink);
  REQUIRE(f.sink.answers.size() == 1);
  CHECK(f.sink.answers[0].reason == MissingReason::restarted);
  f.buffer->miss(SliceId(40), f.sink);
  for (const std::uint64_t slice : {900, 40}) CHECK(f.reason_for(slice, 2) == MissingReason::restarted);
  // A slice that is announced again is not made.
  REQUIRE(f.buffer->announce(triggers(40, 1), f.sink) == 1);
  CHECK(f.counters().announced_again == 1);
  for (const std::uint64_t slice : {100, 41, 39}) {
    f.sink.answers.clear();
    f.buffer->request(ask(slice, 1), f.sink);  // before it is announced
    f.make(slice, 1);
    REQUIRE(f.sink.answers.size() == 1);
    CHECK(f.sink.answers[0].status == FragmentStatus::ok);
  }
  f.clear(900);
  f.clear(40);
  CHECK(f.counters().clears_unknown == 2);
  CHECK(f.counters().clears_early == 0);
  // A DCM may request them after they are settled: another writer had a copy.
  for (const std::uint64_t slice : {900, 40}) CHECK(f.reason_for(slice, 2) == MissingReason::restarted);
  CHECK(f.counters().parked == 0);
  CHECK(balanced(f.counters()));
}

TEST_CASE("a request for a slice that is settled is answered, and not parked, whether ids ascend or not",
          "[buffer]") {
  BufferLimits limits;
  limits.ids_ascend = GENERATE(true, false);
  Fixture f(limits);
  f.make(10, 5);
  for (std::uint64_t slice = 10; slice < 15; ++slice) {
    f.clear(slice);
    CHECK(f.reason_for(slice, 1) == MissingReason::not_produced);
  }
  CHECK(f.counters().parked == 0);
  f.clear(12);
  CHECK(f.counters().clears_unknown == 1);
}

TEST_CASE("an unknown source is answered immediately", "[buffer]") {
  Fixture f;
  f.make(1, 1);
  CHECK(f.reason_for(1, 9) == MissingReason::unknown_source);
  CHECK(f.reason_for(5, 0) == MissingReason::unknown_source);
  CHECK(f.counters().produced == 3);
}

TEST_CASE("parking is bounded: beyond, a request is answered with overflow and counted", "[buffer]") {
  BufferLimits limits;
  limits.parked_max = 2;
  Fixture f(limits);
  f.buffer->request(ask(5, 1), f.sink);
  f.buffer->request(ask(6, 1), f.sink);
  CHECK(f.reason_for(7, 1) == MissingReason::overflow);
  REQUIRE(f.buffer->announce(triggers(5, 1), f.sink) == 1);
  CHECK(f.reason_for(5, 2) == MissingReason::overflow);
  CHECK(f.counters().missing[static_cast<std::size_t>(MissingReason::overflow)] == 2);
}

TEST_CASE("a closed connection's parked requests are forgotten, a cancelled attempt's are answered",
          "[buffer]") {
  Fixture f;
  REQUIRE(f.buffer->announce(triggers(1, 1), f.sink) == 1);
  f.buffer->request(ask(1, 1, 1), f.sink);
  f.buffer->request(ask(1, 1, 2), f.sink);
  f.buffer->request(ask(1, 2, 2, 0), f.sink);
  f.buffer->request(ask(1, 2, 2, 1), f.sink);
  f.buffer->request(ask(9, 1, 1), f.sink);
  f.buffer->request(ask(9, 1, 2, 3), f.sink);
  f.buffer->forget(1);
  CHECK(f.counters().parked == 4);
  CHECK(f.counters().forgotten == 2);
  f.buffer->cancel(2, SliceId(1), Attempt(1), f.sink);
  f.buffer->cancel(2, SliceId(9), Attempt(3), f.sink);
  f.buffer->cancel(2, SliceId(77), Attempt(0), f.sink);
  CHECK(f.counters().parked == 2);
  CHECK(f.counters().forgotten == 2);
  CHECK(f.counters().missing[static_cast<std::size_t>(MissingReason::deadline)] == 2);
  REQUIRE(f.sink.answers.size() == 2);
  CHECK(f.sink.answers[0].request == ask(1, 2, 2, 1));
  f.sink.answers.clear();
  f.buffer->make_some(1, f.sink);
  REQUIRE(f.sink.answers.size() == 2);
  CHECK(f.sink.answers[0].request == ask(1, 1, 2));
  CHECK(f.sink.answers[1].request == ask(1, 2, 2, 0));
}

TEST_CASE("a slice announced after its clear is not made", "[buffer]") {
  Fixture f;
  f.make(1, 1);
  f.buffer->request(ask(3, 1), f.sink);
  f.clear(3);
  REQUIRE(f.sink.answers.size() == 1);
  CHECK(f.sink.answers[0].reason == MissingReason::not_produced);
  f.make(2, 3);
  CHECK(f.counters().clears_early == 1);
  CHECK(f.counters().never_made == 1);
  CHECK(f.counters().slices_held == 3);
  CHECK(f.reason_for(3, 1) == MissingReason::not_produced);
  CHECK(balanced(f.counters()));
}

TEST_CASE("a slice cleared while it waits to be made is not made", "[buffer]") {
  Fixture f;
  REQUIRE(f.buffer->announce(triggers(1, 3), f.sink) == 3);
  f.buffer->request(ask(2, 1), f.sink);
  f.clear(2);
  REQUIRE(f.sink.take().size() == 1);
  CHECK(f.buffer->make_some(10, f.sink) == 2);
  CHECK(f.sources[1]->asked == 2);
  CHECK(f.counters().never_made == 1);
  CHECK(balanced(f.counters()));
}

TEST_CASE("repeated announcements and clears are only counted", "[buffer]") {
  Fixture f;
  f.make(1, 2);
  CHECK(f.buffer->announce(triggers(1, 2), f.sink) == 2);
  CHECK(f.buffer->make_some(10, f.sink) == 0);
  f.clear(1);
  f.clear(1);
  CHECK(f.buffer->announce(triggers(1, 1), f.sink) == 1);
  CHECK(f.buffer->make_some(10, f.sink) == 0);
  CHECK(f.counters().announced_again == 3);
  CHECK(f.counters().clears_unknown == 1);
  CHECK(f.counters().produced == 6);
}

TEST_CASE("a full buffer makes no more fragments until some are cleared", "[buffer]") {
  BufferLimits limits;
  limits.slices_max = 2;
  Fixture f(limits);
  REQUIRE(f.buffer->announce(triggers(1, 4), f.sink) == 4);
  CHECK(f.buffer->make_some(10, f.sink) == 2);
  CHECK(f.buffer->throttle() == Throttle::slices);
  f.buffer->request(ask(3, 1), f.sink);
  CHECK(f.sink.answers.empty());
  f.clear(1);
  CHECK(f.buffer->make_some(10, f.sink) == 1);
  CHECK(f.sink.answers.size() == 1);
}

TEST_CASE("the bound in bytes holds, and fragments beyond it are dropped with the reason", "[buffer]") {
  BufferLimits limits;
  limits.bytes_max = 100;
  Fixture f(limits, 30);
  REQUIRE(f.buffer->announce(triggers(1, 3), f.sink) == 3);
  CHECK(f.buffer->make_some(10, f.sink) == 1);  // 90 bytes, which the next one is expected to have as well
  CHECK(f.counters().bytes_held == 90);
  f.clear(1);
  CHECK(f.counters().bytes_held == 0);

  limits.bytes_max = 75;
  Fixture g(limits, 30);
  g.make(1, 1);
  CHECK(g.counters().bytes_held == 60);
  CHECK(g.reason_for(1, 3) == MissingReason::dropped);
  CHECK(g.counters().dropped[static_cast<std::size_t>(DropReason::buffer_full)] == 1);
  CHECK(balanced(g.counters()));

  limits.bytes_max = 20;
  Fixture h(limits, 30);
  h.make(1, 1);
  CHECK(h.reason_for(1, 1) == MissingReason::too_large);
  CHECK(h.counters().dropped[static_cast<std::size_t>(DropReason::too_large)] == 3);
  CHECK(balanced(h.counters()));
}

TEST_CASE("announcements beyond the bound stay with the caller, which repeats them", "[buffer]") {
  BufferLimits limits;
  limits.announced_max = 2;
  Fixture f(limits);
  const auto list = triggers(1, 4);
  CHECK(f.buffer->announce(list, f.sink) == 2);
  CHECK(f.buffer->throttle() == Throttle::announced);
  f.buffer->request(ask(3, 1), f.sink);
  CHECK(f.sink.answers.empty());
  REQUIRE(f.buffer->make_some(2, f.sink) == 2);
  CHECK(f.buffer->announce(std::span(list).subspan(2), f.sink) == 2);
  REQUIRE(f.buffer->make_some(2, f.sink) == 2);
  REQUIRE(f.sink.answers.size() == 1);
  CHECK(f.sink.answers[0].status == FragmentStatus::ok);
  CHECK(f.counters().announced == 4);
}

TEST_CASE("the throttle goes on at the high mark and off below the low one", "[buffer]") {
  BufferLimits limits;
  limits.slices_max = 8;
  Fixture f(limits);
  f.make(1, 5);
  CHECK(f.buffer->throttle() == Throttle::none);
  f.make(6, 1);
  CHECK(f.buffer->throttle() == Throttle::slices);
  f.clear(1);
  f.clear(2);
  CHECK(f.buffer->throttle() == Throttle::slices);
  f.clear(3);
  CHECK(f.buffer->throttle() == Throttle::none);
}

TEST_CASE("ids in any order work if they are declared not to ascend", "[buffer]") {
  BufferLimits limits;
  limits.ids_ascend = false;
  Fixture f(limits);
  f.make(1'000'000, 1);
  f.buffer->request(ask(7, 1), f.sink);
  CHECK(f.sink.answers.empty());
  f.make(7, 1);
  REQUIRE(f.sink.take().size() == 1);
  f.buffer->request(ask(8, 1), f.sink);
  f.buffer->advance_watermark(SliceId(500), f.sink);
  REQUIRE(f.sink.answers.size() == 1);
  CHECK(f.sink.answers[0].reason == MissingReason::restarted);
}

TEST_CASE("slices with ids that collide in the index are all kept", "[buffer]") {
  Fixture f;
  constexpr std::uint64_t kStride = 1ULL << 40U;
  std::vector<Trigger> list;
  for (std::uint64_t i = 1; i <= 20; ++i) list.push_back({SliceId(i * kStride), 0, 0, TriggerType()});
  REQUIRE(f.buffer->announce(list, f.sink) == 20);
  CHECK(f.buffer->make_some(20, f.sink) == 20);
  for (std::uint64_t i = 1; i <= 20; i += 2) f.clear(i * kStride);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    f.sink.answers.clear();
    f.buffer->request(ask(i * kStride, 1), f.sink);
    REQUIRE(f.sink.answers.size() == 1);
    CHECK((f.sink.answers[0].status == FragmentStatus::ok) == (i % 2 == 0));
  }
}

TEST_CASE("a source without data is answered with its own reason and not counted as produced", "[buffer]") {
  Fixture f;
  f.sources[1]->absent_digit = 3;
  f.make(3, 1);
  CHECK(f.reason_for(3, 1) == MissingReason::not_produced);
  CHECK(f.counters().produced == 2);
  f.clear(3);
  CHECK(f.counters().cleared == 2);
}

TEST_CASE("a clear releases the owner of the bytes, and so does the end of a run", "[buffer]") {
  Fixture f;
  f.sources[1]->owned = true;
  f.make(1, 2);
  CHECK(f.sources[1]->owner.use_count() == 3);
  f.clear(1);
  CHECK(f.sources[1]->owner.use_count() == 2);
  f.buffer->end_run(f.sink);
  CHECK(f.sources[1]->owner.use_count() == 1);
}

TEST_CASE("the end of a run answers waiting requests, drops held slices, and the next run begins empty",
          "[buffer]") {
  Fixture f;
  f.make(1, 2);
  REQUIRE(f.buffer->announce(triggers(3, 2), f.sink) == 2);
  f.buffer->request(ask(4, 1), f.sink);
  f.buffer->request(ask(9, 1), f.sink);
  f.clear(1);
  f.buffer->end_run(f.sink);
  CHECK(f.sink.answers.size() == 2);
  CHECK(f.counters().held == 0);
  CHECK(f.counters().dropped[static_cast<std::size_t>(DropReason::run_ended)] == 3);
  CHECK(balanced(f.counters()));
  f.buffer->begin_run(RunNumber(2));
  CHECK(f.counters().produced == 0);
  f.make(1, 1);
  f.sink.answers.clear();
  f.buffer->request(ask(1, 3), f.sink);
  CHECK(f.sink.answers.size() == 1);
}

TEST_CASE("two sources with one id are refused", "[buffer]") {
  std::vector<std::unique_ptr<FragmentSource>> list;
  list.push_back(std::make_unique<CountingSource>(4));
  list.push_back(std::make_unique<CountingSource>(4));
  CHECK_THROWS_WITH(FragmentBuffer(std::move(list), {}), Catch::ContainsSubstring("source 4"));
}
