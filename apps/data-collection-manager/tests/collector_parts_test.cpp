// The small parts of the collector: absences, outages, overdrafts, sizes.
#include "../src/absent_readouts.hpp"
#include "../src/outage_clock.hpp"
#include "../src/overdraft.hpp"
#include "../src/size_estimates.hpp"
#include "weir_catch.hpp"
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <array>

using namespace weir;
using namespace weir::dcm;
using Readouts = std::vector<std::uint32_t>;

TEST_CASE("readouts are absent from the slices of the supervisor's table, and return with the next one") {
  AbsentReadouts absent(3);
  CHECK(absent.find(SliceOrder(5)).empty());
  slice_rows::AbsenceTable table;
  table.leave(NodeIndex(1), SliceOrder(10));
  CHECK(absent.replace(table).empty());
  CHECK(absent.find(SliceOrder(9)).empty());
  CHECK_FALSE(absent.find(SliceOrder(9)).contains(1));
  CHECK(absent.find(SliceOrder(10)).readouts == Readouts{1});
  CHECK(absent.is_absent(1, SliceOrder(10)));
  CHECK_FALSE(absent.is_absent(2, SliceOrder(10)));
  table.join(NodeIndex(1), SliceOrder(12));
  CHECK(absent.replace(table) == Readouts{1});
  CHECK(absent.find(SliceOrder(11)).contains(1));
  CHECK(absent.find(SliceOrder(12)).empty());
  CHECK(absent.replace(table).empty());
}

TEST_CASE("deadlines wait for the line, and begin anew after an outage of the same length") {
  OutageClock outage(kSecond);
  CHECK(outage.due(10 * kSecond, 10 * kSecond).until == 10 * kSecond);
  CHECK(outage.due(10 * kSecond, 14 * kSecond).until == 10 * kSecond);   // the line is silent
  for (TimeNs now = 15 * kSecond; now < 20 * kSecond; now += kSecond) {  // 5 s of silence: an outage
    CHECK(outage.due(now, now).until == 0);
  }
  const OutageClock::Due over = outage.due(20 * kSecond, 20 * kSecond);
  CHECK(over.until == 20 * kSecond);
  CHECK(over.begin_anew);
  CHECK_FALSE(outage.due(21 * kSecond, 21 * kSecond).begin_anew);
}

TEST_CASE("a short silence is not an outage, and a long one delays deadlines by 30 s at most") {
  OutageClock outage(kSecond);
  (void)outage.due(10 * kSecond, 10 * kSecond);
  CHECK(outage.due(11 * kSecond, 11 * kSecond).until == 11 * kSecond);
  for (TimeNs now = 100 * kSecond; now < 130 * kSecond; now += kSecond)
    CHECK(outage.due(now, now).until == 0);
  CHECK(outage.due(130 * kSecond, 130 * kSecond).begin_anew);
}

TEST_CASE("requests exceed a full window one at a time after a standstill, then twice as many") {
  Overdraft overdraft;
  overdraft.note_progress(kSecond);
  TimeNs now = kSecond;
  const auto sent = [&](std::uint64_t outstanding) {
    overdraft.begin_round(true, now);
    const bool allowed = overdraft.allows(outstanding);
    if (allowed) overdraft.note_progress(now);
    return allowed;
  };
  CHECK_FALSE(sent(100));
  now += 500 * kMillisecond;
  CHECK(sent(100));
  CHECK_FALSE(sent(110));
  now += 500 * kMillisecond;
  CHECK(sent(110));
  CHECK_FALSE(sent(120));  // the second of them waits until the first is answered
  CHECK(sent(110));
  CHECK_FALSE(sent(110));
  CHECK(overdraft.count() == 3);
}

TEST_CASE("room in the window ends the overdraft, unless all that is stuck is still outstanding") {
  Overdraft overdraft;
  for (TimeNs now : {kSecond, 2 * kSecond}) {
    overdraft.begin_round(true, now);
    CHECK(overdraft.allows(100));
    overdraft.note_progress(now);
  }
  overdraft.granted(100);  // a short request beside the stuck ones
  CHECK(overdraft.allows(100));
  overdraft.begin_round(true, 3 * kSecond);
  CHECK(overdraft.allows(100));
  overdraft.granted(99);
  CHECK_FALSE(overdraft.allows(99));
}

TEST_CASE("no request exceeds a window that time refills") {
  Overdraft overdraft;
  overdraft.begin_round(false, kSecond);
  CHECK_FALSE(overdraft.allows(100));
  CHECK(overdraft.count() == 0);
}

namespace {

const std::array kThreeSources{assembly::SourceInfo{SourceId(1), 0}, assembly::SourceInfo{SourceId(2), 0},
                               assembly::SourceInfo{SourceId(3), 1}};

}  // namespace

TEST_CASE("the bytes of a readout are the sum of what its sources sent recently") {
  SizeEstimates sizes(kThreeSources, 2);
  CHECK(sizes.sources(0) == 2);
  CHECK_FALSE(sizes.knows_all(0));
  sizes.learn(0, std::array{assembly::FragmentSize{0, 100}});
  CHECK_FALSE(sizes.knows_all(0));
  sizes.learn(0, std::array{assembly::FragmentSize{1, 60}});
  CHECK(sizes.knows_all(0));
  CHECK_FALSE(sizes.knows_all(1));
  CHECK(sizes.bytes(0) == wire::fragment_wire_bytes(100) + wire::fragment_wire_bytes(60));
  sizes.learn(0, std::array{assembly::FragmentSize{1, 220}});
  CHECK(sizes.of(1).bytes() == 70);
  CHECK(sizes.bytes(0) == wire::fragment_wire_bytes(100) + wire::fragment_wire_bytes(70));
}

TEST_CASE("short answers halve the guess of an unknown size, long ones raise it") {
  SizeEstimates sizes(kThreeSources, 2);
  const std::uint64_t piece = 1000 + wire::kHeaderBytes;
  sizes.learn(0, {});  // nothing was requested yet
  CHECK(sizes.guess(0, piece) == 1000);
  sizes.learn(0, {});
  CHECK(sizes.guess(0, piece) == 500);
  sizes.learn(0, std::array{assembly::FragmentSize{0, 800}});
  CHECK(sizes.guess(0, piece) == 800);
  CHECK(sizes.guess(0, 100 + wire::kHeaderBytes) == 100);
  for (int i = 0; i < 10; ++i) sizes.learn(0, {});
  CHECK(sizes.guess(0, piece) == 16);
}

TEST_CASE("the bytes left of a step are its part of the readout's sources, and its ranges") {
  SizeEstimates sizes(kThreeSources, 2);
  sizes.learn(0, std::array{assembly::FragmentSize{0, 100}, assembly::FragmentSize{1, 100}});
  auto selection = std::make_shared<assembly::Selection>();
  selection->by_readout = {{SourceId(1), SourceId(2)}, {}};
  assembly::Gathering gathering;
  gathering.begin(2, selection, 1);
  CHECK(sizes.bytes_left(gathering, 0) == sizes.bytes(0));
  gathering.parts[0].next = 1;
  CHECK(sizes.bytes_left(gathering, 0) == sizes.bytes(0) / 2);
  gathering.parts[0].offset = 40;
  CHECK(sizes.bytes_left(gathering, 0) == sizes.bytes(0) / 2 - 40);
  gathering.add_range(0, {0, 10, 30});
  CHECK(sizes.bytes_left(gathering, 0) == sizes.bytes(0) / 2 - 40 + 30);
}
