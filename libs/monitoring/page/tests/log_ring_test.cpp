#include "log_ring.hpp"

#include "broken_invariant.hpp"
#include "weir_catch.hpp"

using namespace weir::page;

namespace {

LogRing filled() {
  LogRing ring(100, 1000);
  ring.add({1, "dcm-0", LogLevel::info, "joins"});
  ring.add({2, "dcm-1", LogLevel::error, "Disk full"});
  ring.add({3, "writer-0", LogLevel::warning, "the disk stalls"});
  return ring;
}

std::string texts(const LogRing& ring, const LogRing::Query& query) {
  std::string out;
  for (const auto* entry : ring.find(query)) out += entry->line.text + ";";
  return out;
}

}  // namespace

TEST_CASE("lines are found by text, process and level, in their order") {
  const LogRing ring = filled();
  CHECK(texts(ring, {}) == "joins;Disk full;the disk stalls;");
  CHECK(texts(ring, {"DISK", "", LogLevel::trace, 9}) == "Disk full;the disk stalls;");
  CHECK(texts(ring, {"dcm", "", LogLevel::trace, 9}) == "joins;Disk full;");
  CHECK(texts(ring, {"", "dcm-1", LogLevel::trace, 9}) == "Disk full;");
  CHECK(texts(ring, {"", "", LogLevel::warning, 9}) == "Disk full;the disk stalls;");
  CHECK(texts(ring, {"", "", LogLevel::trace, 1}) == "the disk stalls;");
  CHECK(texts(ring, {"nothing", "", LogLevel::trace, 9}) == "");
}

TEST_CASE("a full ring drops the oldest and counts it") {
  LogRing ring(3, 1000);
  for (int i = 0; i < 10; ++i) ring.add({i, "p", LogLevel::info, std::to_string(i)});
  CHECK(texts(ring, {}) == "7;8;9;");
  CHECK(ring.dropped() == 7);
  CHECK(ring.find({}).back()->number == 10);
}

TEST_CASE("a line is kept as clean text, cut where it is too long") {
  LogRing ring(3, 10);
  const LogLine& kept = ring.add({1, "dcm\x1b-0", LogLevel::info, "a\nb \xff" + std::string(20, 'x')}).line;
  CHECK(kept.process == "dcm\\x1b-0");
  CHECK(kept.text == "a\\nb \\xffx");
}

TEST_CASE("a ring has room for a line") {
  const auto broken = [] {
    LogRing ring(0, 1000);
    ring.add({1, "dcm-0", LogLevel::info, "joins"});
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: !entries_.empty()"));
}
