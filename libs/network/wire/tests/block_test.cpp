#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/wire/block.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::wire {
namespace {

struct Part {
  BlockRow row;
  std::string_view text;
};

using Slices = std::vector<std::pair<BlockSlice, BlockPart>>;

BlockRow row_of(std::uint32_t source, std::string_view text) {
  BlockRow row;
  row.source = SourceId(source);
  row.length = static_cast<std::uint32_t>(text.size());
  row.crc = crc32c(std::as_bytes(std::span(text)));
  return row;
}

BlockRow missing_row(std::uint32_t source, MissingReason reason) {
  BlockRow row;
  row.source = SourceId(source);
  row.status = FragmentStatus::missing;
  row.reason = reason;
  return row;
}

std::vector<Part> parts() {
  return {{row_of(10, "Weir keeps the"), "Weir keeps the"},
          {missing_row(11, MissingReason::dropped), ""},
          {row_of(12, ""), ""},
          {row_of(13, "network!"), "network!"}};
}

constexpr BlockSlice kSlice{SliceId(77), Attempt(3), 5};
constexpr BlockSlice kOther{SliceId(12), Attempt(1), 70'000};
constexpr BlockSlice kThird{SliceId(78), Attempt(0), 6};

// Returns header and payload. `begins`: slices after the first, each with the place of its first row.
std::vector<std::byte> frame_of(const std::vector<Part>& parts,
                                const std::map<std::size_t, BlockSlice>& begins = {}) {
  BlockWriter writer;
  writer.begin(kSlice);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto other = begins.find(i);
    if (other != begins.end()) writer.begin(other->second);
    REQUIRE(writer.takes(parts[i].text.size()));
    writer.add(parts[i].row);
  }
  std::vector<std::byte> frame(writer.head_bytes());
  writer.write_head(frame);
  for (const Part& part : parts) {
    const auto bytes = std::as_bytes(std::span(part.text));
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    frame.resize(frame.size() + block_bytes(bytes.size()) - bytes.size());
  }
  CHECK(frame.size() == writer.frame_bytes());
  return frame;
}

FrameHeader header_of(const std::vector<std::byte>& frame) {
  const auto header = decode_header(std::span(frame).first<kHeaderBytes>(), 0);
  REQUIRE(header.has_value());
  return *header;
}

ConstBytes payload_of(const std::vector<std::byte>& frame) { return ConstBytes(frame).subspan(kHeaderBytes); }

// Changes one byte of the rows and corrects their checksum, as a faulty peer would, not the network.
std::vector<std::byte> altered(std::vector<std::byte> frame, std::size_t row, std::size_t at,
                               std::uint8_t to) {
  FrameHeader header = header_of(frame);
  frame[kHeaderBytes + row * kBlockRowBytes + at] = std::byte{to};
  const BlockHead head = block_head(header);
  header.crc =
      crc32c(payload_of(frame).first(head.rows * kBlockRowBytes + head.further_slices * kBlockSliceBytes));
  encode_header(header, std::span(frame).first<kHeaderBytes>());
  return frame;
}

Slices slices_of(const std::vector<std::byte>& frame) {
  const auto view = BlockView::parse(header_of(frame), payload_of(frame));
  REQUIRE(view.has_value());
  Slices slices;
  view->for_each_slice([&](const BlockSlice& of, const BlockPart& part) { slices.emplace_back(of, part); });
  return slices;
}

WireError error_of(const std::vector<std::byte>& frame) {
  const auto view = BlockView::parse(header_of(frame), payload_of(frame));
  REQUIRE_FALSE(view.has_value());
  return view.error();
}

void check_rows(const Slices& slices, const std::vector<Part>& parts) {
  std::size_t next = 0;
  for (const auto& [of, part] : slices) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < part.size(); ++i, ++next) {
      REQUIRE(next < parts.size());
      CHECK(part.row(i) == parts[next].row);
      const auto bytes = std::as_bytes(std::span(parts[next].text));
      const ConstBytes there = part.payloads().subspan(at, bytes.size());
      CHECK(std::vector(there.begin(), there.end()) == std::vector(bytes.begin(), bytes.end()));
      at += block_bytes(bytes.size());
    }
    CHECK(at == part.payloads().size());
  }
  CHECK(next == parts.size());
}

}  // namespace

TEST_CASE("a block contains the fragments of one slice, each with its row") {
  const auto frame = frame_of(parts());
  const FrameHeader header = header_of(frame);
  CHECK(header.type == FrameType::block);
  CHECK(header.slice == SliceId(77));
  CHECK(header.attempt == Attempt(3));
  CHECK(block_head(header).rows == 4);
  CHECK(block_head(header).slot == 5);
  CHECK(header.length == 4 * kBlockRowBytes + 16 + 8);
  const Slices slices = slices_of(frame);
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].first == kSlice);
  check_rows(slices, parts());
}

TEST_CASE("a block contains fragments of several slices, in the order in which they were added") {
  const auto frame = frame_of(parts(), {{1, kOther}, {3, kThird}});
  const FrameHeader header = header_of(frame);
  CHECK(header.slice == SliceId(77));
  CHECK(block_head(header).rows == 4);
  CHECK(block_head(header).further_slices == 2);
  CHECK(header.length == 4 * kBlockRowBytes + 2 * kBlockSliceBytes + 16 + 8);
  const Slices slices = slices_of(frame);
  REQUIRE(slices.size() == 3);
  CHECK(slices[0].first == kSlice);
  CHECK(slices[1].first == kOther);
  CHECK(slices[2].first == kThird);
  CHECK(slices[0].second.size() == 1);
  CHECK(slices[1].second.size() == 2);
  CHECK(slices[1].second.bytes() == 2 * kBlockRowBytes);
  check_rows(slices, parts());
}

TEST_CASE("a block is refused if its entries have more rows than the block") {
  const auto whole = frame_of(parts(), {{1, kOther}, {3, kThird}});
  constexpr std::size_t kRows = 10;  // in an entry, which is as long as a row
  CHECK(error_of(altered(whole, 0, kRows, 0)) == WireError::bad_payload);
  CHECK(error_of(altered(whole, 0, kRows, 3)) == WireError::bad_payload);  // none is left for the first
  CHECK(error_of(altered(whole, 0, kRows + 1, 1)) == WireError::bad_payload);
  CHECK(error_of(altered(whole, 1, kRows, 0)) == WireError::bad_payload);
  CHECK_FALSE(slices_of(altered(whole, 0, kRows, 1)).empty());  // another division is a good block
  for (std::size_t at = 0; at < 2 * kBlockSliceBytes; ++at) {
    auto frame = whole;
    frame[kHeaderBytes + at] ^= std::byte{0x20};
    CHECK(error_of(frame) == WireError::bad_checksum);
  }
}

TEST_CASE("a block takes fragments as long as there is room, and no long ones") {
  BlockWriter writer;
  writer.begin(kSlice);
  CHECK(writer.takes(kBlockFragmentMax));
  CHECK_FALSE(writer.takes(kBlockFragmentMax + 1));
  std::size_t rows = 0;
  while (writer.takes(1000)) {
    writer.add(row_of(static_cast<std::uint32_t>(rows++), std::string(1000, 'x')));
    REQUIRE(rows < 1000);
  }
  CHECK(rows == kBlockPayloadMax / (kBlockRowBytes + 1000));
  CHECK(writer.frame_bytes() <= kHeaderBytes + kBlockPayloadMax);
  writer.clear();
  CHECK(writer.empty());
  CHECK(writer.takes(kBlockFragmentMax));
}

TEST_CASE("a block with rows altered in transit is refused by their checksum") {
  const auto whole = frame_of(parts());
  for (std::size_t at = 0; at < 4 * kBlockRowBytes; ++at) {
    auto frame = whole;
    frame[kHeaderBytes + at] ^= std::byte{0x20};
    CHECK(error_of(frame) == WireError::bad_checksum);
  }
}

TEST_CASE("a block with impossible contents is refused") {
  const auto whole = frame_of(parts());
  constexpr std::size_t kLength = 4;
  constexpr std::size_t kCrc = 8;
  constexpr std::size_t kStatus = 12;
  constexpr std::size_t kReason = 13;
  CHECK(error_of(altered(whole, 0, kLength, 17)) == WireError::bad_payload);     // longer than the payloads
  CHECK(error_of(altered(whole, 0, kLength, 8)) == WireError::bad_payload);      // shorter
  CHECK(error_of(altered(whole, 0, kLength + 3, 1)) == WireError::bad_payload);  // 16 MiB
  CHECK(error_of(altered(whole, 1, kLength, 1)) == WireError::bad_payload);      // missing, with a length
  CHECK(error_of(altered(whole, 1, kCrc, 1)) == WireError::bad_payload);         // and a checksum
  CHECK(error_of(altered(whole, 1, kReason, 0)) == WireError::bad_payload);      // without a reason
  CHECK(error_of(altered(whole, 1, kReason, kMissingReasons)) == WireError::bad_payload);
  CHECK(error_of(altered(whole, 0, kReason, 3)) ==
        WireError::bad_payload);  // a reason, although the fragment exists
  CHECK(error_of(altered(whole, 0, kStatus, 5)) == WireError::bad_payload);  // not_requested
  CHECK(error_of(altered(whole, 3, 14, 1)) == WireError::bad_payload);       // must be zero
  CHECK(error_of(altered(whole, 3, 15, 1)) == WireError::bad_payload);
}

TEST_CASE("a block's header has no other fields, and no more rows than fit") {
  const auto frame = frame_of(parts());
  const auto refusal = [&](const std::function<void(FrameHeader&)>& change) {
    FrameHeader header = header_of(frame);
    change(header);
    std::vector<std::byte> bytes(kHeaderBytes);
    encode_header(header, std::span(bytes).first<kHeaderBytes>());
    const auto decoded = decode_header(std::span(bytes).first<kHeaderBytes>(), 1U << 30);
    REQUIRE_FALSE(decoded.has_value());
    return decoded.error();
  };
  CHECK(refusal([](FrameHeader& h) { h.status = FragmentStatus::truncated; }) == WireError::not_zero);
  CHECK(refusal([](FrameHeader& h) { h.total = 4; }) == WireError::bad_range);
  CHECK(refusal([](FrameHeader& h) { h.total = UINT32_MAX; }) == WireError::bad_range);
  CHECK(refusal([](FrameHeader& h) { h.source = SourceId(0); }) == WireError::bad_range);
  CHECK(refusal([](FrameHeader& h) { h.source = SourceId(6); }) == WireError::bad_range);
  CHECK(refusal([](FrameHeader& h) { h.source = SourceId(UINT32_MAX); }) == WireError::bad_range);
  CHECK(refusal([](FrameHeader& h) { h.length = kBlockPayloadMax + 1; }) == WireError::too_long);
}

TEST_CASE("a fragment's length on the wire is that of its row and payload, or of its own frame") {
  CHECK(fragment_wire_bytes(0) == 16);
  CHECK(fragment_wire_bytes(64) == 80);
  CHECK(fragment_wire_bytes(65) == 88);
  CHECK(fragment_wire_bytes(kBlockFragmentMax) == 16 + kBlockFragmentMax);
  CHECK(fragment_wire_bytes(kBlockFragmentMax + 1) == 32 + kBlockFragmentMax + 1);
}

}  // namespace weir::wire
