#include "store_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/storage/format.hpp>

#include <algorithm>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

FileHeader some_header() {
  FileHeader header;
  header.run = RunNumber(7);
  header.sequence = 3;
  header.created = 1'700'000'000 * kSecond;
  header.writer = "writer-1";
  header.farm = "demo";
  return header;
}

}  // namespace

TEST_CASE("a file header is read back as written, aligned") {
  FileHeader header = some_header();
  Buffer bytes;
  encode_file_header(header, bytes);
  REQUIRE(bytes.size() == header.length);
  CHECK(bytes.size() % kAlignment == 0);
  const auto parsed = parse_file_header(bytes);
  REQUIRE(parsed);
  CHECK(parsed->run == header.run);
  CHECK(parsed->sequence == 3);
  CHECK(parsed->created == header.created);
  CHECK(parsed->writer == "writer-1");
  CHECK(parsed->farm == "demo");
  CHECK(parsed->tag == header.tag);
}

TEST_CASE("a damaged or cut file header is refused with its reason") {
  FileHeader header = some_header();
  Buffer good;
  encode_file_header(header, good);
  for (std::size_t size = 0; size < good.size(); ++size) {
    REQUIRE(parse_file_header(ConstBytes(good).first(size)).error() == StorageError::truncated);
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    Buffer bad = good;
    bad[i] ^= std::byte{0x10};
    REQUIRE_FALSE(parse_file_header(bad));
  }
  CHECK(parse_file_header(text("PK zip or whatever")).error() == StorageError::bad_magic);
  good[8] = std::byte{2};
  CHECK(parse_file_header(good).error() == StorageError::bad_version);
}

TEST_CASE("names that are too long are cut, and the header stays readable") {
  FileHeader header = some_header();
  header.farm = std::string(5000, 'x');
  Buffer bytes;
  encode_file_header(header, bytes);
  REQUIRE(parse_file_header(bytes));
  CHECK(parse_file_header(bytes)->farm.size() == kNameLengthMax);
}

TEST_CASE("a record head counts only at its own offset in its own file") {
  Buffer file(128);
  encode_record_head({99, 32, 16, RecordType::slice, 0}, file.data() + 32);
  REQUIRE(parse_record_head(file, 32, 99));
  CHECK(parse_record_head(file, 32, 99)->length() == 48);
  CHECK(parse_record_head(file, 32, 98).error() == StorageError::bad_magic);
  CHECK(parse_record_head(file, 33, 99).error() == StorageError::bad_length);
  CHECK(parse_record_head(file, 120, 99).error() == StorageError::truncated);
  CHECK(parse_record_head(file, 1U << 20, 99).error() == StorageError::truncated);
  CHECK(parse_record_head(ConstBytes(file).first(72), 32, 99).error() == StorageError::truncated);
  std::copy_n(file.begin() + 32, kRecordHeadLength, file.begin() + 64);
  CHECK(parse_record_head(file, 64, 99).error() == StorageError::bad_magic);
}

TEST_CASE("a record that claims to be longer than any file is cut, not followed") {
  Buffer file(64);
  for (const std::uint64_t length : {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 40, std::uint64_t{33}}) {
    encode_record_head({1, 0, length, RecordType::slice, 0}, file.data());
    CHECK(parse_record_head(file, 0, 1).error() == StorageError::truncated);
  }
}

TEST_CASE("an index is read back sorted by slice and store epoch") {
  std::vector<IndexEntry> entries = {
      {SliceId(9), 800, 64, 1, 5, Attempt(0), StoreEpoch(1), 0, false},
      {SliceId(2), 400, 64, 3, 6, Attempt(1), StoreEpoch(2), 1, false},
      {SliceId(2), 200, 64, 3, 6, Attempt(0), StoreEpoch(1), 0, true},
  };
  const Buffer body = encode_index(entries);
  const auto parsed = parse_index(body, 10'000);
  REQUIRE(parsed);
  CHECK(*parsed == entries);
  CHECK(parsed->front().dead);
  CHECK(parsed->back().slice == SliceId(9));
  CHECK(parse_index(body, 850).error() == StorageError::bad_length);
  Buffer bad = body;
  bad[20] ^= std::byte{1};
  CHECK(parse_index(bad, 10'000).error() == StorageError::bad_checksum);
  CHECK(parse_index(ConstBytes(body).first(body.size() - 1), 10'000).error() == StorageError::bad_length);
  CHECK(parse_index(ConstBytes(body).first(7), 10'000).error() == StorageError::truncated);
}

TEST_CASE("a dead list and an opaque record are read back as written") {
  const std::vector<DeadCopy> copies = {{SliceId(4), Attempt(1), StoreEpoch(1), 0}, {SliceId(5), {}, {}, 9}};
  CHECK(parse_dead_list(encode_dead_list(copies)).value() == copies);
  const Buffer content = text("{}");
  const Buffer body = encode_opaque(content);
  CHECK(std::ranges::equal(parse_opaque(body).value(), content));
  CHECK(parse_opaque(ConstBytes(body).first(4)).error() == StorageError::truncated);
}

TEST_CASE("a run file's name contains run, writer and number, and is read back") {
  CHECK(run_file_name(RunNumber(1), "writer-0", 12) == "run-000001-writer-0-0012.weir");
  CHECK(run_file_sequence("run-000001-writer-0-0012.weir", RunNumber(1), "writer-0") == 12U);
  CHECK(run_file_sequence("run-000001-writer-0-0012.weir.part", RunNumber(1), "writer-0") == 12U);
  CHECK_FALSE(run_file_sequence("run-000001-writer-0-0012.weir", RunNumber(2), "writer-0"));
  CHECK_FALSE(run_file_sequence("run-000001-writer-0-0012.weir", RunNumber(1), "writer"));
  CHECK_FALSE(run_file_sequence("run-000001-writer-0-.weir", RunNumber(1), "writer-0"));
  CHECK_FALSE(run_file_sequence("run-000001-writer-0-.", RunNumber(1), "writer-0"));
}
