#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/wire/batch.hpp>

#include <algorithm>
#include <vector>

namespace weir::wire {
namespace {

std::vector<SourceId> sources(std::initializer_list<std::uint32_t> values) {
  std::vector<SourceId> ids;
  for (const auto value : values) ids.emplace_back(value);
  return ids;
}

// Returns the header and payload of the frame at `begin`, and moves `begin` behind it.
std::pair<FrameHeader, ConstBytes> next_frame(const std::vector<std::byte>& out, std::size_t& begin) {
  REQUIRE(out.size() >= begin + kHeaderBytes);
  const auto header =
      decode_header(std::span<const std::byte, kHeaderBytes>(&out[begin], kHeaderBytes), UINT32_MAX);
  REQUIRE(header.has_value());
  REQUIRE(out.size() >= begin + kHeaderBytes + header->length);
  const ConstBytes payload = ConstBytes(out).subspan(begin + kHeaderBytes, header->length);
  CHECK(payload_checksum_good(*header, payload));
  begin += kHeaderBytes + header->length;
  return {*header, payload};
}

ConstBytes only_payload(const std::vector<std::byte>& out, FrameType type) {
  std::size_t begin = 0;
  const auto [header, payload] = next_frame(out, begin);
  CHECK(header.type == type);
  CHECK(begin == out.size());
  return payload;
}

std::vector<SourceId> set_of(const RequestView& view, std::uint16_t set) {
  std::vector<SourceId> ids;
  for (std::size_t i = 0; i < view.source_count(set); ++i) ids.push_back(view.source(set, i));
  return ids;
}

// A request with two sets (of 2 and 1 sources) and two entries: 8 + 12 + 8 + 48 bytes.
std::vector<std::byte> good_request() {
  RequestWriter writer;
  const auto two = writer.add_set(sources({1, 2}));
  writer.add({SliceId(10), Attempt(1), two, 0, 100});
  const auto one = writer.add_set(sources({3}));
  writer.add({SliceId(11), Attempt(0), one, 5, 0});
  std::vector<std::byte> out;
  writer.take_frame(out);
  out.erase(out.begin(), out.begin() + kHeaderBytes);
  return out;
}

void check_refused(const std::vector<std::byte>& payload) {
  const auto view = RequestView::parse(payload);
  REQUIRE_FALSE(view.has_value());
  CHECK(view.error() == WireError::bad_payload);
}

void check_entries_refused(const std::vector<std::byte>& payload) {
  const auto entries = parse_slice_entries(payload);
  REQUIRE_FALSE(entries.has_value());
  CHECK(entries.error() == WireError::bad_payload);
}

}  // namespace

TEST_CASE("a request is read back with its sets and entries") {
  RequestWriter writer;
  CHECK(writer.empty());
  const auto first = writer.add_set(sources({5, 6, 7}));
  const RequestEntry a{SliceId(UINT64_MAX), Attempt(UINT16_MAX), first, UINT32_MAX, UINT32_MAX};
  const RequestEntry b{SliceId(2), Attempt(0), kAllSources, 0, 0};
  writer.add(a);
  writer.add(b);
  const auto second = writer.add_set(sources({8}));
  const RequestEntry c{SliceId(3), Attempt(1), second, 1000, 2000};
  writer.add(c);
  CHECK_FALSE(writer.empty());
  std::vector<std::byte> out;
  writer.take_frame(out);
  CHECK(writer.empty());

  const auto view = RequestView::parse(only_payload(out, FrameType::request));
  REQUIRE(view.has_value());
  REQUIRE(view->entry_count() == 3);
  CHECK(view->entry(0) == a);
  CHECK(view->entry(1) == b);
  CHECK(view->entry(2) == c);
  REQUIRE(view->set_count() == 2);
  CHECK(set_of(*view, first) == sources({5, 6, 7}));
  CHECK(set_of(*view, second) == sources({8}));
}

TEST_CASE("equal consecutive source sets are sent once, others are not") {
  RequestWriter writer;
  const auto a = writer.add_set(sources({1, 2}));
  CHECK(writer.add_set(sources({1, 2})) == a);
  const auto b = writer.add_set(sources({2}));  // equal to the end of the previous set, but a set of its own
  CHECK(b != a);
  CHECK(writer.add_set(sources({1, 2})) != a);
  const auto none = writer.add_set({});
  CHECK(writer.add_set({}) == none);
  writer.add({SliceId(1), Attempt(0), none, 0, 0});
  std::vector<std::byte> out;
  writer.take_frame(out);
  const auto view = RequestView::parse(only_payload(out, FrameType::request));
  REQUIRE(view.has_value());
  REQUIRE(view->set_count() == 4);
  CHECK(set_of(*view, b) == sources({2}));
  CHECK(set_of(*view, none).empty());
}

TEST_CASE("a writer begins the next frame empty, after the previous one") {
  RequestWriter writer;
  std::vector<std::byte> out;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto set = writer.add_set(sources({i}));
    CHECK(set == 0);
    writer.add({SliceId(i), Attempt(0), set, 0, 0});
    writer.take_frame(out);
  }
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto view = RequestView::parse(next_frame(out, begin).second);
    REQUIRE(view.has_value());
    REQUIRE(view->entry_count() == 1);
    CHECK(view->entry(0).slice == SliceId(i));
    CHECK(set_of(*view, 0) == sources({i}));
  }
  CHECK(begin == out.size());
}

TEST_CASE("a writer is full at the limit of entries, of sets and of sources, and its frame is accepted") {
  RequestWriter writer;
  SECTION("entries") {
    for (std::size_t i = 0; i < kBatchEntriesMax; ++i) {
      REQUIRE_FALSE(writer.full());
      writer.add({SliceId(i), Attempt(0), kAllSources, 0, 0});
    }
  }
  SECTION("sets") {
    for (std::uint32_t i = 0; i < kSourceSetsMax; ++i) {
      REQUIRE_FALSE(writer.full());
      writer.add({SliceId(i), Attempt(0), writer.add_set(sources({i})), 0, 0});
    }
  }
  SECTION("sources") {
    std::vector<SourceId> many(kSetSourcesMax);
    for (std::uint32_t i = 0; i < 2; ++i) {
      REQUIRE_FALSE(writer.full());
      many[0] = SourceId(i);
      writer.add({SliceId(i), Attempt(0), writer.add_set(many), 0, 0});
    }
  }
  CHECK(writer.full());
  std::vector<std::byte> out;
  writer.take_frame(out);
  CHECK_FALSE(writer.full());
  CHECK(RequestView::parse(only_payload(out, FrameType::request)).has_value());
}

TEST_CASE("a request cut short anywhere is refused, and one with a byte more") {
  const auto good = good_request();
  REQUIRE(RequestView::parse(good).has_value());
  for (std::size_t size = 0; size < good.size(); ++size)
    check_refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
  auto longer = good;
  longer.push_back(std::byte{});
  check_refused(longer);
}

TEST_CASE("a request with counts that contradict its length is refused") {
  for (const std::uint32_t sets : {0U, 1U, 3U, 1025U, UINT32_MAX}) {
    auto payload = good_request();
    store_le(payload.data(), sets);
    check_refused(payload);
  }
  for (const std::uint32_t entries : {0U, 1U, 3U, 4097U, UINT32_MAX}) {
    auto payload = good_request();
    store_le(payload.data() + 4, entries);
    check_refused(payload);
  }
  for (const std::uint32_t set_size : {0U, 3U, 0x40000001U, UINT32_MAX}) {
    auto payload = good_request();
    store_le(payload.data() + 8, set_size);
    check_refused(payload);
  }
}

TEST_CASE("a request with more sources than a set or a frame may name is refused") {
  const auto with_sets = [](const std::vector<std::uint32_t>& sizes) {
    std::vector<std::byte> payload(8);
    store_le(payload.data(), static_cast<std::uint32_t>(sizes.size()));
    for (const auto size : sizes) {
      const std::size_t at = payload.size();
      payload.resize(at + 4 + std::size_t{4} * size);
      store_le(payload.data() + at, size);
    }
    return payload;
  };
  CHECK(RequestView::parse(with_sets({kSetSourcesMax, kSetSourcesMax})).has_value());
  check_refused(with_sets({kSetSourcesMax + 1}));
  check_refused(with_sets({kSetSourcesMax, kSetSourcesMax, 1}));
}

TEST_CASE("a request entry that names no set is refused") {
  constexpr std::size_t kFirstEntry = 8 + 12 + 8;
  auto payload = good_request();
  store_le(payload.data() + kFirstEntry + 10, std::uint16_t{2});
  check_refused(payload);
  store_le(payload.data() + kFirstEntry + 10, kAllSources);
  CHECK(RequestView::parse(payload).has_value());
}

TEST_CASE("a request entry brings the slot that its sender gave the slice") {
  RequestWriter writer;
  writer.add({SliceId(7), Attempt(1), kAllSources, 0, 0, 0xfffffffe});
  std::vector<std::byte> frame;
  writer.take_frame(frame);
  const auto view = RequestView::parse(ConstBytes(frame).subspan(kHeaderBytes));
  REQUIRE(view.has_value());
  CHECK(view->entry(0).slot == 0xfffffffe);
}

TEST_CASE("slice entries are read back as they were sent, in as many frames as they need") {
  const std::size_t count =
      GENERATE(as<std::size_t>{}, 1, 2, kBatchEntriesMax, kBatchEntriesMax + 1, 3 * kBatchEntriesMax);
  const auto type = GENERATE(FrameType::cancel, FrameType::stored);
  CAPTURE(count);
  std::vector<CopyId> sent;
  for (std::size_t i = 0; i < count; ++i) {
    sent.push_back({SliceId(mix64(i)), Attempt(static_cast<std::uint16_t>(i)),
                    StoreEpoch(static_cast<std::uint16_t>(i * 7))});
  }
  std::vector<std::byte> out;
  append_slice_entries(type, sent, out);
  std::vector<CopyId> got;
  std::size_t begin = 0, frames = 0;
  for (; begin < out.size(); ++frames) {
    const auto [header, payload] = next_frame(out, begin);
    CHECK(header.type == type);
    const auto entries = parse_slice_entries(payload);
    REQUIRE(entries.has_value());
    got.insert(got.end(), entries->begin(), entries->end());
  }
  CHECK(frames == (count + kBatchEntriesMax - 1) / kBatchEntriesMax);
  CHECK(got == sent);
}

TEST_CASE("no slice entries make no frame") {
  std::vector<std::byte> out;
  append_slice_entries(FrameType::cancel, {}, out);
  CHECK(out.empty());
}

TEST_CASE("slice entries that are cut, too many, or not zero where they must be are refused") {
  const std::vector<CopyId> entries(3);
  std::vector<std::byte> good;
  append_slice_entries(FrameType::stored, entries, good);
  good.erase(good.begin(), good.begin() + kHeaderBytes);
  REQUIRE(parse_slice_entries(good).has_value());
  for (std::size_t size = 0; size < good.size(); ++size)
    check_entries_refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
  auto payload = good;
  payload.push_back(std::byte{});
  check_entries_refused(payload);
  for (const std::uint32_t count : {0U, 2U, 4U, UINT32_MAX}) {
    payload = good;
    store_le(payload.data(), count);
    check_entries_refused(payload);
  }
  for (const std::size_t at : {std::size_t{4}, std::size_t{7}, std::size_t{8 + 12}, good.size() - 1}) {
    payload = good;
    payload[at] = std::byte{1};
    check_entries_refused(payload);
  }
  payload.assign(8 + 16 * (kBatchEntriesMax + 1), std::byte{});
  store_le(payload.data(), static_cast<std::uint32_t>(kBatchEntriesMax + 1));
  check_entries_refused(payload);
}

TEST_CASE("a complete frame is appended to earlier contents") {
  std::vector<std::byte> out(3, std::byte{0x11});
  const std::vector<std::byte> payload(10, std::byte{0x22});
  append_frame(FrameType::control, payload, out);
  append_frame(FrameType::hello, {}, out);
  std::size_t begin = 3;
  const auto [control, control_payload] = next_frame(out, begin);
  CHECK(control.type == FrameType::control);
  CHECK(std::equal(control_payload.begin(), control_payload.end(), payload.begin(), payload.end()));
  const auto [hello, hello_payload] = next_frame(out, begin);
  CHECK(hello.type == FrameType::hello);
  CHECK(hello_payload.empty());
  CHECK(begin == out.size());
}

}  // namespace weir::wire
