#include "every_record.hpp"
#include "weir_catch.hpp"
#include <weir/storage/recover.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <random>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kPart = "out/run-000007-writer-0-0000.weir.part";

// A file with dozens of records: slices of every kind and size, some with a later copy, begin and end of run,
// a dead list, index and footer. A writer may leave any of its prefixes.
Buffer whole_file() {
  RunStoreConfig config = small_config();
  config.reference_bytes_min = 1U << 10;
  Fixture fixture(config);
  fixture.start();
  for (std::uint64_t i = 100; i < 130; ++i) {
    const auto bytes = static_cast<std::uint32_t>(i % 10 == 0 ? 1500 : i % 3 == 0 ? 0 : 7 * (i % 9));
    (void)fixture.put({.slice = i, .sources = static_cast<std::uint32_t>(i % 4), .fragment_bytes = bytes});
  }
  for (const Buffer& record : one_of_each_kind()) (void)fixture.store.store(record, {}, 0, fixture.now);
  (void)fixture.put({.slice = 103, .attempt = 1, .epoch = 3, .fragment_bytes = 40});
  (void)fixture.store.mark_dead(SliceId(111), Attempt(0), StoreEpoch(1));
  fixture.close();
  return fixture.disk.files().begin()->second.bytes;
}

Buffer bytes_of(const Recovery& recovery) {
  Buffer bytes;
  for (const ConstBytes piece : recovery.pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

Recovery recovered(ConstBytes file, const std::string& path = kPart) {
  auto recovery = plan_recovery(file, path);
  REQUIRE(recovery);
  const RecoveryReport& report = recovery->report;
  REQUIRE(report.bytes_in == file.size());
  REQUIRE(report.bytes_kept + report.bytes_replaced + report.bytes_cut == report.bytes_in);
  return std::move(*recovery);
}

// Returns the bodies of a file's records of this type, in file order.
std::vector<Buffer> bodies(ConstBytes file, std::uint64_t from, std::uint32_t tag, RecordType type) {
  std::vector<Buffer> found;
  std::vector<Gap> ignored;
  RecordCursor cursor(file, from, tag);
  while (const auto head = cursor.next(ignored)) {
    if (head->type != type) continue;
    const ConstBytes body = file.subspan(head->offset + kRecordHeadLength, head->body_length);
    found.emplace_back(body.begin(), body.end());
  }
  return found;
}

// The output is a sound file, and agrees with the report.
void check_good(const Buffer& out, const RecoveryReport& report) {
  REQUIRE(out.size() == report.bytes_out);
  const auto file = RunFileReader::from_bytes(out, "recovered.weir");
  REQUIRE(file);
  REQUIRE(file->closed());
  const VerifyReport verified = verify(*file);
  if (!verified.sound()) FAIL(verified.problems.front().text);
  REQUIRE(verified.live == report.live);
  REQUIRE(verified.slices == report.slices);
}

}  // namespace

TEST_CASE(
    "every prefix of a file is recovered into a good one with exactly the records that are whole in it") {
  const Buffer whole = whole_file();
  const auto reference = RunFileReader::from_bytes(whole, "whole.weir");
  REQUIRE(reference->closed());
  std::vector<RecordHead> heads;
  std::vector<Gap> none;
  RecordCursor cursor(whole, reference->header().length, reference->header().tag);
  while (const auto head = cursor.next(none)) heads.push_back(*head);
  REQUIRE(heads.size() > 35);

  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    const ConstBytes prefix = ConstBytes(whole).first(size);
    const Recovery recovery = recovered(prefix);
    const Buffer out = bytes_of(recovery);
    check_good(out, recovery.report);
    const auto file = RunFileReader::from_bytes(out, "recovered.weir");
    for (const RecordType type :
         {RecordType::slice, RecordType::begin_of_run, RecordType::end_of_run, RecordType::dead_list}) {
      std::vector<Buffer> expected;
      for (const RecordHead& head : heads) {
        if (head.type != type || head.offset + head.length() > size) continue;
        const ConstBytes body = prefix.subspan(head.offset + kRecordHeadLength, head.body_length);
        expected.emplace_back(body.begin(), body.end());
      }
      REQUIRE(bodies(out, file->header().length, file->header().tag, type) == expected);
    }
    if (size < reference->header().length) {
      REQUIRE(recovery.report.header_rebuilt);
      REQUIRE(recovery.report.slices == 0);
    } else {
      // Dead copies are those that the prefix itself shows to be dead.
      const auto torn = RunFileReader::from_bytes(prefix, kPart, Reading::records);
      REQUIRE(file->live() == torn->live());
      REQUIRE(file->header().created == reference->header().created);
    }
    REQUIRE(file->header().run == RunNumber(7));
    REQUIRE(file->header().writer == "writer-0");
    REQUIRE(recovery.report.damaged == 0);
    REQUIRE(recovery.report.cuts_total <= 1);
  }
}

TEST_CASE("a closed file is recovered to the same bytes") {
  const Buffer whole = whole_file();
  const Recovery recovery = recovered(whole);
  CHECK(recovery.report.cuts_total == 0);
  CHECK(recovery.report.bytes_cut == 0);
  CHECK(bytes_of(recovery) == whole);
}

TEST_CASE("a tail of zeros or of garbage is cut, and reported as such") {
  const Buffer whole = whole_file();
  const auto reference = RunFileReader::from_bytes(whole, "whole.weir");
  std::mt19937_64 random(1);
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const std::size_t size = random() % whole.size();
    const std::size_t tail = 1 + random() % 5000;
    const bool zeros = i % 2 == 0;
    Buffer torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t b = 0; b < tail; ++b)
      torn.push_back(zeros ? std::byte{0} : static_cast<std::byte>(random()));
    const Recovery recovery = recovered(torn);
    check_good(bytes_of(recovery), recovery.report);
    std::size_t whole_records = 0;
    std::size_t whole_but_for_padding = 0;
    for (const IndexEntry& entry : reference->entries()) {
      whole_records += entry.end() <= size ? 1 : 0;
      whole_but_for_padding += entry.offset + kRecordHeadLength + entry.length <= size ? 1 : 0;
    }
    CHECK(recovery.report.slices >= whole_records);
    // A record that ends with zeros of its own is complete if it is cut within them and followed by zeros.
    CHECK(recovery.report.slices <= whole_but_for_padding + (zeros ? 1 : 0));
    CHECK((recovery.report.cuts_total > 0 || zeros));
  }
  Buffer torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(reference->entries()[9].end()));
  torn.resize(torn.size() + 4096);
  const RecoveryReport report = recovered(torn).report;
  REQUIRE(report.cuts.size() == 1);
  CHECK(report.cuts[0].offset == reference->entries()[9].end());
  CHECK(report.cuts[0].length == 4096);
  CHECK_THAT(report.cuts[0].why, ContainsSubstring("zeros"));
}

TEST_CASE("a torn record is reported with its slice, its remaining length and its position") {
  const Buffer whole = whole_file();
  const auto reference = RunFileReader::from_bytes(whole, "whole.weir");
  const IndexEntry& last = reference->entries()[10];
  const Recovery recovery = recovered(ConstBytes(whole).first(last.offset + kRecordHeadLength + 90));
  REQUIRE(recovery.report.cuts.size() == 1);
  const Cut& cut = recovery.report.cuts[0];
  CHECK(cut.offset == last.offset);
  CHECK(cut.length == kRecordHeadLength + 90);
  CHECK(cut.slice == last.slice);
  CHECK_THAT(cut.why, ContainsSubstring("a slice record of") && ContainsSubstring("first 90"));
}

TEST_CASE("damage in the middle costs the records it is in, named, and those behind it are kept") {
  const Buffer whole = whole_file();
  const auto reference = RunFileReader::from_bytes(whole, "whole.weir");
  const IndexEntry& first = reference->entries()[20];
  const auto view = reference->slice(first);
  REQUIRE(view->fragment_count() == 0);  // 120 has none; its neighbour has some
  const IndexEntry& second = reference->entries()[22];
  const auto fragment = reference->slice(second)->fragment(1);
  Buffer bad = whole;
  bad[first.offset + 2] ^= std::byte{1};
  bad[static_cast<std::size_t>(fragment.bytes.data() - whole.data()) + 3] ^= std::byte{1};
  bad.resize(bad.size() - 60);

  const Recovery recovery = recovered(bad);
  const Buffer out = bytes_of(recovery);
  check_good(out, recovery.report);
  const auto file = RunFileReader::from_bytes(out, "recovered.weir");
  CHECK(file->entries().size() == reference->entries().size() - 2);
  CHECK(file->find(first.slice) == nullptr);
  CHECK(file->find(second.slice) == nullptr);
  CHECK(file->find(reference->entries()[23].slice) != nullptr);
  CHECK(recovery.report.damaged == 2);
  REQUIRE(recovery.report.cuts.size() == 3);
  CHECK(recovery.report.cuts[0].offset == first.offset);
  CHECK(recovery.report.cuts[1].slice == second.slice);
  CHECK(recovery.report.cuts[1].source == fragment.record.source);
}

TEST_CASE("of a copy that is in a file twice one is live when it is recovered") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1});
  CHECK(fixture.store.mark_dead(SliceId(1), Attempt(0), StoreEpoch(1)));
  const SliceId slice(1);
  fixture.store.settle({&slice, 1});
  CHECK(fixture.put({.slice = 1}) == StoreResult::accepted);
  fixture.pass(kSecond);
  const Recovery recovery = recovered(fixture.disk.files().begin()->second.bytes);
  check_good(bytes_of(recovery), recovery.report);
  CHECK(recovery.report.live.count == 1);
  CHECK(recovery.report.slices == 2);
}

TEST_CASE("a file with a damaged header is recovered by its records and its name") {
  const Buffer whole = whole_file();
  const auto reference = RunFileReader::from_bytes(whole, "whole.weir");
  Buffer bad = whole;
  std::fill_n(bad.begin(), 40, std::byte{0});
  bad.resize(bad.size() - 60);
  const std::string path = GENERATE(std::string(kPart), std::string("some-other-name"));
  const Recovery recovery = recovered(bad, path);
  const Buffer out = bytes_of(recovery);
  check_good(out, recovery.report);
  CHECK(recovery.report.header_rebuilt);
  CHECK(recovery.report.damaged == 1);
  CHECK(recovery.report.slices == reference->entries().size());
  const auto file = RunFileReader::from_bytes(out, "recovered.weir");
  CHECK(file->header().run == RunNumber(7));
  CHECK(file->header().writer == (path == kPart ? "writer-0" : ""));
  CHECK(file->begin_of_run().has_value());
}

TEST_CASE("an empty file of a writer gives an empty run file; a stranger's is refused") {
  const Recovery empty = recovered({});
  check_good(bytes_of(empty), empty.report);
  CHECK(empty.report.slices == 0);
  CHECK_FALSE(plan_recovery({}, "notes.txt"));
  const Buffer stranger = text("something else altogether, of some length, and in no way a file of ours");
  const auto refused = plan_recovery(stranger, "notes.txt");
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("notes.txt: not a Weir run file"));
  Buffer newer = whole_file();
  newer[8] = std::byte{9};
  CHECK(plan_recovery(newer, kPart).error().error == StorageError::bad_version);
}

TEST_CASE("every flipped byte of a file of every kind is found, and reported with its place in a slice") {
  const Buffer good = whole_file();
  const auto reference = RunFileReader::from_bytes(good, "whole.weir");
  const bool closed = GENERATE(true, false);
  CAPTURE(closed);
  // Not closed: everything except index and footer, as a killed writer leaves it.
  const std::size_t size = closed ? good.size() : reference->footer()->index_offset;
  const std::string path = closed ? "whole.weir" : kPart;
  for (std::size_t byte = 0; byte < size; ++byte) {
    CAPTURE(byte);
    Buffer bad(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    bad[byte] ^= static_cast<std::byte>(1U + byte % 255);
    const auto file = RunFileReader::from_bytes(bad, path);
    if (!file) {
      REQUIRE(byte < reference->header().length);
      continue;
    }
    const VerifyReport report = verify(*file);
    const IndexEntry* entry = nullptr;
    for (const IndexEntry& e : reference->entries()) {
      if (byte >= e.offset && byte < e.offset + kRecordHeadLength + e.length) entry = &e;
    }
    // In a file without an index, a damaged head of the last record is the torn end.
    REQUIRE((!report.sound() || report.torn_bytes > 0));
    if (entry == nullptr || report.torn_bytes > 0) continue;
    const bool in_head = byte < entry->offset + kRecordHeadLength;
    if (closed) REQUIRE(report.problems[0].slice == entry->slice);
    if (!closed && !in_head) REQUIRE(report.problems[0].offset >= entry->offset);
    const auto view = reference->slice(*entry);
    for (std::size_t i = 0; i < view->fragment_count(); ++i) {
      const FragmentView fragment = view->fragment(i);
      const auto start = static_cast<std::size_t>(fragment.bytes.data() - good.data());
      if (byte < start || byte >= start + fragment.bytes.size()) continue;
      REQUIRE(report.problems[0].slice == entry->slice);
      REQUIRE(report.problems[0].source == fragment.record.source);
    }
  }
}
