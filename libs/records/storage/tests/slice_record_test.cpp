#include "store_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/storage/format.hpp>

#include <algorithm>
#include <array>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

struct Rich {
  Buffer whole = pattern(37, 1);
  Buffer corrupt = pattern(20, 2);
  Buffer partial = pattern(10, 3);
  Buffer trigger = text("trigger");
  Buffer result = text("a filter's words");
  Buffer event_bytes = pattern(5, 4);
  std::array<OutputEvent, 2> events{OutputEvent{11, event_bytes}, OutputEvent{12, {}}};
  std::vector<FragmentRecord> table;
  SliceRecord record;

  Rich() {
    FragmentRecord bad = whole_fragment(SourceId(5), corrupt);
    bad.status = FragmentStatus::corrupt;
    bad.source_crc32c ^= 1;
    FragmentRecord missing;
    missing.source = SourceId(9);
    missing.status = FragmentStatus::missing;
    missing.reason = MissingReason::source_down;
    FragmentRecord part = whole_fragment(SourceId(2), partial);
    part.status = FragmentStatus::missing;
    part.reason = MissingReason::deadline;
    part.total_length = 1000;
    part.source_crc32c = 0xdeadbeef;
    FragmentRecord dropped = whole_fragment(SourceId(4), whole);
    dropped.kept = false;
    dropped.stored_length = 0;
    table = {whole_fragment(SourceId(3), whole), bad, missing, part, dropped};
    record.head = head_of({.slice = 42, .attempt = 3, .epoch = 2, .streams = 0x8000'0000'0000'0001});
    record.head.trigger_type = TriggerType(6);
    record.head.dcm = NodeIndex(4);
    record.head.flags = slice_flag::incomplete;
    record.head.decision = DecisionKind::prescale;
    record.head.prescale = 10;
    record.trigger_payload = trigger;
    record.filter_result = result;
    record.events = events;
    record.fragments = table;
  }
  Buffer bytes() const {
    Buffer out;
    encode_slice_meta(record, out);
    for (const Buffer* payload : {&whole, &corrupt, &partial})
      out.insert(out.end(), payload->begin(), payload->end());
    return out;
  }
};

}  // namespace

TEST_CASE("a slice record is read back with all its contents") {
  const Rich rich;
  const Buffer bytes = rich.bytes();
  REQUIRE(bytes.size() == slice_record_length(rich.record));
  REQUIRE(slice_meta_length(rich.record) % kAlignment == 0);
  const auto view = parse_slice_record(bytes, Check::fragments);
  REQUIRE(view);
  CHECK(view->head() == rich.record.head);
  REQUIRE(view->fragment_count() == rich.table.size());
  for (std::size_t i = 0; i < rich.table.size(); ++i) CHECK(view->fragment(i).record == rich.table[i]);
  CHECK(std::ranges::equal(view->fragment(0).bytes, rich.whole));
  CHECK(std::ranges::equal(view->fragment(3).bytes, rich.partial));
  CHECK(view->fragment(4).bytes.empty());
  CHECK(std::ranges::equal(view->find(SourceId(5))->bytes, rich.corrupt));
  CHECK_FALSE(view->find(SourceId(77)));
  CHECK(std::ranges::equal(view->trigger_payload(), rich.trigger));
  CHECK(std::ranges::equal(view->filter_result(), rich.result));
  REQUIRE(view->event_count() == 2);
  CHECK(view->event(0).id == 11);
  CHECK(std::ranges::equal(view->event(0).bytes, rich.event_bytes));
  CHECK(view->event(1).bytes.empty());
}

TEST_CASE("a slice without fragments, events or payloads is a record too") {
  SliceRecord record;
  record.head = head_of({});
  Buffer bytes;
  encode_slice_meta(record, bytes);
  REQUIRE(parse_slice_record(bytes));
  CHECK(parse_slice_record(bytes)->payload_bytes() == 0);
}

TEST_CASE("the meta part is appended to a buffer's earlier contents") {
  const Rich rich;
  Buffer bytes = pattern(13, 1);
  encode_slice_meta(rich.record, bytes);
  Buffer alone;
  encode_slice_meta(rich.record, alone);
  CHECK(std::equal(alone.begin(), alone.end(), bytes.begin() + 13, bytes.end()));
}

TEST_CASE("every flipped bit in a record is found, wherever it is") {
  const Buffer good = make_record({.fragment_bytes = 21});
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Buffer bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    CAPTURE(bit);
    REQUIRE_FALSE(parse_slice_record(bad, Check::fragments));
  }
}

TEST_CASE("a record that is cut or has bytes behind it is refused") {
  const Buffer good = Rich().bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    REQUIRE_FALSE(parse_slice_record(ConstBytes(good).first(size)));
  }
  Buffer longer = good;
  longer.push_back({});
  CHECK(parse_slice_record(longer).error() == StorageError::bad_length);
  CHECK(parse_slice_record(ConstBytes(good).first(good.size() - 1)).error() == StorageError::truncated);
}

TEST_CASE("the checksum of a fragment without one is not looked at") {
  Rich rich;
  rich.table[0].checksummed = false;
  rich.table[0].stored_crc32c = 0;
  CHECK(parse_slice_record(rich.bytes(), Check::fragments));
}

TEST_CASE("a fragment marked ok with another source checksum is refused") {
  Rich rich;
  rich.table[0].source_crc32c ^= 1;
  CHECK(parse_slice_record(rich.bytes(), Check::meta));
  CHECK(parse_slice_record(rich.bytes(), Check::fragments).error() == StorageError::bad_checksum);
}

TEST_CASE("a record's checksum from its fragments' is that of its bytes, with and without checksums") {
  for (const std::uint32_t bytes : {0U, 13U, 16'384U, 40'001U}) {
    for (const bool checksummed : {true, false}) {
      std::vector<FragmentRecord> table;
      std::vector<Buffer> payloads;
      for (std::uint32_t s = 0; s < 3; ++s) {
        payloads.push_back(pattern(bytes + s, s));
        table.push_back(whole_fragment(SourceId(s + 1), payloads.back()));
        table.back().checksummed = checksummed;
      }
      SliceRecord record;
      record.head = head_of({});
      record.fragments = table;
      Buffer whole;
      encode_slice_meta(record, whole);
      for (const Buffer& payload : payloads) whole.insert(whole.end(), payload.begin(), payload.end());
      const auto view = parse_slice_record(whole, Check::fragments);
      REQUIRE(view);
      CHECK(record_checksum(*view) == crc32c(whole));
    }
  }
}
