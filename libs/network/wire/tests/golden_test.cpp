#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/wire/batch.hpp>
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// The committed bytes of version 4, one file per frame. A change of these bytes needs a new version and new
// files. `wire_test "[regenerate]"` rewrites the files; FORMAT.md shows their bytes and is checked against
// them.
namespace weir::wire {
namespace {

using Frame = std::vector<std::byte>;

ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Frame payload_frame(FrameType type, std::string_view payload) {
  Frame out;
  append_frame(type, bytes_of(payload), out);
  return out;
}

constexpr std::string_view kFragmentText = "Weir keeps the network at the edge of full.";

FrameHeader fragment_header(FragmentStatus status, std::uint32_t offset, std::uint32_t length,
                            std::uint32_t total) {
  FrameHeader header;
  header.type = FrameType::fragment;
  header.status = status;
  header.attempt = Attempt(2);
  header.length = length;
  header.slice = SliceId(0x0102030405060708);
  header.source = SourceId(1003);
  header.offset = offset;
  header.total = total;
  header.crc = crc32c(bytes_of(kFragmentText.substr(0, total)));
  return header;
}

Frame frame_of(const FrameHeader& header, std::string_view payload) {
  Frame out(kHeaderBytes);
  encode_header(header, std::span<std::byte, kHeaderBytes>(out.data(), kHeaderBytes));
  const ConstBytes bytes = bytes_of(payload);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

Frame fragment(FragmentStatus status, std::uint32_t offset, std::uint32_t length, std::uint32_t total) {
  return frame_of(fragment_header(status, offset, length, total), kFragmentText.substr(offset, length));
}

FrameHeader missing_header() {
  return missing_fragment(SliceId(4711), Attempt(0), SourceId(1004), MissingReason::not_produced);
}

FrameHeader whole_record() { return data_header(SliceId(4711), Attempt(1), 12); }

// The last 12 bytes of a record of 5 GiB.
FrameHeader record_end() {
  constexpr std::uint64_t kTotal = std::uint64_t{5} << 30;
  return data_header(SliceId(4711), Attempt(1), 12, {kTotal, kTotal - 12});
}

// The last 7 bytes of a control message of 1048583.
FrameHeader control_end() {
  FrameHeader header = payload_header(FrameType::control, bytes_of("control"));
  header.offset = kControlFrameMax;
  header.total = kControlFrameMax + 7;
  return header;
}

constexpr Timing kTiming = {SliceId(4711), 65536, 250, 3};

const std::vector<RequestEntry> kRequestEntries = {{SliceId(4711), Attempt(0), 0, 0, 65536},
                                                   {SliceId(4712), Attempt(1), kAllSources, 0, 0, 17},
                                                   {SliceId(4700), Attempt(0), 1, 65536, 65536}};
const std::vector<std::vector<SourceId>> kRequestSets = {{SourceId(1001), SourceId(1003)}, {SourceId(1002)}};
const std::vector<CopyId> kCancelEntries = {{SliceId(4711), Attempt(0), StoreEpoch(0)},
                                            {SliceId(4712), Attempt(1), StoreEpoch(0)}};
const std::vector<CopyId> kStoredEntries = {{SliceId(4711), Attempt(1), StoreEpoch(1)},
                                            {SliceId(4713), Attempt(0), StoreEpoch(2)}};

Frame request() {
  RequestWriter writer;
  const auto first = writer.add_set(kRequestSets[0]);
  writer.add(kRequestEntries[0]);
  writer.add(kRequestEntries[1]);
  const auto second = writer.add_set(kRequestSets[1]);
  writer.add(kRequestEntries[2]);
  CHECK(first == 0);
  CHECK(second == 1);
  Frame out;
  writer.take_frame(out);
  return out;
}

// Slice 4712, attempt 1: sources 1001 and 1003 have bytes, 1002 is empty.
const std::vector<std::string_view> kBlockTexts = {"Weir keeps", "", "full."};

std::vector<BlockRow> block_rows() {
  std::vector<BlockRow> rows(kBlockTexts.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].source = SourceId(static_cast<std::uint32_t>(1001 + i));
    rows[i].length = static_cast<std::uint32_t>(kBlockTexts[i].size());
    rows[i].crc = crc32c(bytes_of(kBlockTexts[i]));
  }
  rows[1].status = FragmentStatus::missing;
  rows[1].reason = MissingReason::not_produced;
  return rows;
}

const std::vector<BlockSlice> kBlockSlices = {{SliceId(4712), Attempt(1), 17},
                                              {SliceId(4714), Attempt(0), 3}};

// From this row on the fragments are of the second slice; all of one: of none.
Frame block(std::size_t further_from) {
  BlockWriter writer;
  writer.begin(kBlockSlices[0]);
  for (std::size_t i = 0; i < kBlockTexts.size(); ++i) {
    if (i == further_from) writer.begin(kBlockSlices[1]);
    writer.add(block_rows()[i]);
  }
  Frame out(writer.head_bytes());
  writer.write_head(out);
  for (const std::string_view text : kBlockTexts) {
    const ConstBytes bytes = bytes_of(text);
    out.insert(out.end(), bytes.begin(), bytes.end());
    out.resize(out.size() + block_bytes(bytes.size()) - bytes.size());
  }
  return out;
}

Frame slice_entries(FrameType type, const std::vector<CopyId>& entries) {
  Frame out;
  append_slice_entries(type, entries, out);
  return out;
}

struct Golden {
  std::string_view name;
  Frame frame;
};

std::vector<Golden> all_golden() {
  const auto total = static_cast<std::uint32_t>(kFragmentText.size());
  return {{"hello", payload_frame(FrameType::hello, "hello payload")},
          {"refuse", payload_frame(FrameType::refuse, "refuse payload")},
          {"request", request()},
          {"cancel", slice_entries(FrameType::cancel, kCancelEntries)},
          {"fragment_whole", fragment(FragmentStatus::ok, 0, total, total)},
          {"fragment_range", fragment(FragmentStatus::ok, 16, 16, total)},
          {"fragment_empty", fragment(FragmentStatus::ok, 0, 0, 0)},
          {"fragment_missing", frame_of(missing_header(), "")},
          {"fragment_truncated", fragment(FragmentStatus::truncated, 0, 10, 10)},
          {"fragment_corrupt", fragment(FragmentStatus::corrupt, 0, 4, 4)},
          {"fragment_suppressed", fragment(FragmentStatus::suppressed, 0, 0, 0)},
          {"control", payload_frame(FrameType::control, "control payload")},
          {"control_end", frame_of(control_end(), "control")},
          {"data", frame_of(whole_record(), "slice record")},
          {"data_end", frame_of(record_end(), "slice record")},
          {"stored", slice_entries(FrameType::stored, kStoredEntries)},
          {"timing", frame_of(timing_header(kTiming), "")},
          {"block", block(kBlockTexts.size())},
          {"block_of_two", block(2)}};
}

std::filesystem::path path_of(std::string_view name) {
  return std::filesystem::path(WEIR_TEST_SOURCE_DIR) / "tests" / "golden" / (std::string(name) + ".bin");
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Frame committed(std::string_view name) {
  const std::string text = read_text(path_of(name));
  const ConstBytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

FrameHeader committed_header(std::string_view name) {
  const Frame frame = committed(name);
  REQUIRE(frame.size() >= kHeaderBytes);
  const auto header =
      decode_header(std::span<const std::byte, kHeaderBytes>(frame.data(), kHeaderBytes), UINT32_MAX);
  REQUIRE(header.has_value());
  CHECK(frame.size() == kHeaderBytes + header->length);
  return *header;
}

std::string committed_payload(std::string_view name) { return read_text(path_of(name)).substr(kHeaderBytes); }

// Formats bytes like FORMAT.md: four columns of eight hexadecimal digits per line.
std::string hex_lines(const Frame& frame) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < frame.size(); ++i) {
    if (i > 0) text += i % 16 == 0 ? "\n" : i % 4 == 0 ? " " : "";
    text += kDigits[std::to_integer<unsigned>(frame[i]) >> 4];
    text += kDigits[std::to_integer<unsigned>(frame[i]) & 15];
  }
  return text + "\n";
}

}  // namespace

TEST_CASE("every frame encodes to the committed bytes") {
  for (const auto& [name, frame] : all_golden()) {
    CAPTURE(name);
    CHECK(frame == committed(name));
  }
}

TEST_CASE("every committed file belongs to a frame of this test") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path_of("hello").parent_path())) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  CHECK(files == all_golden().size());
}

TEST_CASE("the committed bytes are those that FORMAT.md shows") {
  const std::string format = read_text(std::filesystem::path(WEIR_TEST_SOURCE_DIR) / "FORMAT.md");
  for (const auto& golden : all_golden()) {
    CAPTURE(golden.name);
    CHECK(format.find("```\n" + hex_lines(committed(golden.name)) + "```\n") != std::string::npos);
  }
}

TEST_CASE("the committed frames with opaque payloads decode to their values") {
  const std::vector<std::pair<FrameType, std::string>> frames = {{FrameType::hello, "hello payload"},
                                                                 {FrameType::refuse, "refuse payload"},
                                                                 {FrameType::control, "control payload"}};
  for (const auto& [type, text] : frames) {
    CAPTURE(name(type));
    const FrameHeader header = committed_header(name(type));
    CHECK(header == payload_header(type, bytes_of(text)));
    CHECK(committed_payload(name(type)) == text);
  }
  CHECK(committed_header("control_end") == control_end());
  CHECK(committed_payload("control_end") == "control");
  CHECK(committed_header("data") == whole_record());
  CHECK(committed_payload("data") == "slice record");
  CHECK(committed_header("data_end") == record_end());
  CHECK(record_piece(committed_header("data_end")).total == std::uint64_t{5} << 30);
}

TEST_CASE("the committed fragments decode to their values") {
  const auto total = static_cast<std::uint32_t>(kFragmentText.size());
  CHECK(committed_header("fragment_whole") == fragment_header(FragmentStatus::ok, 0, total, total));
  CHECK(committed_payload("fragment_whole") == kFragmentText);
  CHECK(committed_header("fragment_whole").crc == crc32c(bytes_of(kFragmentText)));
  CHECK(committed_header("fragment_range") == fragment_header(FragmentStatus::ok, 16, 16, total));
  CHECK(committed_payload("fragment_range") == kFragmentText.substr(16, 16));
  CHECK(committed_header("fragment_empty") == fragment_header(FragmentStatus::ok, 0, 0, 0));
  CHECK(committed_header("fragment_missing") == missing_header());
  CHECK(missing_reason(committed_header("fragment_missing")) == MissingReason::not_produced);
  CHECK(committed_header("fragment_truncated") == fragment_header(FragmentStatus::truncated, 0, 10, 10));
  CHECK(committed_header("fragment_corrupt") == fragment_header(FragmentStatus::corrupt, 0, 4, 4));
  CHECK(committed_header("fragment_suppressed") == fragment_header(FragmentStatus::suppressed, 0, 0, 0));
}

TEST_CASE("the committed request decodes to its values") {
  CHECK(committed_header("request").type == FrameType::request);
  const std::string payload = committed_payload("request");
  CHECK(payload_checksum_good(committed_header("request"), bytes_of(payload)));
  const auto view = RequestView::parse(bytes_of(payload));
  REQUIRE(view.has_value());
  REQUIRE(view->entry_count() == kRequestEntries.size());
  for (std::size_t i = 0; i < kRequestEntries.size(); ++i) CHECK(view->entry(i) == kRequestEntries[i]);
  REQUIRE(view->set_count() == kRequestSets.size());
  for (std::size_t i = 0; i < kRequestSets.size(); ++i) {
    const auto set = static_cast<std::uint16_t>(i);
    std::vector<SourceId> sources;
    for (std::size_t k = 0; k < view->source_count(set); ++k) sources.push_back(view->source(set, k));
    CHECK(sources == kRequestSets[i]);
  }
}

TEST_CASE("the committed block decodes to its values") {
  const FrameHeader header = committed_header("block");
  CHECK(header.type == FrameType::block);
  const std::string payload = committed_payload("block");
  const auto view = BlockView::parse(header, bytes_of(payload));
  REQUIRE(view.has_value());
  std::size_t slices = 0;
  view->for_each_slice([&](const BlockSlice& of, const BlockPart& part) {
    ++slices;
    CHECK(of == kBlockSlices[0]);
    REQUIRE(part.size() == kBlockTexts.size());
    for (std::size_t i = 0; i < kBlockTexts.size(); ++i) CHECK(part.row(i) == block_rows()[i]);
  });
  CHECK(slices == 1);
  CHECK(payload.substr(3 * kBlockRowBytes) == std::string("Weir keeps\0\0\0\0\0\0full.\0\0\0", 24));
}

TEST_CASE("the committed block of two slices decodes to its values") {
  const FrameHeader header = committed_header("block_of_two");
  CHECK(block_head(header).further_slices == 1);
  const std::string payload = committed_payload("block_of_two");
  const auto view = BlockView::parse(header, bytes_of(payload));
  REQUIRE(view.has_value());
  std::vector<BlockSlice> slices;
  std::size_t next = 0;
  view->for_each_slice([&](const BlockSlice& of, const BlockPart& part) {
    slices.push_back(of);
    CHECK(part.size() == (slices.size() == 1 ? 2 : 1));
    for (std::size_t i = 0; i < part.size(); ++i) CHECK(part.row(i) == block_rows()[next++]);
  });
  CHECK(slices == kBlockSlices);
}

TEST_CASE("the committed cancel and stored frames decode to their values") {
  CHECK(committed_header("cancel").type == FrameType::cancel);
  CHECK(committed_header("stored").type == FrameType::stored);
  const auto cancel = parse_slice_entries(bytes_of(committed_payload("cancel")));
  REQUIRE(cancel.has_value());
  CHECK(*cancel == kCancelEntries);
  const auto stored = parse_slice_entries(bytes_of(committed_payload("stored")));
  REQUIRE(stored.has_value());
  CHECK(*stored == kStoredEntries);
}

TEST_CASE("write the golden files again", "[.regenerate]") {
  for (const auto& [name, frame] : all_golden()) {
    std::ofstream file(path_of(name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(frame.data()), static_cast<std::streamsize>(frame.size()));
    REQUIRE(file.flush());
    UNSCOPED_INFO(name << ":\n" << hex_lines(frame));
  }
  SUCCEED("written");
}

}  // namespace weir::wire
