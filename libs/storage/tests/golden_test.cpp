#include "store_rig.hpp"
#include "weir_catch.hpp"
#include <weir/storage/verify.hpp>

#include <array>
#include <fstream>
#include <iterator>

// The committed file is what version 1 is. It is written anew only by hand: `storage_golden_test
// "[.regenerate]"`, and only before version 1 has been released.

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

const std::string kGolden = std::string(WEIR_TEST_SOURCE_DIR) + "/tests/golden/run_file_v1.weir";

// One of each kind of slice.
std::vector<Buffer> golden_records() {
  std::vector<Buffer> records;
  records.push_back(make_record({.slice = 3, .sources = 3, .fragment_bytes = 17}));
  records.push_back(make_record({.slice = 1, .sources = 1, .fragment_bytes = 64, .streams = 6}));
  records.push_back(make_record({.slice = 3, .attempt = 1, .epoch = 2, .sources = 1, .fragment_bytes = 5}));

  const Buffer payload = pattern(33, 99);
  FragmentRecord corrupt = whole_fragment(SourceId(70'000), payload);
  corrupt.status = FragmentStatus::corrupt;
  corrupt.source_crc32c ^= 0xff;
  FragmentRecord missing;
  missing.source = SourceId(2);
  missing.status = FragmentStatus::missing;
  missing.reason = MissingReason::deadline;
  FragmentRecord not_kept = whole_fragment(SourceId(3), payload);
  not_kept.kept = false;
  not_kept.stored_length = 0;
  const std::array table = {corrupt, missing, not_kept};
  const Buffer trigger = text("muon");
  const Buffer result = text("3 clusters");
  const Buffer event = pattern(11, 5);
  const std::array events = {OutputEvent{1000, event}, OutputEvent{1001, {}}};
  SliceRecord rich;
  rich.head =
      head_of({.slice = 0x0123'4567'89ab'cdef, .attempt = 2, .epoch = 4, .streams = 0x8000'0000'0000'0003});
  rich.head.trigger_type = TriggerType(9);
  rich.head.collector = NodeIndex(2);
  rich.head.flags = slice_flag::incomplete | slice_flag::unfiltered | slice_flag::poison;
  rich.head.decision = DecisionKind::poison;
  rich.head.prescale = 100;
  rich.trigger_payload = trigger;
  rich.filter_result = result;
  rich.events = events;
  rich.fragments = table;
  Buffer bytes;
  encode_slice_meta(rich, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  records.push_back(bytes);
  return records;
}

Buffer golden_file() {
  Rig rig;
  rig.start();
  for (const Buffer& record : golden_records()) {
    REQUIRE(rig.store.store(record, {}, 0, rig.now) == StoreResult::accepted);
  }
  rig.close();
  return rig.disk.files().begin()->second.bytes;
}

Buffer committed() {
  std::ifstream in(kGolden, std::ios::binary);
  REQUIRE(in);
  const std::string content(std::istreambuf_iterator<char>(in), {});
  return text(content);
}

// A record encoded from nothing but what a reader says of it.
Buffer reencode(const SliceRecordView& view) {
  std::vector<FragmentRecord> table;
  std::vector<OutputEvent> events;
  for (std::size_t i = 0; i < view.fragment_count(); ++i) table.push_back(view.fragment(i).record);
  for (std::size_t i = 0; i < view.event_count(); ++i) events.push_back(view.event(i));
  SliceRecord record{view.head(), view.trigger_payload(), view.filter_result(), events, table};
  Buffer bytes;
  encode_slice_meta(record, bytes);
  for (std::size_t i = 0; i < view.fragment_count(); ++i) {
    const ConstBytes payload = view.fragment(i).bytes;
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  }
  return bytes;
}

}  // namespace

TEST_CASE("the writer writes version 1 as it was committed") { CHECK(golden_file() == committed()); }

TEST_CASE("the committed file of version 1 is read, is sound, and encodes to the same bytes") {
  const Buffer bytes = committed();
  const auto file = RunFileReader::from_bytes(bytes, "golden");
  REQUIRE(file);
  CHECK(file->closed());
  CHECK(verify(*file).sound());
  CHECK(file->header().farm == "test-farm");
  REQUIRE(file->entries().size() == 4);
  CHECK(file->find(SliceId(3))->epoch == StoreEpoch(2));
  CHECK(file->dead_copies().size() == 1);
  const std::vector<Buffer> records = golden_records();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto view = file->slice(file->entries()[i], Check::fragments);
    REQUIRE(view);
    CHECK(std::ranges::equal(view->bytes(), records[i]));
    CHECK(reencode(*view) == records[i]);
  }
}

TEST_CASE("write the golden file anew", "[.regenerate]") {
  const Buffer bytes = golden_file();
  std::ofstream out(kGolden, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  CHECK(out.flush());
}
