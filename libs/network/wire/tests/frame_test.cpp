#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/wire/batch.hpp>
#include <weir/wire/frame.hpp>

#include <array>
#include <set>
#include <string_view>

namespace weir::wire {
namespace {

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

constexpr std::uint32_t kPayloadMax = 1 << 20;

FrameHeader fragment() {
  FrameHeader header;
  header.type = FrameType::fragment;
  header.attempt = Attempt(3);
  header.length = 100;
  header.slice = SliceId(0x1122334455667788);
  header.source = SourceId(42);
  header.offset = 50;
  header.total = 150;
  header.crc = 0xdeadbeef;
  return header;
}

FrameHeader empty_of(FrameType type) {
  FrameHeader header;
  header.type = type;
  return header;
}

Expected<FrameHeader, WireError> through_the_wire(const FrameHeader& header,
                                                  std::uint32_t payload_max = kPayloadMax) {
  HeaderBytes bytes{};
  encode_header(header, bytes);
  return decode_header(bytes, payload_max);
}

void check_refused(const FrameHeader& header, WireError error) {
  const auto decoded = through_the_wire(header);
  REQUIRE_FALSE(decoded.has_value());
  CHECK(name(decoded.error()) == name(error));
}

}  // namespace

TEST_CASE("a header of every type is read back as it was sent") {
  for (std::uint8_t type = 1; type <= 8; ++type) {
    FrameHeader header = empty_of(static_cast<FrameType>(type));
    header.length = 1000;
    if (header.type != FrameType::data) header.crc = 0x12345678;
    if (header.type == FrameType::fragment) header.total = 1000;
    if (header.type == FrameType::fragment || header.type == FrameType::data) {
      header.slice = SliceId(UINT64_MAX);
      header.attempt = Attempt(UINT16_MAX);
    }
    CAPTURE(name(header.type));
    const auto decoded = through_the_wire(header);
    REQUIRE(decoded.has_value());
    CHECK(*decoded == header);
  }
}

TEST_CASE("a fragment's header of every status is read back as it was sent") {
  for (const auto status :
       {FragmentStatus::ok, FragmentStatus::truncated, FragmentStatus::corrupt, FragmentStatus::suppressed}) {
    FrameHeader header = fragment();
    header.status = status;
    CAPTURE(name(status));
    const auto decoded = through_the_wire(header);
    REQUIRE(decoded.has_value());
    CHECK(*decoded == header);
    CHECK(missing_reason(*decoded) == MissingReason::none);
  }
}

TEST_CASE("a missing fragment's header carries its reason") {
  for (std::uint8_t reason = 1; reason < kMissingReasons; ++reason) {
    const auto header =
        missing_fragment(SliceId(7), Attempt(1), SourceId(9), static_cast<MissingReason>(reason));
    const auto decoded = through_the_wire(header);
    REQUIRE(decoded.has_value());
    CHECK(*decoded == header);
    CHECK(missing_reason(*decoded) == static_cast<MissingReason>(reason));
  }
}

TEST_CASE("a timing has its four numbers, and room for a later release's") {
  const Timing said{SliceId(0x0102030405060708), 1U << 31, 4'000'000'000, 7};
  const FrameHeader header = timing_header(said);
  const auto decoded = through_the_wire(header);
  REQUIRE(decoded.has_value());
  CHECK(decoded->type == FrameType::timing);
  CHECK(decoded->length == 0);
  CHECK(timing(*decoded) == said);
  FrameHeader bad = header;
  bad.length = kTimingPayloadMax;
  CHECK(through_the_wire(bad).has_value());
  bad.length = kTimingPayloadMax + 1;
  CHECK(through_the_wire(bad).error() == WireError::too_long);
  bad = header;
  bad.attempt = Attempt(1);
  CHECK(through_the_wire(bad).error() == WireError::not_zero);
  bad = header;
  bad.crc = 1;
  CHECK(through_the_wire(bad).error() == WireError::not_zero);
}

TEST_CASE("a type outside the known ones is refused") {
  for (const int type : {0, 11, 255}) {
    HeaderBytes bytes{};
    bytes[0] = static_cast<std::byte>(type);
    const auto decoded = decode_header(bytes, kPayloadMax);
    REQUIRE_FALSE(decoded.has_value());
    CHECK(decoded.error() == WireError::unknown_type);
  }
}

TEST_CASE("a payload longer than the receiver's limit is refused, of exactly the limit it is not") {
  FrameHeader header = fragment();
  header.offset = 0;
  header.total = UINT32_MAX;
  header.length = kPayloadMax;
  CHECK(through_the_wire(header).has_value());
  header.length = kPayloadMax + 1;
  check_refused(header, WireError::too_long);
}

TEST_CASE("a payload longer than its type may have is refused whatever the receiver's limit") {
  const auto limits = {
      std::pair{FrameType::hello, kHelloPayloadMax}, {FrameType::refuse, kHelloPayloadMax},
      {FrameType::request, kRequestPayloadMax},      {FrameType::cancel, kSliceEntriesPayloadMax},
      {FrameType::stored, kSliceEntriesPayloadMax},  {FrameType::control, std::size_t{kControlFrameMax}}};
  for (const auto& [type, limit] : limits) {
    CAPTURE(name(type));
    FrameHeader header = empty_of(type);
    header.length = static_cast<std::uint32_t>(limit);
    // The limit for data does not apply to these.
    CHECK(through_the_wire(header, 1).has_value());
    ++header.length;
    const auto decoded = through_the_wire(header, UINT32_MAX);
    REQUIRE_FALSE(decoded.has_value());
    CHECK(decoded.error() == WireError::too_long);
  }
}

TEST_CASE("a fragment with an invalid status is refused") {
  FrameHeader header = fragment();
  for (const int status : {5, 7, 255}) {
    header.status = static_cast<FragmentStatus>(status);
    check_refused(header, WireError::bad_status);
  }
}

TEST_CASE("a range that goes beyond the fragment is refused, also where 32 bits would wrap") {
  FrameHeader header = fragment();
  header.total = 149;
  check_refused(header, WireError::bad_range);
  header = fragment();
  header.offset = UINT32_MAX;
  header.total = UINT32_MAX;
  check_refused(header, WireError::bad_range);
}

TEST_CASE("a range of no bytes is refused inside a fragment, not at its end") {
  FrameHeader header = fragment();
  header.length = 0;
  check_refused(header, WireError::bad_range);
  header.offset = header.total;
  CHECK(through_the_wire(header).has_value());
  header.offset = header.total = 0;
  CHECK(through_the_wire(header).has_value());
}

TEST_CASE("a missing fragment with bytes, an offset, a checksum or an unknown reason is refused") {
  const FrameHeader good = missing_fragment(SliceId(1), Attempt(0), SourceId(2), MissingReason::deadline);
  REQUIRE(through_the_wire(good).has_value());
  FrameHeader header = good;
  header.length = 1;
  check_refused(header, WireError::bad_range);
  header = good;
  header.offset = 1;
  check_refused(header, WireError::bad_range);
  header = good;
  header.total = 0;
  check_refused(header, WireError::bad_range);
  header.total = kMissingReasons;
  check_refused(header, WireError::bad_range);
  header = good;
  header.crc = 1;
  check_refused(header, WireError::not_zero);
}

TEST_CASE("a field that a type does not use must be zero") {
  for (std::uint8_t type = 1; type <= 8; ++type) {
    if (static_cast<FrameType>(type) == FrameType::fragment) continue;
    const FrameHeader good = empty_of(static_cast<FrameType>(type));
    CAPTURE(name(good.type));
    REQUIRE(through_the_wire(good).has_value());
    FrameHeader header = good;
    header.status = FragmentStatus::missing;
    check_refused(header, WireError::not_zero);
    if (good.type == FrameType::data) continue;
    header = good;
    header.source = SourceId(1);
    check_refused(header, WireError::not_zero);
    header = good;
    header.offset = 1;
    check_refused(header, WireError::not_zero);
    header = good;
    header.total = 1;
    check_refused(header, good.type == FrameType::control ? WireError::bad_range : WireError::not_zero);
    header = good;
    header.slice = SliceId(1);
    check_refused(header, WireError::not_zero);
    header = good;
    header.attempt = Attempt(1);
    check_refused(header, WireError::not_zero);
  }
}

TEST_CASE("a piece of a record has a 64-bit offset, and one outside the record is refused") {
  constexpr std::uint64_t kLong = (std::uint64_t{5} << 32) + 7;
  const FrameHeader good = data_header(SliceId(9), Attempt(2), 1000, {kLong, kLong - 1000});
  const auto decoded = through_the_wire(good);
  REQUIRE(decoded.has_value());
  CHECK(*decoded == good);
  CHECK(record_piece(*decoded) == RecordPiece{kLong, kLong - 1000});
  CHECK(record_piece(data_header(SliceId(9), Attempt(2), 1000)) == RecordPiece{});
  const auto refused = [](std::uint32_t length, const RecordPiece& piece, WireError error) {
    CAPTURE(length, piece.total, piece.offset);
    check_refused(data_header(SliceId(9), Attempt(2), length, piece), error);
  };
  refused(1001, {kLong, kLong - 1000}, WireError::bad_range);
  refused(1, {kLong, kLong}, WireError::bad_range);
  refused(1, {kLong, UINT64_MAX}, WireError::bad_range);
  refused(0, {kLong, 0}, WireError::bad_range);
  refused(1, {0, 1}, WireError::not_zero);
  refused(1, {kRecordBytesMax + 1, 0}, WireError::too_long);
  refused(kPayloadMax + 1, {kLong, 0}, WireError::too_long);
}

TEST_CASE("a frame of a long control message has an offset, and one outside the message is refused") {
  FrameHeader header = empty_of(FrameType::control);
  header.length = 1000;
  header.offset = kControlFrameMax;
  header.total = kControlFrameMax + 1000;
  CHECK(through_the_wire(header).has_value());
  header.length = 1001;
  check_refused(header, WireError::bad_range);
  header.length = 0;
  check_refused(header, WireError::bad_range);
  header.length = 1;
  header.total = 0;
  check_refused(header, WireError::not_zero);
  header.total = kControlMessageMax + 1;
  check_refused(header, WireError::too_long);
  header.total = kControlMessageMax;
  CHECK(through_the_wire(header).has_value());
}

TEST_CASE("whatever 32 bytes decode to encodes to the same 32 bytes") {
  std::uint64_t random = 1;
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    HeaderBytes bytes{};
    // Sparse bytes: most fields are small or zero, so that many frames are accepted.
    for (auto& byte : bytes) {
      random = mix64(random);
      if (random % 8 == 0) byte = static_cast<std::byte>(random >> 32);
    }
    random = mix64(random);
    bytes[0] = static_cast<std::byte>(random % 10);
    const auto decoded = decode_header(bytes, UINT32_MAX);
    if (!decoded) continue;
    ++accepted;
    HeaderBytes again{};
    encode_header(*decoded, again);
    if (again != bytes) FAIL("input " << i);
  }
  CHECK(accepted > 1000);
}

TEST_CASE("a payload's header holds its length and checksum, and finds an altered byte") {
  std::array<std::byte, 5> payload{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
  const FrameHeader header = payload_header(FrameType::control, payload);
  CHECK(header.type == FrameType::control);
  CHECK(header.length == 5);
  CHECK(payload_checksum_good(header, payload));
  payload[3] ^= std::byte{0x10};
  CHECK_FALSE(payload_checksum_good(header, payload));
}

TEST_CASE("every frame type and error has a unique name") {
  std::set<std::string_view> names;
  for (std::uint8_t type = 1; type <= 10; ++type) names.insert(name(static_cast<FrameType>(type)));
  CHECK(names.size() == 10);
  CHECK(names.count("unknown") == 0);
  names.clear();
  const auto last = static_cast<std::uint8_t>(WireError::bad_hello);
  for (std::uint8_t error = 0; error <= last; ++error) names.insert(name(static_cast<WireError>(error)));
  CHECK(names.size() == last + 1U);
  CHECK(names.count("unknown error") == 0);
}

}  // namespace weir::wire
