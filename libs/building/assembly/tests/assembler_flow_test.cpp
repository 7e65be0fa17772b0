#include "assembly_fixture.hpp"
#include "weir_catch.hpp"

#include <array>
#include <cstring>

namespace weir::assembly {
namespace {

using Ids = std::vector<std::uint64_t>;

void complete_at_once(Fixture& f, BuiltSlice& slice) {
  for (SourceIndex i = 0; i < f.assembler.sources().size(); ++i) f.deliver_ok(slice, i, 20);
}

}  // namespace

TEST_CASE("slices leave in the order in which they are completed") {
  Fixture f;
  BuiltSlice& a = f.open_all(1);
  BuiltSlice& b = f.open_all(2);
  BuiltSlice& c = f.open_all(3);
  complete_at_once(f, c);
  complete_at_once(f, a);
  CHECK(f.completed_ids() == Ids{3, 1});
  complete_at_once(f, b);
  CHECK(f.completed_ids() == Ids{2});
}

TEST_CASE("in id order a slice waits for the smaller ones that are open, and each leaves once") {
  AssemblySettings settings;
  settings.order = ReleaseOrder::by_id;
  Fixture f(settings);
  BuiltSlice& c = f.open_all(3);
  BuiltSlice& a = f.open_all(1);
  BuiltSlice& b = f.open_all(2);
  complete_at_once(f, c);
  CHECK(f.completed_ids().empty());
  CHECK(c.state() == BuildState::complete);
  complete_at_once(f, a);
  CHECK(f.completed_ids() == Ids{1});

  SECTION("the last one that others wait for is completed") {
    complete_at_once(f, b);
    CHECK(f.completed_ids() == Ids{2, 3});
  }
  SECTION("the last one that others wait for is released") {
    f.assembler.release(b);
    CHECK(f.completed_ids() == Ids{3});
  }
  SECTION("the waiting one itself is released") {
    f.assembler.release(c);
    complete_at_once(f, b);
    CHECK(f.completed_ids() == Ids{2});
  }
  CHECK(f.completed_ids().empty());
}

TEST_CASE("in id order complete slices may overtake one that waits for their memory") {
  AssemblySettings settings;
  settings.order = ReleaseOrder::by_id;
  Fixture f(settings);
  BuiltSlice& a = f.open_all(1);
  BuiltSlice& b = f.open_all(2);
  complete_at_once(f, b);
  CHECK(f.assembler.leaving() == 0);
  f.assembler.let_overtake();
  CHECK(f.assembler.leaving() == 1);
  BuiltSlice& c = f.open_all(3);
  complete_at_once(f, c);
  CHECK(f.completed_ids() == Ids{2});  // 3 waits for 1 as before
  complete_at_once(f, a);
  CHECK(f.completed_ids() == Ids{1, 3});
}

TEST_CASE("pushed slices in id order wait for each other, and for no requested slice") {
  AssemblySettings settings;
  settings.order = ReleaseOrder::pushed_by_id;
  Fixture f(settings);
  f.open_all(1);  // requested, and never completed
  BuiltSlice& c = f.open_all(3);
  BuiltSlice& d = f.open_all(4);
  BuiltSlice& b = f.open_all(2);  // requested
  f.assembler.expect(c, 1000);
  f.assembler.expect(d, 2000);
  complete_at_once(f, d);
  complete_at_once(f, b);
  CHECK(f.completed_ids() == Ids{2});
  f.assembler.let_overtake();
  CHECK(f.completed_ids().empty());
  f.assembler.give_up(c, MissingReason::overflow, 5);
  CHECK(f.completed_ids() == Ids{3, 4});
  CHECK(f.missing(MissingReason::overflow) == 3);
  CHECK(f.assembler.take_expired() == std::vector<BuiltSlice*>{&c});  // its requests are to be cancelled
}

TEST_CASE("in id order a later step leaves as it is completed") {
  AssemblySettings settings;
  settings.order = ReleaseOrder::by_id;
  Fixture f(settings);
  BuiltSlice& a = f.open(1);
  const SourceIndex first[] = {0};
  f.assembler.want(a, first);
  f.deliver_ok(a, 0, 20);
  CHECK(f.completed_ids() == Ids{1});
  f.open_all(0);  // smaller, and never completed
  f.next_step(a);
  f.assembler.want_all(a);
  f.deliver_ok(a, 1, 20);
  f.deliver_ok(a, 2, 20);
  CHECK(f.completed_ids() == Ids{1});
}

TEST_CASE("a filter that needs more gets fragments not requested before, and keeps its others") {
  AssemblySettings settings;
  settings.deadline_ns = 1000;
  Fixture f(settings);
  BuiltSlice& slice = f.open(4, 0, 10);
  const SourceIndex first[] = {1};
  CHECK(f.assembler.want(slice, first) == 1);
  f.assembler.requested(slice, 10);
  f.deliver_ok(slice, 1, 40, 20);
  CHECK(f.completed_ids() == Ids{4});
  const void* data = slice.table[1].data;

  f.next_step(slice);
  CHECK(slice.step == 1);
  CHECK(slice.state() == BuildState::waiting_for_memory);
  CHECK(f.assembler.want_all(slice) == 2);
  f.assembler.requested(slice, 5000);
  CHECK(slice.first_request_ns == 10);
  CHECK(slice.deadline_ns == 6000);
  CHECK_FALSE(f.deliver_ok(slice, 1, 40));
  f.deliver_ok(slice, 0, 40);
  f.assembler.expire(5999);
  CHECK(slice.state() == BuildState::collecting);
  f.deliver_ok(slice, 2, 40);
  CHECK(f.completed_ids() == Ids{4});
  CHECK(slice.table[1].data == data);
  for (SourceIndex i = 0; i < 3; ++i) CHECK(holds_content(slice, i));

  f.next_step(slice);
  CHECK(f.assembler.want(slice, first) == 0);
  CHECK(f.completed_ids() == Ids{4});
  CHECK(slice.step == 2);
  CHECK(f.counters().requested == 3);
  CHECK(f.counters().received == 3);
  CHECK(f.counters().duplicate == 1);
}

TEST_CASE("a deadline is put off while bytes arrive, half a deadline after the last of them, up to a limit") {
  AssemblySettings settings;
  settings.deadline_ns = 1000;
  settings.deadline_most_ns = 3000;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(1, 0, 0);
  BuiltSlice& silent = f.open_all(2, 0, 0);
  f.deliver_ok(silent, 0, 20, 400);  // the others never come: no longer than a deadline
  TimeNs now = 300;
  for (; now < 3000; now += 300) {
    Assembler::note_bytes(slice, now);
    f.assembler.expire(now);
    CHECK(slice.state() == BuildState::collecting);
    CHECK((silent.state() == BuildState::collecting) == (now < 1000));
  }
  f.assembler.expire(2999);
  CHECK(slice.state() == BuildState::collecting);
  f.assembler.expire(3000);
  CHECK(slice.state() == BuildState::complete);
  CHECK_FALSE(slice.expired_empty);
  CHECK_FALSE(silent.expired_empty);
  BuiltSlice& empty = f.open_all(3, 0, 5000);
  f.assembler.expire(6000);
  CHECK(empty.state() == BuildState::complete);
  CHECK(empty.expired_empty);
}

TEST_CASE("a deadline is put off across gaps of the line's length, up to the same limit") {
  AssemblySettings settings;
  settings.deadline_ns = 1000;
  settings.deadline_most_ns = 5000;
  Fixture f(settings);
  f.assembler.set_gap(1600);
  BuiltSlice& slice = f.open_all(1, 0, 0);
  for (const TimeNs now : {900, 2400, 3900}) {
    Assembler::note_bytes(slice, now);
    f.assembler.expire(now + 1500);
    CHECK((slice.state() == BuildState::collecting) == (now < 3900));
  }
  BuiltSlice& silent = f.open_all(2, 0, 6000);
  Assembler::note_bytes(silent, 6100);
  f.assembler.expire(7699);
  CHECK(silent.state() == BuildState::collecting);
  f.assembler.expire(7700);
  CHECK(silent.state() == BuildState::complete);
}

TEST_CASE("a slice is completed without fragments missing at its deadline, which are late afterwards") {
  AssemblySettings settings;
  settings.deadline_ns = 1000;
  Fixture f(settings);
  BuiltSlice& old = f.open_all(1, 0, 0);
  BuiltSlice& young = f.open_all(2, 0, 500);
  f.open(3);  // never requested: no deadline
  f.deliver_ok(old, 0, 20, 10);
  f.assembler.expire(999);
  CHECK(f.assembler.take_expired().empty());
  f.assembler.expire(1000);
  CHECK(f.assembler.take_expired() == std::vector<BuiltSlice*>{&old});
  CHECK(f.assembler.take_expired().empty());
  CHECK(f.completed_ids() == Ids{1});
  CHECK(old.flawed == 2);
  CHECK(f.missing(MissingReason::deadline) == 2);
  CHECK_FALSE(f.deliver_ok(old, 1, 20));
  CHECK(f.counters().late == 1);

  f.assembler.expire(1499);
  CHECK(young.state() == BuildState::collecting);
  f.assembler.expire(1500);
  CHECK(f.completed_ids() == Ids{2});
  f.assembler.release(old);
  f.assembler.release(young);
  CHECK(f.assembler.take_expired().empty());  // released: ignored
}

TEST_CASE("a lost readout costs its own fragments, in every slice that waits for them") {
  Fixture f;
  BuiltSlice& a = f.open_all(1);
  BuiltSlice& b = f.open_all(2);
  BuiltSlice& c = f.open_all(3);
  f.deliver_ok(a, 2, 20);
  f.deliver_ok(b, 0, 20);
  f.deliver_ok(b, 1, 20);
  f.assembler.readouts_lost(std::array{1U}, MissingReason::source_down, 50);
  CHECK(f.completed_ids() == Ids{2});
  CHECK(f.missing(MissingReason::source_down) == 2);
  CHECK(a.flawed == 0);
  CHECK(c.outstanding == 2);
  f.assembler.readouts_lost(std::array{0U}, MissingReason::source_down, 60);
  CHECK(f.completed().size() == 2);
  CHECK(f.missing(MissingReason::source_down) == 6);
}

TEST_CASE("a fragment that is given up during its reception stays missing, and its bytes do no harm") {
  Fixture f;
  BuiltSlice& slice = f.open_all(1);
  const auto bytes = content(SliceId(1), SourceId(10), 500);
  const auto header = whole_header(SliceId(1), Attempt(0), SourceId(10), bytes);
  const Reception reception = f.assembler.begin(header, 0);
  f.assembler.give_up(slice, MissingReason::overflow, 5);
  CHECK(f.completed_ids() == Ids{1});
  CHECK(f.missing(MissingReason::overflow) == 3);

  std::memcpy(reception.target, bytes.data(), bytes.size());
  SECTION("it arrives in the end") {
    f.assembler.finish(reception, header, 9);
    CHECK(f.counters().late == 1);
  }
  SECTION("its connection breaks") { f.assembler.abandon(reception); }
  CHECK(f.counters().received == 0);
  CHECK(slice.table[0].status == static_cast<std::uint8_t>(FragmentStatus::missing));
  f.assembler.release(slice);
  CHECK(f.pool.bytes_used() == 0);
}

TEST_CASE(
    "a slice that is released while a fragment is received keeps that memory until the reception ends") {
  Fixture f({}, Fixture::three_sources(), 2 * BufferPool::kBlockMin);
  BuiltSlice& slice = f.open_all(1);
  const auto bytes = content(SliceId(1), SourceId(10), 4000);
  const auto header = whole_header(SliceId(1), Attempt(0), SourceId(10), bytes);
  const Reception reception = f.assembler.begin(header, 0);
  f.assembler.release(slice);
  CHECK(f.missing(MissingReason::dropped) == 3);
  CHECK(f.pool.bytes_used() == BufferPool::kBlockMin);
  CHECK(f.slices.open_count() == 0);

  // The same id again: other memory, and another slice.
  BuiltSlice& again = f.open_all(1);
  CHECK(&again != &slice);
  CHECK(f.deliver_ok(again, 0, 4000));
  std::memset(reception.target, 0xee, header.length);
  CHECK(holds_content(again, 0));

  SECTION("it arrives in the end") { f.assembler.finish(reception, header, 9); }
  SECTION("its connection breaks") { f.assembler.abandon(reception); }
  CHECK(f.pool.bytes_used() == BufferPool::kBlockMin);
  f.assembler.release(again);
  CHECK(f.pool.bytes_used() == 0);
}

TEST_CASE("after a broken connection a fragment is received again from its start") {
  AssemblySettings settings;
  settings.range_bytes = 100;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(1);
  const auto bytes = content(SliceId(1), SourceId(10), 150);
  const auto first = range_header(SliceId(1), Attempt(0), SourceId(10), bytes, 0, 100);
  const auto second = range_header(SliceId(1), Attempt(0), SourceId(10), bytes, 100, 100);
  CHECK(f.deliver(first, bytes, 0));
  f.assembler.abandon(f.assembler.begin(second, 0));
  CHECK_FALSE(f.deliver(second, ConstBytes(bytes).subspan(100), 0));
  CHECK(f.deliver(first, bytes, 0));
  CHECK(f.deliver(second, ConstBytes(bytes).subspan(100), 0));
  CHECK(holds_content(slice, 0));
  CHECK(f.counters().received == 1);
}

TEST_CASE("a released slice leaves no wish for a range behind") {
  AssemblySettings settings;
  settings.range_bytes = 10;
  Fixture f(settings);
  BuiltSlice& slice = f.open_all(1);
  const auto bytes = content(SliceId(1), SourceId(10), 50);
  f.deliver(range_header(SliceId(1), Attempt(0), SourceId(10), bytes, 0, 10), bytes, 0);
  CHECK(f.assembler.ranges_wanted().size() == 1);
  f.assembler.release(slice);
  REQUIRE(f.assembler.ranges_wanted().size() == 1);
  CHECK(f.assembler.ranges_wanted()[0].slice == nullptr);
}

}  // namespace weir::assembly
