#include <weir/base/crc32c.hpp>
#include <weir/storage/recover.hpp>
#include <weir/storage/verify.hpp>

#include <cstdlib>
#include <vector>

// The input is a run file. It is read unchanged, and once more with correct checksums in header, record
// heads, index and footer (if they can be found), so that the fuzzer gets past them.
namespace {

using namespace weir;
using namespace weir::storage;

void read_file(ConstBytes bytes) {
  auto file = RunFileReader::from_bytes(bytes, "fuzz");
  if (!file) return;
  for (const IndexEntry& entry : file->entries()) {
    const auto view = file->slice(entry, Check::fragments);
    if (view && view->head().slice != entry.slice) std::abort();
    (void)file->find(entry.slice);
  }
  const VerifyReport report = verify(*file);
  if (report.slices > report.records) std::abort();
  std::vector<RunFileReader> files;
  files.push_back(std::move(*file));
  resolve_copies(files);
  (void)verify_copies(files);
}

// The result of any recovery is a sound file.
void recover_file(ConstBytes bytes) {
  const auto recovery = plan_recovery(bytes, "run-000001-fuzz-0000.weir.part");
  if (!recovery) return;
  const RecoveryReport& report = recovery->report;
  if (report.bytes_kept + report.bytes_replaced + report.bytes_cut != bytes.size()) std::abort();
  std::vector<std::byte> made;
  for (const ConstBytes piece : recovery->pieces) made.insert(made.end(), piece.begin(), piece.end());
  const auto file = RunFileReader::from_bytes(made, "recovered");
  if (!file || !file->closed() || !verify(*file).sound()) std::abort();
}

void seal(std::vector<std::byte>& bytes, std::size_t crc_at, std::size_t from, std::size_t to) {
  store_le(bytes.data() + crc_at, crc32c(ConstBytes(bytes).subspan(from, to - from)));
}

void mend(std::vector<std::byte>& bytes) {
  constexpr std::size_t kHeaderLengthAt = 12;
  constexpr std::uint32_t kRecordMagic = 0x4345'5257;
  if (bytes.size() < 64) return;
  const std::uint32_t header_length = load_le<std::uint32_t>(bytes.data() + kHeaderLengthAt);
  if (header_length < 52 || header_length > bytes.size()) return;
  seal(bytes, header_length - 4, 0, header_length - 4);
  const auto tag = load_le<std::uint32_t>(bytes.data() + header_length - 4);
  for (std::size_t at = header_length - header_length % 8; at + kRecordHeadLength + 8 <= bytes.size();
       at += 8) {
    if (load_le<std::uint32_t>(bytes.data() + at) != kRecordMagic) continue;
    const std::uint64_t length = load_le<std::uint64_t>(bytes.data() + at + 16);
    const auto type = static_cast<RecordType>(load_le<std::uint16_t>(bytes.data() + at + 24));
    const std::size_t body = at + kRecordHeadLength;
    store_le(bytes.data() + at + 4, tag);
    store_le(bytes.data() + at + 8, static_cast<std::uint64_t>(at));
    if (length >= 8 && length <= bytes.size() - body && type != RecordType::slice)
      seal(bytes, body, body + 4, body + length);
    seal(bytes, at + 28, at, at + 28);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes bytes(reinterpret_cast<const std::byte*>(data), size);
  read_file(bytes);
  recover_file(bytes);
  std::vector<std::byte> good(bytes.begin(), bytes.end());
  mend(good);
  read_file(good);
  recover_file(good);
  return 0;
}
