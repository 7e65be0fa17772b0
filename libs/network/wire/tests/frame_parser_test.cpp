#include "recording_sink.hpp"
#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/wire/batch.hpp>
#include <weir/wire/frame_parser.hpp>

#include <string>
#include <utility>

namespace weir::wire {
namespace {

using Kind = PayloadPlace::Kind;

constexpr std::uint32_t kParsedMax = 1 << 20;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t below(std::uint64_t limit) { return (state_ = mix64(state_)) % limit; }

 private:
  std::uint64_t state_;
};

// The source id selects the placement, so that a sink can decide it from the header alone.
Kind kind_of(const FrameHeader& header) { return static_cast<Kind>(header.source.value % 4); }

std::vector<std::byte> some_bytes(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(mix64(seed + i));
  return bytes;
}

class Stream {
 public:
  void add(Kind kind, std::uint32_t length) {
    SeenFrame frame;
    frame.header.type = FrameType::fragment;
    frame.header.slice = SliceId(expected.size());
    frame.header.source = SourceId(static_cast<std::uint32_t>(kind));
    frame.header.length = length;
    frame.header.total = length;
    frame.payload = some_bytes(length, expected.size() << 32);
    const std::size_t begin = bytes.size();
    bytes.resize(begin + kHeaderBytes);
    encode_header(frame.header, std::span<std::byte, kHeaderBytes>(&bytes[begin], kHeaderBytes));
    bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
    if (kind == Kind::discard) frame.payload.clear();
    if (kind != Kind::refuse) expected.push_back(std::move(frame));
  }

  std::vector<std::byte> bytes;
  std::vector<SeenFrame> expected;
};

// Frames of every size with every placement, shuffled.
Stream mixed_stream(Random& random, const std::vector<std::uint32_t>& sizes) {
  std::vector<std::pair<Kind, std::uint32_t>> frames;
  for (const auto size : sizes) {
    for (const Kind kind : {Kind::whole, Kind::place, Kind::discard}) frames.emplace_back(kind, size);
  }
  for (std::size_t i = frames.size(); i > 1; --i) std::swap(frames[i - 1], frames[random.below(i)]);
  Stream stream;
  for (const auto& [kind, size] : frames) stream.add(kind, size);
  return stream;
}

void check_same(const std::vector<SeenFrame>& seen, const std::vector<SeenFrame>& expected) {
  REQUIRE(seen.size() == expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!(seen[i] == expected[i])) FAIL("frame " << i << " of " << seen[i].header.length << " bytes differs");
  }
}

void check_dead(FrameParser& parser, RecordingSink& sink, WireError error) {
  const std::size_t before = sink.frames.size();
  Stream good;
  good.add(Kind::whole, 10);
  for (int i = 0; i < 3; ++i) {
    Expected<void, WireError> result;
    receive_some(parser, sink, good.bytes, good.bytes.size(), result);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == error);
  }
  CHECK(sink.frames.size() == before);
}

}  // namespace

TEST_CASE("random cuts of a stream give the same frames, at all payload sizes and placements") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 9)));
  const std::size_t cut_max = GENERATE(as<std::size_t>{}, 1500, 70'000, 2'000'000);
  CAPTURE(seed, cut_max);
  Random random(seed);
  const Stream stream = mixed_stream(random, {0, 1, 511, 16 * 1024, 300 * 1024, 1024 * 1024});
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  REQUIRE(feed(parser, sink, stream.bytes, [&] { return 1 + random.below(cut_max); }));
  check_same(sink.frames, stream.expected);
}

TEST_CASE("every single cut of a stream of small frames gives the same frames") {
  Random random(1);
  const Stream stream = mixed_stream(random, {0, 1, 31, 32, 33});
  for (std::size_t cut = 1; cut < stream.bytes.size(); ++cut) {
    FrameParser parser(kParsedMax);
    RecordingSink sink(kind_of);
    bool first = true;
    const auto next_cut = [&] { return std::exchange(first, false) ? cut : stream.bytes.size(); };
    REQUIRE(feed(parser, sink, stream.bytes, next_cut));
    check_same(sink.frames, stream.expected);
  }
}

TEST_CASE("a stream that comes byte by byte gives the same frames") {
  Random random(2);
  const Stream stream = mixed_stream(random, {0, 1, 2, 511, 5000});
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  REQUIRE(feed(parser, sink, stream.bytes, [] { return std::size_t{1}; }));
  check_same(sink.frames, stream.expected);
}

TEST_CASE("thousands of small frames in full receives come out in order") {
  Random random(3);
  Stream stream;
  for (int i = 0; i < 20'000; ++i) {
    stream.add(static_cast<Kind>(random.below(3)), static_cast<std::uint32_t>(random.below(200)));
  }
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  std::size_t receives = 0;
  REQUIRE(feed(parser, sink, stream.bytes, [&] { return ++receives, stream.bytes.size(); }));
  check_same(sink.frames, stream.expected);
  // The spill buffer has grown to its full size in the process.
  CHECK(receives < 2 * stream.bytes.size() / FrameParser::kSpillSmallFrames + 10);
}

// Four fragments of 4 KiB are a block of little more than 16 KiB, four of 8 KiB one of 32 KiB.
TEST_CASE("blocks of 16 to 48 KiB arrive by many in one receive") {
  const std::uint32_t length = GENERATE(16U * 1024 + 1, 16U * 1024 + 400, 33U * 1024, 48U * 1024);
  Stream stream;
  for (std::uint32_t bytes = 0; bytes < 8U << 20U; bytes += length) stream.add(Kind::place, length);
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  std::size_t receives = 0;
  REQUIRE(feed(parser, sink, stream.bytes, [&] { return ++receives, stream.bytes.size(); }));
  check_same(sink.frames, stream.expected);
  CHECK(receives < stream.bytes.size() / FrameParser::kSpillSmallFrames + 10);
}

TEST_CASE("the bulk of large placed payloads is offered to the receive at its target") {
  Stream stream;
  for (int i = 0; i < 10; ++i) stream.add(Kind::place, kParsedMax);
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  std::size_t receives = 0;
  REQUIRE(feed(parser, sink, stream.bytes, [&] { return ++receives, stream.bytes.size(); }));
  check_same(sink.frames, stream.expected);
  // One receive per payload, and a few at first; through the spill buffer it would be hundreds.
  CHECK(receives <= 15);
}

TEST_CASE("a silent connection holds a small spill, and one of large payloads no large one") {
  FrameParser parser(kParsedMax);
  CHECK(parser.receive_space()[0].size() == FrameParser::kSpillInitial);
  Stream stream;
  for (int i = 0; i < 10; ++i) stream.add(Kind::place, kParsedMax);
  RecordingSink sink(kind_of);
  REQUIRE(feed(parser, sink, stream.bytes, [&] { return stream.bytes.size(); }));
  CHECK(parser.receive_space()[0].size() <= FrameParser::kSpillLargeFrames);
}

TEST_CASE("a frame that the sink refuses ends the parser as not expected, at every cut") {
  Stream stream;
  stream.add(Kind::whole, 40);
  stream.add(Kind::refuse, 100);
  stream.add(Kind::whole, 10);
  for (std::size_t cut = 1; cut < stream.bytes.size(); ++cut) {
    FrameParser parser(kParsedMax);
    RecordingSink sink(kind_of);
    const auto result = feed(parser, sink, stream.bytes, [&] { return cut; });
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == WireError::not_expected);
    CHECK(sink.frames.size() == 1);
    check_dead(parser, sink, WireError::not_expected);
    parser.ended(sink);
    check_dead(parser, sink, WireError::not_expected);
    CHECK(sink.abandoned == 0);
  }
}

TEST_CASE("an error of the sink ends the parser with that error") {
  for (const Kind kind : {Kind::whole, Kind::place, Kind::discard}) {
    Stream stream;
    for (int i = 0; i < 3; ++i) stream.add(kind, 50'000);
    FrameParser parser(kParsedMax);
    RecordingSink sink(kind_of);
    sink.fail_at = 2;
    const auto result = feed(parser, sink, stream.bytes, [] { return std::size_t{40'000}; });
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == WireError::bad_hello);
    CHECK(sink.frames.size() == 2);
    check_dead(parser, sink, WireError::bad_hello);
  }
}

TEST_CASE("garbage is refused and stays refused") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 21)));
  CAPTURE(seed);
  auto bytes = some_bytes(300 * 1024, seed << 32);
  bytes[0] = std::byte{0x47};  // not a frame type; the G of "GET /"
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  Random random(seed);
  const auto result = feed(parser, sink, bytes, [&] { return 1 + random.below(300 * 1024); });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == WireError::unknown_type);
  CHECK(sink.frames.empty());
  check_dead(parser, sink, WireError::unknown_type);
}

TEST_CASE("garbage after good frames costs none of them") {
  Random random(5);
  Stream stream = mixed_stream(random, {0, 10, 20'000});
  const auto good = stream.expected;
  stream.bytes.insert(stream.bytes.end(), 100, std::byte{0xee});
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  const auto result = feed(parser, sink, stream.bytes, [&] { return stream.bytes.size(); });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == WireError::unknown_type);
  check_same(sink.frames, good);
}

TEST_CASE("a payload beyond the limit is refused before the sink is called") {
  Stream stream;
  stream.add(Kind::place, 1001);
  FrameParser parser(1000);
  RecordingSink sink([](const FrameHeader&) -> Kind {
    FAIL("asked where to place it");
    return Kind::refuse;
  });
  const auto result = feed(parser, sink, stream.bytes, [&] { return stream.bytes.size(); });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == WireError::too_long);
}

TEST_CASE("a limit that is raised between two frames of one receive holds from the second one on") {
  Stream stream;
  stream.add(Kind::place, 10);
  stream.add(Kind::place, 1000);
  FrameParser parser(10);
  RecordingSink sink([&](const FrameHeader& header) {
    parser.set_payload_max(1000);
    return kind_of(header);
  });
  REQUIRE(feed(parser, sink, stream.bytes, [&] { return stream.bytes.size(); }));
  check_same(sink.frames, stream.expected);
}

TEST_CASE("a peer that disconnects during a placed payload returns its buffer once") {
  for (const std::uint32_t length : {1U, 511U, 20'000U, 300'000U}) {
    for (const std::uint32_t missing : {1U, length}) {
      CAPTURE(length, missing);
      Stream stream;
      stream.add(Kind::place, 100);
      stream.add(Kind::place, length);
      stream.bytes.resize(stream.bytes.size() - missing);
      FrameParser parser(kParsedMax);
      RecordingSink sink(kind_of);
      REQUIRE(feed(parser, sink, stream.bytes, [] { return std::size_t{9'000}; }));
      CHECK(sink.frames.size() == 1);
      CHECK(sink.abandoned == 0);
      parser.ended(sink);
      CHECK(sink.abandoned == 1);
      parser.ended(sink);
      CHECK(sink.abandoned == 1);
      check_dead(parser, sink, WireError::bad_payload);
    }
  }
}

TEST_CASE("a peer that disconnects elsewhere returns no buffer") {
  Stream stream;
  stream.add(Kind::place, 100);
  stream.add(Kind::whole, 100);
  stream.add(Kind::discard, 100);
  // Cuts inside the first header, between frames, in the `whole` payload, in the discarded one, and at the
  // end.
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, std::size_t{132}, std::size_t{200},
                                 std::size_t{370}, stream.bytes.size()}) {
    CAPTURE(size);
    FrameParser parser(kParsedMax);
    RecordingSink sink(kind_of);
    REQUIRE(feed(parser, sink, ConstBytes(stream.bytes).first(size), [] { return std::size_t{7}; }));
    parser.ended(sink);
    CHECK(sink.abandoned == 0);
  }
}

TEST_CASE("a sink that drops the peer inside its own call is not called again") {
  const Kind kind = GENERATE(Kind::whole, Kind::place, Kind::discard);
  const bool in_header = GENERATE(true, false);
  const std::size_t cut = GENERATE(as<std::size_t>{}, 1, 500, 100'000);
  Stream stream;
  for (int i = 0; i < 5; ++i) stream.add(kind, 1000);
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  sink.ending = &parser;
  (in_header ? sink.end_in_header : sink.end_in_frame) = 3;
  const auto result = feed(parser, sink, stream.bytes, [&] { return cut; });
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() == WireError::bad_payload);
  CHECK(sink.frames.size() == (in_header ? 2 : 3));
  CHECK(sink.abandoned == 0);
  check_dead(parser, sink, WireError::bad_payload);
}

TEST_CASE("a whole payload that straddles two receives is handed over in one piece") {
  Stream stream;
  for (int i = 0; i < 20; ++i) stream.add(Kind::whole, 100'000);
  FrameParser parser(kParsedMax);
  RecordingSink sink(kind_of);
  REQUIRE(feed(parser, sink, stream.bytes, [] { return std::size_t{70'000}; }));
  check_same(sink.frames, stream.expected);
}

}  // namespace weir::wire
