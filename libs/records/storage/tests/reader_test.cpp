#include "store_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/storage/verify.hpp>

#include <sstream>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Returns a closed file with the slices 1..count, in this order.
Buffer closed_file(std::uint64_t count, std::uint32_t fragment_bytes = 50) {
  Fixture fixture;
  fixture.start();
  for (std::uint64_t i = 1; i <= count; ++i)
    (void)fixture.put({.slice = i, .fragment_bytes = fragment_bytes});
  fixture.close();
  return fixture.disk.files().begin()->second.bytes;
}

RunFileReader open(const Buffer& bytes) {
  return std::move(RunFileReader::from_bytes(bytes, "f.weir").value());
}

}  // namespace

TEST_CASE("a file is walked in file order and by id") {
  Fixture fixture;
  fixture.start();
  for (const std::uint64_t i : std::initializer_list<std::uint64_t>{5, 1, 9, 3})
    (void)fixture.put({.slice = i});
  fixture.close();
  const RunFileReader file = fixture.read("run-000007-writer-0-0000.weir");
  std::vector<std::uint64_t> in_file;
  std::vector<std::uint64_t> by_id;
  for (const IndexEntry& entry : file.entries()) in_file.push_back(entry.slice.value);
  for (const std::uint32_t position : file.by_id()) by_id.push_back(file.entries()[position].slice.value);
  CHECK(in_file == std::vector<std::uint64_t>{5, 1, 9, 3});
  CHECK(by_id == std::vector<std::uint64_t>{1, 3, 5, 9});
  CHECK(file.find(SliceId(4)) == nullptr);
}

TEST_CASE("a file that is not a run file is rejected with a reason") {
  const Buffer stranger = text(
      "\x7f"
      "ELF and so on, quite long enough for a header of a file");
  const auto file = RunFileReader::from_bytes(stranger, "a.out");
  REQUIRE_FALSE(file);
  CHECK(file.error().error == StorageError::bad_magic);
  CHECK_THAT(file.error().detail, ContainsSubstring("a.out: not a Weir run file"));
  CHECK(RunFileReader::open("/no/such/file.weir").error().error == StorageError::not_found);
  CHECK_FALSE(RunFileReader::open("/"));
}

TEST_CASE(
    "any prefix of a file opens, or is too short for a header, and has every slice that is whole in it") {
  const Buffer whole = closed_file(6);
  const RunFileReader closed = open(whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto file = RunFileReader::from_bytes(ConstBytes(whole).first(size), "prefix");
    if (size < closed.header().length) {
      REQUIRE_FALSE(file);
      continue;
    }
    REQUIRE(file);
    REQUIRE_FALSE(file->closed());
    std::size_t expected = 0;
    for (const IndexEntry& entry : closed.entries()) expected += entry.end() <= size ? 1 : 0;
    REQUIRE(file->entries().size() == expected);
  }
}

TEST_CASE("a file with a hole in the middle gives the slices around it") {
  const Buffer whole = closed_file(6);
  const RunFileReader closed = open(whole);
  Buffer bad(whole.begin(), whole.end() - 200);  // no footer
  const IndexEntry& lost = closed.entries()[2];
  std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(lost.offset), 40, std::byte{0});
  const RunFileReader file = open(bad);
  CHECK(file.entries().size() == 5);
  CHECK(file.find(SliceId(3)) == nullptr);
  REQUIRE(file.gaps().size() == 2);
  CHECK(file.gaps()[0].offset == lost.offset);
  CHECK(file.gaps()[0].length == lost.end() - lost.offset);
}

TEST_CASE("a run file stored as a payload is not taken for records") {
  const Buffer inner = closed_file(3);
  std::vector<FragmentRecord> table = {whole_fragment(SourceId(1), inner)};
  SliceRecord record;
  record.head = head_of({.slice = 77});
  record.fragments = table;
  Buffer bytes;
  encode_slice_meta(record, bytes);
  bytes.insert(bytes.end(), inner.begin(), inner.end());
  Fixture fixture;
  fixture.start();
  REQUIRE(fixture.store.store(bytes, {}, 0, fixture.now) == StoreResult::accepted);
  fixture.close();
  Buffer outer = fixture.disk.files().begin()->second.bytes;
  const std::uint64_t at = open(outer).entries()[0].offset;
  outer[at] = std::byte{0};
  outer.resize(outer.size() - 8);
  CHECK(open(outer).entries().empty());
}

TEST_CASE("a whole file is sound") {
  const Buffer bytes = closed_file(20);
  const RunFileReader file = open(bytes);
  const VerifyReport report = verify(file);
  CHECK(report.sound());
  CHECK(report.slices == 20);
  CHECK(report.fragments_checked == 40);
  CHECK(report.live == file.live());
}

TEST_CASE("any flipped bit of a file is found, and in a slice it is named with slice and source") {
  const Buffer good = closed_file(3, 30);
  const RunFileReader reference = open(good);
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    CAPTURE(byte);
    Buffer bad = good;
    bad[byte] ^= static_cast<std::byte>(1U << (byte % 8));
    const auto file = RunFileReader::from_bytes(bad, "bad");
    if (!file) {
      REQUIRE(byte < reference.header().length);
      continue;
    }
    const VerifyReport report = verify(*file);
    REQUIRE_FALSE(report.sound());
    for (const IndexEntry& entry : reference.entries()) {
      if (byte < entry.offset || byte >= entry.offset + kRecordHeadLength + entry.length) continue;
      REQUIRE(report.problems[0].slice == entry.slice);
      const auto view = reference.slice(entry);
      for (std::size_t i = 0; i < view->fragment_count(); ++i) {
        const FragmentView fragment = view->fragment(i);
        const auto start = static_cast<std::size_t>(fragment.bytes.data() - good.data());
        if (byte >= start && byte < start + fragment.bytes.size()) {
          REQUIRE(report.problems[0].source == fragment.record.source);
          REQUIRE_THAT(report.problems[0].text, ContainsSubstring("source"));
        }
      }
    }
  }
}

TEST_CASE("of copies in several files the one with the highest store epoch counts") {
  Fixture first;
  first.start();
  (void)first.put({.slice = 1, .epoch = 1});
  (void)first.put({.slice = 2, .epoch = 1});
  first.close();
  RunStoreConfig config = small_config();
  config.writer = "writer-1";
  Fixture second(config);
  second.start();
  (void)second.put({.slice = 1, .attempt = 1, .epoch = 2});
  (void)second.put({.slice = 2, .epoch = 1});
  second.close();
  std::vector<RunFileReader> files;
  files.push_back(first.read("run-000007-writer-0-0000.weir"));
  files.push_back(second.read("run-000007-writer-1-0000.weir"));
  resolve_copies(files);
  CHECK(files[0].find(SliceId(1)) == nullptr);
  CHECK(files[1].find(SliceId(1)) != nullptr);
  const auto problems = verify_copies(files);  // slice 2 has two copies of one epoch, which is an error
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].slice == SliceId(2));
}

TEST_CASE("a copy that a writer stored in two of its lives, or twice in one, counts once") {
  Fixture first;
  first.start();
  (void)first.put({.slice = 1, .epoch = 1});
  // A copy is given up, settled and forgotten; then it arrives once more.
  CHECK(first.store.mark_dead(SliceId(1), Attempt(0), StoreEpoch(1)));
  const SliceId slice(1);
  first.store.settle({&slice, 1});
  CHECK(first.put({.slice = 1, .epoch = 1}) == StoreResult::accepted);
  first.pass(kSecond);  // and the process dies before any dead list is on disk
  RunStoreConfig config = small_config();
  config.first_sequence = 1;
  Fixture second(config);
  second.start();
  (void)second.put({.slice = 1, .epoch = 1});
  second.close();
  std::vector<RunFileReader> files;
  files.push_back(first.read("run-000007-writer-0-0000.weir.part"));
  files.push_back(second.read("run-000007-writer-0-0001.weir"));
  REQUIRE(files[0].entries().size() == 2);
  CHECK(files[0].live().count == 1);
  resolve_copies(files);
  CHECK(files[0].live().count == 1);
  CHECK(files[1].live().count == 0);
  CHECK(verify_copies(files).empty());
}
