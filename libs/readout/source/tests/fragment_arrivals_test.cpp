#include "buffer_support.hpp"
#include "weir_catch.hpp"
#include <weir/source/fragment_buffer.hpp>

using namespace weir;
using namespace weir::source;
using namespace weir::source::test;

namespace {

std::size_t at(DropReason reason) { return static_cast<std::size_t>(reason); }

// Sources 1 and 2 deliver fragments later; source 3 is made at once.
struct Bench {
  explicit Bench(BufferLimits limits = {}) {
    std::vector<std::unique_ptr<FragmentSource>> sources;
    sources.push_back(std::make_unique<ArrivingSource>(1));
    sources.push_back(std::make_unique<ArrivingSource>(2));
    sources.push_back(std::make_unique<CountingSource>(3));
    buffer = std::make_unique<FragmentBuffer>(std::move(sources), limits);
    buffer->begin_run(RunNumber(1));
  }
  void announce(std::uint64_t from, std::uint64_t count = 1) {
    REQUIRE(buffer->announce(triggers(from, count), sink) == count);
    buffer->make_some(count, sink);
  }
  Delivery deliver(std::uint32_t source, std::uint64_t slice, std::size_t size = 16) {
    return buffer->deliver(SourceId(source), SliceId(slice), arriving(slice, size), sink);
  }
  std::uint64_t drops(DropReason reason) { return buffer->counters().dropped[at(reason)]; }

  std::unique_ptr<FragmentBuffer> buffer;
  AnswerList sink;
};

}  // namespace

TEST_CASE("a request for a fragment that has not arrived waits, and is answered on its arrival") {
  Bench bench;
  bench.announce(7);
  bench.buffer->request(ask(7, 1), bench.sink);
  bench.buffer->request(ask(7, 3), bench.sink);
  auto answers = bench.sink.take();
  REQUIRE(answers.size() == 1);  // source 3 does not wait for source 1
  CHECK(answers[0].request.source == SourceId(3));
  CHECK(bench.deliver(2, 7) == Delivery::taken);
  CHECK(bench.sink.take().empty());
  CHECK(bench.deliver(1, 7) == Delivery::taken);
  answers = bench.sink.take();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].status == FragmentStatus::ok);
  CHECK(answers[0].crc32c == 7);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("a fragment that arrived before its announcement is available when the slice is announced") {
  Bench bench;
  CHECK(bench.deliver(1, 5) == Delivery::taken);
  CHECK(bench.buffer->counters().held == 1);
  CHECK(bench.buffer->counters().bytes_early == 16);
  bench.announce(5);
  CHECK(bench.buffer->counters().bytes_early == 0);
  bench.buffer->request(ask(5, 1), bench.sink);
  const auto answers = bench.sink.take();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].status == FragmentStatus::ok);
  const SliceId slice(5);
  bench.buffer->clear(std::span(&slice, 1), bench.sink);
  CHECK(bench.buffer->counters().cleared == 2);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("a fragment that has not arrived in time is missing (deadline), and late if it arrives after all") {
  BufferLimits limits;
  limits.wait_ns = 100;
  Bench bench(limits);
  bench.buffer->tick(1000, bench.sink);
  bench.announce(1);
  bench.buffer->request(ask(1, 1), bench.sink);
  bench.buffer->tick(1099, bench.sink);
  CHECK(bench.sink.take().empty());
  bench.buffer->tick(1100, bench.sink);
  const auto answers = bench.sink.take();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].reason == MissingReason::deadline);
  CHECK(bench.buffer->counters().not_arrived == 2);
  CHECK(bench.deliver(1, 1) == Delivery::late);
  CHECK(bench.drops(DropReason::late) == 1);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("a source that has passed a slice ends the waiting for it, with its reason") {
  Bench bench;
  bench.announce(1, 3);
  for (std::uint64_t slice = 1; slice <= 3; ++slice) bench.buffer->request(ask(slice, 2), bench.sink);
  bench.buffer->source_passed(SourceId(2), SliceId(1), MissingReason::not_produced, bench.sink);
  bench.buffer->source_passed(SourceId(2), SliceId(2), MissingReason::gap, bench.sink);
  auto answers = bench.sink.take();
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].reason == MissingReason::not_produced);
  CHECK(answers[1].reason == MissingReason::gap);
  CHECK(bench.deliver(2, 2) == Delivery::late);
  CHECK(bench.deliver(2, 3) == Delivery::taken);
  CHECK(bench.sink.take().size() == 1);
}

TEST_CASE("a slice that a source has passed before its announcement is missing for that range's reason") {
  Bench bench;
  bench.buffer->source_passed(SourceId(1), SliceId(4), MissingReason::not_produced, bench.sink);
  bench.buffer->source_passed(SourceId(1), SliceId(6), MissingReason::gap, bench.sink);
  bench.buffer->source_passed(SourceId(1), SliceId(9), MissingReason::not_produced, bench.sink);
  bench.announce(4, 4);
  for (std::uint64_t slice = 4; slice <= 7; ++slice) bench.buffer->request(ask(slice, 1), bench.sink);
  std::vector<MissingReason> reasons;
  for (const Answer& answer : bench.sink.take()) reasons.push_back(answer.reason);
  CHECK(reasons == std::vector{MissingReason::not_produced, MissingReason::gap, MissingReason::gap,
                               MissingReason::not_produced});
}

TEST_CASE("a part that its source reports as lost is missing immediately, with its reason") {
  Bench bench;
  SourceFragment lost;
  lost.status = FragmentStatus::missing;
  lost.reason = MissingReason::gap;
  CHECK(bench.buffer->deliver(SourceId(1), SliceId(2), lost, bench.sink) == Delivery::taken);
  CHECK(bench.buffer->counters().produced == 0);
  bench.announce(2);
  bench.buffer->request(ask(2, 1), bench.sink);
  const auto answers = bench.sink.take();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].reason == MissingReason::gap);
}

TEST_CASE("a second fragment of the same source and slice is a duplicate, early or held") {
  Bench bench;
  CHECK(bench.deliver(1, 1) == Delivery::taken);
  CHECK(bench.deliver(1, 1) == Delivery::duplicate);
  bench.announce(1);
  CHECK(bench.deliver(1, 1) == Delivery::duplicate);
  CHECK(bench.drops(DropReason::duplicate) == 2);
  CHECK(bench.buffer->counters().produced == 4);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("early fragments beyond the limits push out the oldest slices, which are then missing as dropped") {
  BufferLimits limits;
  limits.early_slices_max = 3;
  limits.early_bytes_max = 100;
  Bench bench(limits);
  for (std::uint64_t slice = 1; slice <= 4; ++slice) CHECK(bench.deliver(1, slice) == Delivery::taken);
  CHECK(bench.drops(DropReason::early_full) == 1);
  CHECK(bench.deliver(1, 5, 90) == Delivery::taken);  // evicts all others
  CHECK(bench.drops(DropReason::early_full) == 4);
  CHECK(bench.deliver(2, 5, 90) == Delivery::full);  // only its own slice is left
  CHECK(bench.deliver(1, 6, 101) == Delivery::too_large);
  bench.announce(1);
  bench.buffer->request(ask(1, 1), bench.sink);
  CHECK(bench.sink.take().at(0).reason == MissingReason::dropped);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("early fragments of slices that announcements pass over are dropped, not_triggered") {
  Bench bench;
  for (std::uint64_t slice = 1; slice <= 5; ++slice) CHECK(bench.deliver(1, slice) == Delivery::taken);
  bench.announce(3);
  CHECK(bench.drops(DropReason::not_triggered) == 2);
  CHECK(bench.buffer->counters().slices_early == 2);
  CHECK(bench.deliver(2, 2) == Delivery::late);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("arrivals that do not fit the buffer are dropped, and missing") {
  BufferLimits limits;
  limits.bytes_max = 100;
  Bench bench(limits);
  bench.announce(1);  // 16 bytes of source 3
  bench.buffer->request(ask(1, 1), bench.sink);
  CHECK(bench.deliver(1, 1, 90) == Delivery::full);
  CHECK(bench.sink.take().at(0).reason == MissingReason::dropped);
  CHECK(bench.deliver(2, 1, 101) == Delivery::too_large);
  CHECK(bench.drops(DropReason::buffer_full) == 1);
  CHECK(bench.drops(DropReason::too_large) == 1);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE(
    "clearing a slice before its fragments arrive answers its requests, and drops the fragments later") {
  Bench bench;
  bench.announce(1);
  bench.buffer->request(ask(1, 1), bench.sink);
  CHECK(bench.deliver(2, 1) == Delivery::taken);
  const SliceId slice(1);
  bench.buffer->clear(std::span(&slice, 1), bench.sink);
  CHECK(bench.sink.take().at(0).reason == MissingReason::not_produced);
  CHECK(bench.deliver(1, 1) == Delivery::late);
  CHECK(bench.buffer->counters().held == 0);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("the end of the run drops early fragments and releases their memory") {
  Bench bench;
  SourceFragment fragment = arriving(9);
  const std::weak_ptr<const void> memory = fragment.owner;
  CHECK(bench.buffer->deliver(SourceId(1), SliceId(9), std::move(fragment), bench.sink) == Delivery::taken);
  bench.buffer->end_run(bench.sink);
  CHECK(memory.expired());
  CHECK(bench.drops(DropReason::run_ended) == 1);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("deliveries for an unknown source, or for one made here, are rejected") {
  Bench bench;
  CHECK(bench.deliver(99, 1) == Delivery::unknown_source);
  CHECK(bench.deliver(3, 1) == Delivery::unknown_source);
  CHECK(bench.buffer->counters().produced == 0);
}

TEST_CASE("late front-ends: expected fragments reserve their bytes, so that late ones find room") {
  BufferLimits limits;
  limits.bytes_max = 100'000;
  limits.expected_bytes = 1000;
  limits.wait_ns = 0;
  Bench bench(limits);
  std::vector<std::uint64_t> waiting;
  for (std::uint64_t slice = 0; slice < 2000; ++slice) {
    REQUIRE(bench.buffer->announce(triggers(slice, 1), bench.sink) == 1);
    bench.buffer->make_some(1000, bench.sink);
    CHECK(bench.buffer->counters().bytes_held + bench.buffer->counters().bytes_reserved <= limits.bytes_max);
    // The oldest slice arrives when the buffer has no room for another, and is cleared.
    waiting.push_back(slice);
    if (bench.buffer->counters().waiting == 0) continue;
    const SliceId oldest(waiting.front());
    waiting.erase(waiting.begin());
    CHECK(bench.deliver(1, oldest.value, 1000) == Delivery::taken);
    CHECK(bench.deliver(2, oldest.value, 1000) == Delivery::taken);
    bench.buffer->clear(std::span(&oldest, 1), bench.sink);
  }
  CHECK(bench.drops(DropReason::buffer_full) == 0);
  CHECK(waiting.size() > 40);  // of 2016 bytes each
  CHECK(waiting.size() < 60);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("the expected size follows the sizes that came, and a sparse source reserves little") {
  BufferLimits limits;
  limits.bytes_max = 1U << 30U;
  limits.expected_bytes = 100;
  Bench bench(limits);
  const auto reserved_for = [&](std::uint64_t slice) {
    bench.announce(slice);
    return bench.buffer->counters().bytes_reserved;
  };
  CHECK(reserved_for(0) == 200);  // nothing has arrived yet
  CHECK(bench.deliver(1, 0, 8000) == Delivery::taken);
  CHECK(bench.buffer->counters().bytes_reserved == 100);
  CHECK(reserved_for(1) == 100 + 8000 + 100);
  // Source 1 sends 8000 bytes in one slice of a hundred, and reports the other slices as empty.
  bench.buffer->source_passed(SourceId(2), SliceId(1), MissingReason::not_produced, bench.sink);
  std::uint64_t sum = 0;
  for (std::uint64_t slice = 2; slice < 4000; ++slice) {
    bench.announce(slice);
    const std::uint64_t before = bench.buffer->counters().bytes_reserved;
    if (slice % 100 == 0) CHECK(bench.deliver(1, slice, 8000) == Delivery::taken);
    bench.buffer->source_passed(SourceId(1), SliceId(slice), MissingReason::not_produced, bench.sink);
    bench.buffer->source_passed(SourceId(2), SliceId(slice), MissingReason::not_produced, bench.sink);
    CHECK(bench.buffer->counters().bytes_reserved == 0);
    if (slice >= 1000) sum += before;
  }
  CHECK(sum / 3000 < 1500);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("a fragment of a slice that announcements have skipped is not triggered, however late it comes") {
  Bench bench;
  bench.announce(3);
  bench.announce(9);
  CHECK(bench.deliver(1, 2) == Delivery::late);
  CHECK(bench.deliver(1, 4) == Delivery::late);
  CHECK(bench.deliver(2, 8) == Delivery::late);
  CHECK(bench.drops(DropReason::not_triggered) == 3);
  const std::vector<SliceId> settled{SliceId(3)};
  bench.buffer->clear(settled, bench.sink);
  CHECK(bench.deliver(1, 3) == Delivery::late);
  CHECK(bench.drops(DropReason::late) == 1);
  CHECK(balanced(bench.buffer->counters()));
}

TEST_CASE("by number, late fragments of vetoed numbers are not triggered, and of skipped ones are lost") {
  BufferLimits limits;
  limits.gaps_have_no_trigger = false;
  limits.notes_max = 2;
  Bench bench(limits);
  CHECK(bench.deliver(1, 7) == Delivery::taken);
  const std::vector<SliceId> vetoed{SliceId(5), SliceId(7), SliceId(8)};
  bench.buffer->skip(vetoed, bench.sink);
  CHECK(bench.drops(DropReason::not_triggered) == 1);
  CHECK(bench.deliver(2, 7) == Delivery::late);
  bench.announce(10);
  CHECK(bench.deliver(2, 5) == Delivery::late);
  CHECK(bench.deliver(2, 8) == Delivery::late);
  CHECK(bench.drops(DropReason::not_triggered) == 4);
  CHECK(bench.deliver(2, 6) == Delivery::late);
  CHECK(bench.deliver(2, 9) == Delivery::late);
  CHECK(bench.drops(DropReason::late) == 2);
  // Two ranges are remembered.
  const std::vector<SliceId> more{SliceId(12)};
  bench.buffer->skip(more, bench.sink);
  CHECK(bench.deliver(1, 5) == Delivery::late);
  CHECK(bench.drops(DropReason::late) == 3);
  CHECK(balanced(bench.buffer->counters()));
}
