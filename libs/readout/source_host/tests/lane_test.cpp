#include "weir_catch.hpp"
#include <weir/source_host/lane.hpp>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace weir;
using namespace weir::source_host;

namespace {

struct Lane {
  explicit Lane(std::size_t record_bytes) : words((lane_bytes(record_bytes) + 63) / 64 + 1) {
    auto at = reinterpret_cast<std::uintptr_t>(words.data());
    memory = {reinterpret_cast<std::byte*>(words.data()) + (64 - at % 64) % 64, lane_bytes(record_bytes)};
    reader = LaneReader(memory);
  }
  // "KIND:source:slice:text", or "none".
  std::string read() {
    LaneRecord record;
    const LaneReader::Read result = reader.next(record);
    if (result != LaneReader::Read::record) return result == LaneReader::Read::none ? "none" : "corrupt";
    std::string text(record.length, '?');
    reader.take_bytes(reinterpret_cast<std::byte*>(text.data()), text.size());
    reader.release();
    reader.ring();
    return std::to_string(static_cast<int>(record.kind)) + ":" + std::to_string(record.source) + ":" +
           std::to_string(record.slice) + ":" + text;
  }

  struct alignas(64) Word {
    std::byte bytes[64];
  };
  std::vector<Word> words;
  Bytes memory;
  LaneReader reader;
};

ConstBytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
LaneRecord fragment(std::uint64_t slice, const std::string& text) {
  return {RecordKind::fragment, 3, slice, static_cast<std::uint32_t>(text.size()), 0};
}

}  // namespace

TEST_CASE("records come out as they went in, across the end of the ring") {
  Lane lane(256);
  int woken = 0;
  LaneWriter writer(lane.memory, [&] { ++woken; });
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::string text(i % 100, static_cast<char>('a' + i % 26));
    CHECK(lane.reader.fall_asleep());
    REQUIRE(writer.write(fragment(i, text), bytes_of(text)));
    CHECK_FALSE(lane.reader.fall_asleep());
    REQUIRE(lane.read() == "1:3:" + std::to_string(i) + ":" + text);
    REQUIRE(lane.read() == "none");
  }
  CHECK(woken == 1000);
}

TEST_CASE("many fragments go in at once, and one that is too long does not") {
  Lane lane(512);
  LaneWriter writer(lane.memory, [] {});
  const std::vector<std::uint64_t> slices{7, 9, 8};
  const std::vector<std::uint32_t> lengths{1, 0, 3};
  REQUIRE(writer.write_many(5, slices, lengths, bytes_of("abcd")));
  CHECK(lane.read() == "1:5:7:a");
  CHECK(lane.read() == "1:5:9:");
  CHECK(lane.read() == "1:5:8:bcd");
  const std::string longest(writer.record_max(), 'x');
  CHECK(writer.write(fragment(1, longest), bytes_of(longest)));
  CHECK(lane.read() == "1:3:1:" + longest);
  CHECK_FALSE(writer.write(fragment(1, longest + "x"), bytes_of(longest + "x")));
  CHECK(lane.read() == "none");
}

TEST_CASE("a stamp travels in front of its fragment's bytes") {
  Lane lane(512);
  LaneWriter writer(lane.memory, [] {});
  const std::vector<std::uint64_t> slices{7, 9};
  const std::vector<std::uint32_t> lengths{1, 2};
  const std::vector<LaneStamp> stamps{{LaneStamp::kCounter, 0, 5, 0, 0}, {LaneStamp::kTime, 0, 0, -6, 8}};
  const auto stamped = [](const LaneStamp& stamp, const std::string& text) {
    return std::string(reinterpret_cast<const char*>(&stamp), sizeof stamp) + text;
  };
  REQUIRE(writer.write_many(5, slices, lengths, bytes_of("abc"), stamps));
  CHECK(lane.read() == "10:5:7:" + stamped(stamps[0], "a"));
  CHECK(lane.read() == "10:5:9:" + stamped(stamps[1], "bc"));
  CHECK_FALSE(writer.write_many(5, slices, lengths, bytes_of("abc"), std::span(stamps).first(1)));
  const std::string longest(writer.record_max() - sizeof(LaneStamp), 'x');
  REQUIRE(writer.write(fragment(1, longest), stamps[0], bytes_of(longest)));
  CHECK(lane.read() == "10:3:1:" + stamped(stamps[0], longest));
  CHECK_FALSE(writer.write(fragment(1, longest + "x"), stamps[0], bytes_of(longest + "x")));
  CHECK(lane.read() == "none");
}

TEST_CASE("a full ring makes the writer wait, and nothing is lost") {
  Lane lane(256);
  std::thread host([memory = lane.memory] {
    LaneWriter writer(memory, [] {});
    for (std::uint64_t i = 0; i < 20000; ++i) {
      const std::string text(i % 90, 'x');
      (void)writer.write(fragment(i, text), bytes_of(text));
    }
  });
  for (std::uint64_t i = 0; i < 20000;) {
    const std::string got = lane.read();
    if (got == "none") continue;
    REQUIRE(got == "1:3:" + std::to_string(i) + ":" + std::string(i % 90, 'x'));
    ++i;
  }
  host.join();
}

TEST_CASE("requests are taken in order, and count as done with the next call") {
  Lane lane(256);
  LaneWriter writer(lane.memory, [] {});
  for (std::uint64_t i = 1; i <= 5; ++i)
    CHECK(lane.reader.ask({HostRequestKind::slice, 0, 100 + i, 0, 0}) == i);
  std::vector<LaneRequest> taken(3);
  CHECK(writer.take(taken, 0) == 3);
  CHECK(taken[2].slice == 103);
  CHECK(lane.reader.taken() == 3);
  CHECK(lane.reader.done() == 0);
  CHECK(writer.take(taken, 0) == 2);
  CHECK(lane.reader.done() == 3);
  CHECK(writer.take(taken, 0) == 0);
  CHECK(lane.reader.done() == 5);
  std::thread host([&] { CHECK(writer.take(taken, 60000) == 1); });
  CHECK(lane.reader.ask({HostRequestKind::finish, 0, 0, 0, 0}) == 6);
  while (lane.reader.taken() != 6) lane.reader.ring();
  host.join();
}

TEST_CASE("no more requests than the ring has room for") {
  Lane lane(256);
  for (std::uint32_t i = 0; i < SourceLaneHeader::kRequests; ++i) REQUIRE(lane.reader.ask({}) != 0);
  CHECK(lane.reader.ask({}) == 0);
  reinterpret_cast<SourceLaneHeader*>(lane.memory.data())->taken = UINT64_MAX;  // a hostile host
  CHECK(lane.reader.ask({}) != 0);
}

TEST_CASE("nonsense in the lane is found, and nothing outside is read") {
  for (const std::uint64_t written : {std::uint64_t{1}, std::uint64_t{257}, UINT64_MAX}) {
    Lane lane(256);
    reinterpret_cast<SourceLaneHeader*>(lane.memory.data())->written = written;
    CHECK(lane.read() == "corrupt");
  }
  Lane lane(256);
  LaneWriter writer(lane.memory, [] {});
  LaneRecord record = fragment(1, "abc");
  record.length = 100000;
  REQUIRE(writer.write(record, bytes_of("abc")));
  CHECK(lane.read() == "corrupt");
}
