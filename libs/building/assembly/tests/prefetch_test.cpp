// Fragments that are here, or on their way, before a step has named them.
#include "assembly_fixture.hpp"
#include "weir_catch.hpp"

namespace weir::assembly {
namespace {

constexpr SourceIndex kFirst = 0;
constexpr SourceIndex kSecond = 1;
constexpr SourceIndex kThird = 2;

bool is_hidden(const BuiltSlice& slice, SourceIndex source) {
  return slice.table[source].status == abi_status(FragmentStatus::not_requested);
}

// A slice at the filter with its first step, while its second source is requested ahead.
struct AtFirstStep {
  explicit AtFirstStep(AssemblySettings settings = {}) : f(settings), slice(f.open(4)) {
    f.assembler.want(slice, std::array{kFirst});
    f.assembler.requested(slice, 0);
    f.deliver_ok(slice, kFirst, 100);
    CHECK(f.completed() == std::vector{&slice});
    CHECK(f.assembler.want_ahead(slice, std::array{kSecond}) == 1);
    slice.progress[kSecond].sent_ahead = true;
    f.slices.change(slice, BuildState::filtering);
  }
  void need(SourceIndex source) {
    f.assembler.next_step(slice);
    (void)f.assembler.want(slice, std::array{source});
  }
  Fixture f;
  BuiltSlice& slice;
};

}  // namespace

TEST_CASE(
    "a prefetched fragment is hidden from the filter until a step needs it, and then available immediately") {
  AtFirstStep at;
  CHECK(at.f.deliver_ok(at.slice, kSecond, 50));
  CHECK(is_hidden(at.slice, kSecond));
  CHECK(at.slice.payload_bytes == 100);
  at.need(kSecond);
  CHECK(at.f.completed() == std::vector{&at.slice});
  CHECK(at.slice.table[kSecond].length == 50);
  CHECK(at.slice.payload_bytes == 150);
  CHECK(at.f.counters().prefetch_used == 1);
  CHECK(at.f.counters().prefetch_bytes == 50);
  CHECK(at.f.counters().requested == 2);
}

TEST_CASE("a step waits for a prefetched fragment in transit, and does not request it again") {
  AtFirstStep at;
  at.need(kSecond);
  CHECK(at.slice.state() == BuildState::collecting);
  CHECK(at.f.counters().requested == 2);
  CHECK(at.f.deliver_ok(at.slice, kSecond, 50));
  CHECK(at.f.completed() == std::vector{&at.slice});
  CHECK(at.slice.table[kSecond].length == 50);
}

TEST_CASE("a reject cancels fragments ahead, and counts those that had arrived as wasted") {
  AtFirstStep at;
  at.f.deliver_ok(at.slice, kSecond, 50);
  at.f.assembler.end_ahead(at.slice);
  at.f.slices.change(at.slice, BuildState::decided);
  CHECK(at.f.counters().prefetch_wasted_bytes == 50);
  CHECK(at.f.counters().prefetch_unused == 1);
  at.f.assembler.release(at.slice);
  CHECK(at.f.counters().requested == at.f.counters().received + at.f.counters().cancelled);
}

TEST_CASE("a prefetched fragment that is missing, and that no step needed, is overtaken once") {
  const bool counts = GENERATE(false, true);
  AtFirstStep at;
  at.f.deliver_missing(at.slice, kSecond, MissingReason::not_produced);
  at.f.assembler.end_ahead(at.slice);
  at.f.slices.change(at.slice, BuildState::decided);
  at.slice.counts = counts;
  at.f.assembler.release(at.slice);
  constexpr auto kReason = static_cast<std::size_t>(MissingReason::not_produced);
  CHECK(at.f.counters().missing[kReason] == 1);
  CHECK(at.f.counters().overtaken[kReason] == 1);
}

TEST_CASE("a prefetched fragment that arrives after the reject is late and wasted") {
  AtFirstStep at;
  at.f.assembler.end_ahead(at.slice);
  at.f.slices.change(at.slice, BuildState::decided);
  CHECK_FALSE(at.f.deliver_ok(at.slice, kSecond, 50));
  CHECK(at.f.counters().late == 1);
  CHECK(at.f.counters().cancelled == 1);
  CHECK(at.f.counters().prefetch_wasted_bytes == 50);
}

TEST_CASE("a source prefetched from a readout that is lost is requested again by the step that needs it") {
  AtFirstStep at;
  at.f.assembler.readouts_lost(std::array{0U}, MissingReason::source_down, 0);
  CHECK(is_hidden(at.slice, kSecond));
  CHECK(at.f.counters().missing[static_cast<std::size_t>(MissingReason::source_down)] == 0);
  at.need(kSecond);
  CHECK(at.slice.outstanding == 1);
  CHECK(at.f.counters().requested == 3);
  CHECK(at.f.counters().cancelled == 1);
}

TEST_CASE("a prefetched fragment that is missing makes the slice incomplete only for a step that needs it") {
  AtFirstStep at;
  at.f.deliver_missing(at.slice, kSecond, MissingReason::not_produced);
  CHECK(at.slice.flawed == 0);
  CHECK(is_hidden(at.slice, kSecond));
  at.need(kSecond);
  CHECK(at.slice.flawed == 1);
  CHECK(at.slice.table[kSecond].status == abi_status(FragmentStatus::missing));
}

TEST_CASE("a step has its own deadline, which arriving bytes do not put off") {
  AssemblySettings settings;
  settings.deadline_ns = 1000;
  settings.deadline_most_ns = 5000;
  settings.step_deadlines_ns = {0, 300};
  AtFirstStep at(settings);
  at.need(kThird);
  at.f.assembler.requested(at.slice, 2000);
  CHECK(at.slice.deadline_ns == 2300);
  Assembler::note_bytes(at.slice, 2299);
  at.f.assembler.expire(2300);
  CHECK(at.f.completed() == std::vector{&at.slice});
  CHECK(at.slice.table[kThird].missing_reason == static_cast<std::uint8_t>(MissingReason::deadline));
}

TEST_CASE("a step with its own deadline begins its time anew with that one") {
  AssemblySettings settings;
  settings.deadline_ns = 1000;
  settings.step_deadlines_ns = {0, 300};
  AtFirstStep at(settings);
  at.need(kThird);
  at.f.assembler.requested(at.slice, 2000);
  at.f.assembler.put_off_deadlines(2100);
  CHECK(at.slice.deadline_ns == 2400);
  at.f.assembler.expire(2399);
  CHECK(at.f.completed().empty());
  at.f.assembler.expire(2400);
  CHECK(at.f.completed() == std::vector{&at.slice});
}

TEST_CASE("a slice requested whole shows only named fragments, and its later steps are complete at once") {
  Fixture f;
  BuiltSlice& slice = f.open_all(4);
  for (const SourceIndex source : {kFirst, kThird}) f.deliver_ok(slice, source, 100);
  f.deliver_missing(slice, kSecond, MissingReason::dropped);
  REQUIRE(f.completed() == std::vector{&slice});
  f.assembler.hide_unnamed(slice, {false, {kFirst}, {}});
  CHECK(slice.flawed == 0);
  CHECK(slice.payload_bytes == 100);
  CHECK(slice.table[kFirst].status == abi_status(FragmentStatus::ok));
  CHECK(is_hidden(slice, kSecond));
  CHECK(is_hidden(slice, kThird));
  CHECK(slice.arrived(kThird).length == 100);

  CHECK(f.assembler.is_here(slice, {false, {kSecond}, {}}));
  f.next_step(slice);
  CHECK(f.assembler.want(slice, std::array{kSecond}) == 0);
  CHECK(f.completed() == std::vector{&slice});
  CHECK(slice.flawed == 1);
  CHECK(slice.table[kSecond].status == abi_status(FragmentStatus::missing));
  CHECK(is_hidden(slice, kThird));

  f.next_step(slice);
  CHECK(f.assembler.want_all(slice) == 0);
  CHECK(f.completed() == std::vector{&slice});
  CHECK(slice.table[kThird].length == 100);
  CHECK(slice.payload_bytes == 200);
  CHECK(f.counters().requested == 3);
  CHECK(f.counters().prefetched == 0);
  CHECK(f.counters().prefetch_used == 0);
}

TEST_CASE("a slice that begins again repeats its steps without a request, and keeps its prefetches") {
  AtFirstStep at;
  at.need(kThird);
  CHECK(at.f.deliver_ok(at.slice, kThird, 30));
  REQUIRE(at.f.completed() == std::vector{&at.slice});
  at.f.slices.change(at.slice, BuildState::filtering);
  for (int life = 0; life < 2; ++life) {
    at.slice.step = 0;
    at.f.assembler.hide_unnamed(at.slice, {false, {kFirst}, {}});
    CHECK(at.slice.payload_bytes == 100);
    CHECK(is_hidden(at.slice, kThird));
    at.need(kThird);
    REQUIRE(at.f.completed() == std::vector{&at.slice});
    CHECK(at.slice.payload_bytes == 130);
    at.f.slices.change(at.slice, BuildState::filtering);
  }
  CHECK(at.slice.ahead == 1);
  at.f.deliver_ok(at.slice, kSecond, 50);
  at.need(kSecond);
  CHECK(at.f.completed() == std::vector{&at.slice});
  CHECK(at.slice.payload_bytes == 180);
  CHECK(at.f.counters().requested == 3);
  CHECK(at.f.counters().prefetch_used == 1);
  CHECK_FALSE(at.f.deliver_ok(at.slice, kThird, 30));
  CHECK(at.f.counters().duplicate == 1);
}

TEST_CASE("fragments that no step has named are shown again in a slice that no filter decides on") {
  Fixture f;
  BuiltSlice& slice = f.open_all(4);
  for (const SourceIndex source : {kFirst, kSecond}) f.deliver_ok(slice, source, 100);
  f.deliver_missing(slice, kThird, MissingReason::dropped);
  REQUIRE(f.completed() == std::vector{&slice});
  f.assembler.hide_unnamed(slice, {false, {kFirst}, {}});
  f.assembler.show_unnamed(slice);
  CHECK(slice.payload_bytes == 200);
  CHECK(slice.flawed == 1);
  CHECK(holds_content(slice, kSecond));
  f.slices.change(slice, BuildState::decided);
  f.assembler.release(slice);
  CHECK(f.counters().overtaken[static_cast<std::size_t>(MissingReason::dropped)] == 1);
  CHECK(f.pool.bytes_used() == 0);
}

}  // namespace weir::assembly
