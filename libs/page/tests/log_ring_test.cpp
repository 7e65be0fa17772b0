#include "log_ring.hpp"

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

TEST_CASE("text becomes valid UTF-8 without control characters, cut between characters") {
  CHECK(clean_text("p50 is 3 µs", 100) == "p50 is 3 µs");
  CHECK(clean_text("a\x1b[31mb\nc\td", 100) == "a?[31mb c d");
  CHECK(clean_text("\xff\xc3\x28\xed\xa0\x80\xf5", 100) == std::string("?") + "?(" + "?" + "?" + "?" + "?");
  CHECK(clean_text("aµµ", 4) == "aµ");
  CHECK(clean_text("a\xc2", 100) == "a?");
  CHECK(clean_text("", 0) == "");
}
