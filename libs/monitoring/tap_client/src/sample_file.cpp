#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>
#include <weir/tap_client/sample_file.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace weir::tap_client {
namespace {

constexpr const char* kWriter = "tap";

ConstBytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

UtcNs utc_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

SampleFile::SampleFile(std::string path, std::string farm, std::string note)
    : path_(std::move(path)), farm_(std::move(farm)), note_(std::move(note)) {
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::symlink_status(path_, none)))
    throw std::runtime_error(path_ + " exists and is not overwritten: name another file with --out");
}

SampleFile::~SampleFile() = default;

void SampleFile::fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("cannot {} '{}': {}", what, path_, std::strerror(errno)));
}

void SampleFile::begin(RunNumber run) {
  const std::string part = path_ + std::string(storage::kPartSuffix);
  WEIR_ASSERT(!file_ && size_ == 0);
  file_.reset(std::fopen(part.c_str(), "wbx"));
  if (!file_) fail("make the .part of");
  run_ = run;
  storage::FileHeader header;
  header.run = run;
  header.created = utc_now();
  header.writer = kWriter;
  header.farm = farm_;
  std::vector<std::byte> bytes;
  storage::encode_file_header(header, bytes);
  tag_ = header.tag;
  write(bytes);
  write_record(storage::RecordType::begin_of_run, storage::encode_opaque(bytes_of(note_)));
}

void SampleFile::write(ConstBytes bytes) {
  if (!bytes.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    fail("write to");
  crc_ = crc32c_extend(crc_, bytes);
  size_ += bytes.size();
}

std::uint64_t SampleFile::write_record(storage::RecordType type, ConstBytes body) {
  const std::uint64_t at = size_;
  WEIR_ASSERT(at % storage::kAlignment == 0);
  storage::RecordHead head;
  head.tag = tag_;
  head.offset = at;
  head.body_length = body.size();
  head.type = type;
  std::array<std::byte, storage::kRecordHeadLength> bytes{};
  storage::encode_record_head(head, bytes.data());
  constexpr std::array<std::byte, storage::kAlignment> kZeros{};
  write(bytes);
  write(body);
  write(ConstBytes(kZeros).first(storage::padded(body.size()) - body.size()));
  ++records_;
  return at;
}

Added SampleFile::add(const storage::SliceRecordView& slice) {
  const storage::SliceHead& head = slice.head();
  if (!file_) begin(head.run);
  if (head.run != run_) return Added::other_run;
  if (!known_.insert(head.slice.value).second) return Added::known;
  storage::IndexEntry entry;
  entry.slice = head.slice;
  entry.length = slice.bytes().size();
  entry.stream_mask = head.stream_mask;
  entry.trigger_time = head.trigger_time;
  entry.attempt = head.attempt;
  entry.epoch = head.epoch;
  entry.slice_flags = head.flags;
  entry.offset = write_record(storage::RecordType::slice, slice.bytes());
  index_.push_back(entry);
  WEIR_ASSERT(entry.offset % storage::kAlignment == 0);
  return Added::written;
}

void SampleFile::close() {
  if (!file_) return;
  storage::Footer footer;
  WEIR_ASSERT(index_.size() == known_.size() && index_.size() + 1 == records_);
  footer.tail_offset = size_;
  footer.index_count = index_.size();
  for (const storage::IndexEntry& entry : index_) footer.live.add(entry.slice);
  const std::vector<std::byte> index = storage::encode_index(index_);
  footer.index_length = index.size();
  footer.index_offset = write_record(storage::RecordType::index, index);
  footer.content_crc = crc_;
  footer.records = records_ + 1;
  write_record(storage::RecordType::footer, storage::encode_footer(footer));
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) fail("write to");
  file_.reset();
  const std::string part = path_ + std::string(storage::kPartSuffix);
  if (::link(part.c_str(), path_.c_str()) != 0) fail("name");
  ::unlink(part.c_str());
}

}  // namespace weir::tap_client
