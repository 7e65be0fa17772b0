#include "weir_catch.hpp"
#include <weir/reports/loss_watch.hpp>

using namespace weir;
using namespace weir::reports;
using Stage = LossWatch::Stage;

TEST_CASE("a source that loses more than its share is reported once, and named with its reasons at the end") {
  LossWatch watch(0.05);
  watch.add(SourceId(1), Stage::packets, 1000, 50, "stale");
  CHECK(watch.take_news().empty());  // exactly the share is still allowed
  CHECK(watch.faults().empty());
  watch.add(SourceId(1), Stage::packets, 100, 100, "late");
  const std::vector<std::string> fault{
      "source 1: 150 of 1100 packets that reached it were thrown away (late 100, stale 50)"};
  CHECK(watch.take_news() == fault);
  CHECK(watch.take_news().empty());
  CHECK(watch.faults() == fault);
  watch.begin_run();
  CHECK(watch.faults().empty());
}

TEST_CASE("whatever the reason and wherever it happens, losses of a source count") {
  LossWatch watch(0.05);
  watch.set_reached(SourceId(2), Stage::fragments, 100);
  watch.set_lost(SourceId(2), Stage::fragments, "buffer_full", 40);
  watch.set_lost(SourceId(2), Stage::fragments, "buffer_full", 60);  // in total
  watch.add(LossWatch::kNoSource, Stage::packets, 200, 0, "");
  watch.add(LossWatch::kNoSource, Stage::packets, 0, 100, "kernel_drops");
  CHECK(watch.faults() ==
        std::vector<std::string>{
            "100 of 200 packets that reached the readout were thrown away (kernel_drops 100)",
            "source 2: 60 of 100 fragments that reached it were thrown away (buffer_full 60)"});
}

TEST_CASE("fragments with other bytes than their source's are named as damaged, not as thrown away") {
  LossWatch watch(0.05);
  watch.set_reached(SourceId(3), Stage::fragments, 100);
  watch.set_lost(SourceId(3), Stage::fragments, "no_buffer", 5);
  watch.set_reached(SourceId(3), Stage::contents, 100);
  watch.set_lost(SourceId(3), Stage::contents, "corrupt", 60);
  CHECK(watch.faults() ==
        std::vector<std::string>{"source 3: 60 of 100 fragments that reached it are damaged (corrupt 60)"});
}

TEST_CASE("fragments that a source could not make are named as such") {
  LossWatch watch(0.05);
  watch.set_reached(SourceId(3), Stage::made, 400);
  watch.set_lost(SourceId(3), Stage::made, "make_failed", 400);
  CHECK(watch.faults() ==
        std::vector<std::string>{"source 3: 400 of 400 fragments could not be made (make_failed 400)"});
}

TEST_CASE("fragments of a source that sends nothing are named as missing") {
  LossWatch watch(0.05);
  watch.set_reached(SourceId(4), Stage::missing, 300);
  watch.set_lost(SourceId(4), Stage::missing, "deadline", 280);
  watch.set_lost(SourceId(4), Stage::missing, "gap", 20);
  CHECK(watch.faults() == std::vector<std::string>{
                              "source 4: 300 of 300 requested fragments are missing (deadline 280, gap 20)"});
}

TEST_CASE("fewer than ten losses are never too many, and with a share of 1 neither are more") {
  LossWatch watch(0.05);
  watch.add(SourceId(1), Stage::packets, 9, 9, "stale");
  CHECK(watch.faults().empty());
  LossWatch none(1);
  none.add(SourceId(1), Stage::packets, 900, 900, "stale");
  CHECK(none.faults().empty());
}

TEST_CASE("of very many sources and reasons the worst are named, the others counted") {
  LossWatch watch(0.05);
  for (std::uint32_t source = 0; source < 1000; ++source)
    watch.add(SourceId(source), Stage::packets, 5000, 1000 + source, "late");
  for (int reason = 0; reason < 100; ++reason)
    watch.add(SourceId(7), Stage::packets, 5000, 100, "reason-" + std::to_string(reason));
  const std::vector<std::string> faults = watch.faults();
  REQUIRE(faults.size() == LossWatch::kNamedMax + 1);
  CHECK(faults[0].starts_with("source 7: 11007 of 505000 packets") ==
        false);  // 2 % of the packets that arrived
  CHECK(faults[0] == "source 999: 1999 of 5000 packets that reached it were thrown away (late 1999)");
  CHECK(faults.back() == "and 991 more sources lose as much");
  CHECK(watch.take_news().size() == LossWatch::kNamedMax + 1);
}
