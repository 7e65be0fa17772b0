#include "every_record.hpp"
#include "store_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/storage/verify.hpp>

#include <fstream>
#include <iterator>

// The committed file defines version 1. It is rewritten only by hand (`storage_golden_test "[.regenerate]"`),
// and only before version 1 is released.

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

const std::string kGolden = std::string(WEIR_TEST_SOURCE_DIR) + "/tests/golden/run_file_v1.weir";

Buffer golden_file() {
  Fixture fixture;
  fixture.start();
  for (const Buffer& record : one_of_each_kind()) {
    REQUIRE(fixture.store.store(record, {}, 0, fixture.now) == StoreResult::accepted);
  }
  fixture.close();
  return fixture.disk.files().begin()->second.bytes;
}

Buffer committed() {
  std::ifstream in(kGolden, std::ios::binary);
  REQUIRE(in);
  const std::string content(std::istreambuf_iterator<char>(in), {});
  return text(content);
}

// Encodes a record again using only the reader's view of it.
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
  const std::vector<Buffer> records = one_of_each_kind();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto view = file->slice(file->entries()[i], Check::fragments);
    REQUIRE(view);
    CHECK(std::ranges::equal(view->bytes(), records[i]));
    CHECK(reencode(*view) == records[i]);
  }
}

TEST_CASE("write the golden file again", "[.regenerate]") {
  const Buffer bytes = golden_file();
  std::ofstream out(kGolden, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  CHECK(out.flush());
}
