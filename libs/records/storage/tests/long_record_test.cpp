// Records beyond 4 GiB, made of zeros that take up neither memory nor disk space.
#include "forwarded_calls.hpp"
#include "store_fixture.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/storage/file_disk.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <thread>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using weir::test::TemporaryFolder;

namespace {

constexpr std::uint32_t kFragmentBytes = 900U << 20;
constexpr std::size_t kFragments = 5;

// Memory that costs nothing until it is written to.
class ZeroMemory {
 public:
  explicit ZeroMemory(std::size_t bytes) : bytes_(bytes) {
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(at != MAP_FAILED);
    at_ = static_cast<std::byte*>(at);
    (void)::madvise(at, bytes, MADV_HUGEPAGE);  // all zeros share one page
  }
  ~ZeroMemory() { ::munmap(at_, bytes_); }
  ZeroMemory(const ZeroMemory&) = delete;
  ZeroMemory& operator=(const ZeroMemory&) = delete;
  [[nodiscard]] Bytes bytes() const { return {at_, bytes_}; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

// Leaves holes instead of zeros, and accepts no more bytes per call than Linux does.
class SparseCalls : public ForwardedCalls {
 public:
  ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) override {
    constexpr std::size_t kOnceMax = 0x7ffff000;
    constexpr std::size_t kBlock = 64U << 10;
    static const std::vector<std::byte> zeros(kBlock);
    std::size_t done = 0;
    for (int i = 0; i < count && done < kOnceMax; ++i) {
      const auto* from = static_cast<const std::byte*>(pieces[i].iov_base);
      const std::size_t bytes = std::min(pieces[i].iov_len, kOnceMax - done);
      for (std::size_t at = 0; at < bytes; at += kBlock) {
        const std::size_t n = std::min(kBlock, bytes - at);
        if (std::memcmp(from + at, zeros.data(), n) == 0) continue;
        iovec block{const_cast<std::byte*>(from + at), n};
        const off_t to = offset + static_cast<off_t>(done + at);
        if (ForwardedCalls::pwritev(descriptor, &block, 1, to) != static_cast<ssize_t>(n)) return -1;
      }
      done += bytes;
    }
    if (ftruncate(descriptor, offset + static_cast<off_t>(done)) != 0) return -1;
    return static_cast<ssize_t>(done);
  }
};

// Stores slice 9 as a record of five fragments, and slice 10 as a small one behind it. Returns the closed
// file's path and the length of the first record.
std::pair<std::string, std::uint64_t> store_long_record(const TemporaryFolder& folder) {
  const std::vector<std::byte> megabyte(1U << 20);
  std::uint32_t crc_of_zeros = 0;
  for (std::uint32_t i = 0; i < kFragmentBytes >> 20; ++i)
    crc_of_zeros = crc32c_extend(crc_of_zeros, megabyte);
  SliceRecord record;
  record.head = head_of({.slice = 9});
  std::vector<FragmentRecord> table(kFragments);
  for (std::size_t i = 0; i < kFragments; ++i) {
    table[i].source = SourceId(static_cast<std::uint32_t>(i + 1));
    table[i].kept = table[i].checksummed = true;
    table[i].stored_length = table[i].total_length = kFragmentBytes;
    table[i].source_crc32c = table[i].stored_crc32c = crc_of_zeros;
  }
  record.fragments = table;
  Buffer meta;
  encode_slice_meta(record, meta);
  const std::uint64_t length = slice_record_length(record);
  REQUIRE(length > std::uint64_t{1} << 32);
  const ZeroMemory memory(length);
  std::copy(meta.begin(), meta.end(), memory.bytes().begin());

  RunStoreConfig config = small_config();
  config.directory = folder.path();
  config.file_bytes_max = std::uint64_t{16} << 30;
  SparseCalls calls;
  Recorder seen;
  FileDisk disk([] {}, calls);
  RunStore store(config, disk, seen);
  TimeNs now = kSecond;
  const auto until = [&](const auto& done) {
    // Long enough for 4 GiB of checksums under ThreadSanitizer on a busy machine.
    for (int i = 0; i < 500'000 && !done(); ++i) {
      now += kMillisecond;
      store.tick(now);
      store.flush(now);
      disk.deliver(store);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    REQUIRE(done());
  };
  store.start(now, kSecond, text("begin"));
  until([&] { return seen.ready == 1; });
  REQUIRE(store.store(memory.bytes(), {}, 1, now) == StoreResult::accepted);
  CHECK(store.bytes_queued() == length);
  // The record behind it has an offset of more than 32 bits.
  const Buffer small = make_record({.slice = 10});
  until([&] { return seen.stored.size() == 1; });
  REQUIRE(store.store(small, {}, 1, now) == StoreResult::accepted);
  until([&] { return seen.stored.size() == 2; });
  store.close(now, text("end"));
  until([&] { return seen.finished == 1; });
  REQUIRE(seen.closed.size() == 1);
  return {seen.closed[0].path, length};
}

}  // namespace

TEST_CASE("a record of more than 4 GiB is stored, and found again with the record behind it") {
  const TemporaryFolder folder;
  const auto [path, length] = store_long_record(folder);
  const auto file = RunFileReader::open(path);
  REQUIRE(file.has_value());
  CHECK(file->closed());
  const IndexEntry* entry = file->find(SliceId(9));
  REQUIRE(entry != nullptr);
  CHECK(entry->length == length);
  const auto slice = file->slice(*entry);
  REQUIRE(slice.has_value());
  const FragmentView last = slice->fragment(kFragments - 1);
  CHECK(last.bytes.size() == kFragmentBytes);
  CHECK(last.bytes.back() == std::byte{0});
  const IndexEntry* behind = file->find(SliceId(10));
  REQUIRE(behind != nullptr);
  CHECK(behind->offset > length);
  CHECK(file->slice(*behind, Check::fragments).has_value());
}

// Reads every byte, several times.
TEST_CASE("a record of more than 4 GiB is verified, and recognised when it is torn", "[.long]") {
  const TemporaryFolder folder;
  const std::string path = store_long_record(folder).first;
  {
    const auto file = RunFileReader::open(path);
    REQUIRE(file.has_value());
    const VerifyReport report = verify(*file);
    for (const FileProblem& problem : report.problems) FAIL_CHECK(problem.text);
    CHECK(report.slices == 2);
  }
  std::filesystem::resize_file(path, (std::uint64_t{1} << 32) + 4096);
  const auto torn = RunFileReader::open(path);
  REQUIRE(torn.has_value());
  CHECK_FALSE(torn->closed());
  CHECK(torn->find(SliceId(9)) == nullptr);
}
