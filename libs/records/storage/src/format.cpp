#include "byte_writer.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/storage/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::storage {
namespace {

// Stored as little-endian numbers. The first byte is not text; CR LF and ^Z reveal a transfer in text mode
// (as in PNG).
constexpr std::uint64_t kFileMagic = 0x1a0a'0d52'4945'5789;  // 89 'W' 'E' 'I' 'R' CR LF 1a
constexpr std::uint64_t kEndMagic = 0x444e'4552'4945'5789;   // 89 'W' 'E' 'I' 'R' 'E' 'N' 'D'
constexpr std::uint32_t kRecordMagic = 0x4345'5257;          // 'W' 'R' 'E' 'C'
constexpr std::size_t kHeaderFixedLength = 48;
constexpr std::size_t kCrcLength = 4;
constexpr std::size_t kRecordCrcAt = 28;
constexpr std::size_t kListHeadLength = 16;
constexpr std::size_t kOpaqueHeadLength = 8;
constexpr std::uint16_t kIndexDead = 1U << 0;

std::uint16_t name_length(const std::string& name) {
  return static_cast<std::uint16_t>(std::min(name.size(), kNameLengthMax));
}

std::string text_of(ConstBytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Index and dead list begin alike: CRC of all following bytes, length of an entry, count, entries.
void put_list_head(FieldWriter& out, std::size_t entry_length, std::size_t count) {
  out.put<std::uint32_t>(0)
      .put(static_cast<std::uint32_t>(entry_length))
      .put(static_cast<std::uint64_t>(count));
}

void seal(FieldWriter& out) { store_le(out.at(0), crc32c(out.view(kCrcLength))); }

bool sealed(ConstBytes body) {
  return crc32c(body.subspan(kCrcLength)) == load_le<std::uint32_t>(body.data());
}

// Returns the number of entries of a list with correct length and checksum.
Expected<std::uint64_t, StorageError> list_count(ConstBytes body, std::size_t entry_length) {
  if (body.size() < kListHeadLength) return Unexpected<StorageError>(StorageError::truncated);
  if (load_le<std::uint32_t>(body.data() + 4) != entry_length) {
    return Unexpected<StorageError>(StorageError::bad_version);
  }
  const auto count = load_le<std::uint64_t>(body.data() + 8);
  const std::uint64_t room = body.size() - kListHeadLength;
  if (room % entry_length != 0 || count != room / entry_length) {
    return Unexpected<StorageError>(StorageError::bad_length);
  }
  if (!sealed(body)) return Unexpected<StorageError>(StorageError::bad_checksum);
  return count;
}

IndexEntry load_entry(const std::byte* at) {
  IndexEntry entry;
  entry.slice = SliceId(load_le<std::uint64_t>(at));
  entry.offset = load_le<std::uint64_t>(at + 8);
  entry.length = load_le<std::uint64_t>(at + 16);
  entry.stream_mask = load_le<std::uint64_t>(at + 24);
  entry.trigger_time = static_cast<UtcNs>(load_le<std::uint64_t>(at + 32));
  entry.attempt = Attempt(load_le<std::uint16_t>(at + 40));
  entry.epoch = StoreEpoch(load_le<std::uint16_t>(at + 42));
  entry.slice_flags = load_le<std::uint16_t>(at + 44);
  entry.dead = (load_le<std::uint16_t>(at + 46) & kIndexDead) != 0;
  return entry;
}

}  // namespace

std::string_view name(RecordType type) {
  constexpr std::string_view kNames[] = {"unknown",   "slice", "begin-of-run", "end-of-run",
                                         "dead list", "index", "footer"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

void encode_file_header(FileHeader& header, std::vector<std::byte>& out) {
  const std::uint16_t writer_length = name_length(header.writer);
  const std::uint16_t farm_length = name_length(header.farm);
  header.length =
      static_cast<std::uint32_t>(padded(kHeaderFixedLength + writer_length + farm_length + kCrcLength));
  FieldWriter writer(out);
  writer.put(kFileMagic)
      .put(kFormatVersion)
      .put<std::uint16_t>(0)
      .put(header.length)
      .put(header.run.value)
      .put(header.sequence)
      .put(static_cast<std::uint64_t>(header.created))
      .put<std::uint64_t>(0)
      .put(writer_length)
      .put(farm_length)
      .put<std::uint32_t>(0)
      .put_text(std::string_view(header.writer).substr(0, writer_length))
      .put_text(std::string_view(header.farm).substr(0, farm_length));
  while (writer.written() < header.length - kCrcLength) writer.put<std::uint8_t>(0);
  WEIR_ASSERT(writer.written() + kCrcLength == header.length);
  header.tag = crc32c(writer.view(0));
  writer.put(header.tag);
}

Expected<FileHeader, StorageError> parse_file_header(ConstBytes file) {
  const auto fail = [](StorageError error) { return Unexpected<StorageError>(error); };
  if (file.size() < sizeof kFileMagic) return fail(StorageError::truncated);
  if (load_le<std::uint64_t>(file.data()) != kFileMagic) return fail(StorageError::bad_magic);
  if (file.size() < kHeaderFixedLength) return fail(StorageError::truncated);
  if (load_le<std::uint16_t>(file.data() + 8) != kFormatVersion) return fail(StorageError::bad_version);
  FileHeader header;
  header.length = load_le<std::uint32_t>(file.data() + 12);
  const std::size_t writer_length = load_le<std::uint16_t>(file.data() + 40);
  const std::size_t farm_length = load_le<std::uint16_t>(file.data() + 42);
  if (header.length > file.size()) return fail(StorageError::truncated);
  if (writer_length > kNameLengthMax || farm_length > kNameLengthMax ||
      header.length != padded(kHeaderFixedLength + writer_length + farm_length + kCrcLength)) {
    return fail(StorageError::bad_length);
  }
  header.tag = load_le<std::uint32_t>(file.data() + header.length - kCrcLength);
  if (crc32c(file.first(header.length - kCrcLength)) != header.tag) return fail(StorageError::bad_checksum);
  header.run = RunNumber(load_le<std::uint32_t>(file.data() + 16));
  header.sequence = load_le<std::uint32_t>(file.data() + 20);
  header.created = static_cast<UtcNs>(load_le<std::uint64_t>(file.data() + 24));
  header.writer = text_of(file.subspan(kHeaderFixedLength, writer_length));
  header.farm = text_of(file.subspan(kHeaderFixedLength + writer_length, farm_length));
  return header;
}

void encode_record_head(const RecordHead& head, std::byte* at) {
  store_le(at, kRecordMagic);
  store_le(at + 4, head.tag);
  store_le(at + 8, head.offset);
  store_le(at + 16, head.body_length);
  store_le(at + 24, static_cast<std::uint16_t>(head.type));
  store_le(at + 26, head.flags);
  store_le(at + kRecordCrcAt, crc32c(ConstBytes(at, kRecordCrcAt)));
}

Expected<RecordHead, StorageError> parse_record_head(ConstBytes file, std::uint64_t offset,
                                                     std::uint32_t tag) {
  const auto fail = [](StorageError error) { return Unexpected<StorageError>(error); };
  if (offset % kAlignment != 0) return fail(StorageError::bad_length);
  if (offset > file.size() || file.size() - offset < kRecordHeadLength) return fail(StorageError::truncated);
  const std::byte* at = file.data() + offset;
  RecordHead head;
  head.tag = load_le<std::uint32_t>(at + 4);
  head.offset = load_le<std::uint64_t>(at + 8);
  if (load_le<std::uint32_t>(at) != kRecordMagic || head.tag != tag || head.offset != offset) {
    return fail(StorageError::bad_magic);
  }
  if (crc32c(ConstBytes(at, kRecordCrcAt)) != load_le<std::uint32_t>(at + kRecordCrcAt)) {
    return fail(StorageError::bad_checksum);
  }
  head.body_length = load_le<std::uint64_t>(at + 16);
  head.type = static_cast<RecordType>(load_le<std::uint16_t>(at + 24));
  head.flags = load_le<std::uint16_t>(at + 26);
  const std::uint64_t room = file.size() - offset - kRecordHeadLength;
  if (head.body_length > room || padded(head.body_length) > room) return fail(StorageError::truncated);
  return head;
}

std::vector<std::byte> encode_index(std::vector<IndexEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const IndexEntry& a, const IndexEntry& b) {
    return std::tie(a.slice, a.epoch, a.offset) < std::tie(b.slice, b.epoch, b.offset);
  });
  std::vector<std::byte> body;
  body.reserve(kListHeadLength + entries.size() * kIndexEntryLength);
  FieldWriter writer(body);
  put_list_head(writer, kIndexEntryLength, entries.size());
  for (const IndexEntry& entry : entries) {
    writer.put(entry.slice.value)
        .put(entry.offset)
        .put(entry.length)
        .put(entry.stream_mask)
        .put(static_cast<std::uint64_t>(entry.trigger_time))
        .put(entry.attempt.value)
        .put(entry.epoch.value)
        .put(entry.slice_flags)
        .put(static_cast<std::uint16_t>(entry.dead ? kIndexDead : 0));
  }
  WEIR_ASSERT(body.size() == kListHeadLength + entries.size() * kIndexEntryLength);
  seal(writer);
  return body;
}

Expected<std::vector<IndexEntry>, StorageError> parse_index(ConstBytes body, std::uint64_t file_length) {
  const auto count = list_count(body, kIndexEntryLength);
  if (!count) return Unexpected<StorageError>(count.error());
  std::vector<IndexEntry> entries;
  entries.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    const IndexEntry entry = load_entry(body.data() + kListHeadLength + i * kIndexEntryLength);
    if (entry.offset % kAlignment != 0 || entry.offset > file_length ||
        file_length - entry.offset < kRecordHeadLength ||
        entry.length > file_length - entry.offset - kRecordHeadLength) {
      return Unexpected<StorageError>(StorageError::bad_length);
    }
    if (!entries.empty() && entry.slice < entries.back().slice) {
      return Unexpected<StorageError>(StorageError::malformed);
    }
    entries.push_back(entry);
  }
  return entries;
}

std::vector<std::byte> encode_dead_list(std::span<const DeadCopy> copies) {
  std::vector<std::byte> body;
  FieldWriter writer(body);
  put_list_head(writer, kDeadCopyLength, copies.size());
  for (const DeadCopy& copy : copies) {
    writer.put(copy.slice.value).put(copy.attempt.value).put(copy.epoch.value).put(copy.sequence);
  }
  WEIR_ASSERT(body.size() == kListHeadLength + copies.size() * kDeadCopyLength);
  seal(writer);
  return body;
}

Expected<std::vector<DeadCopy>, StorageError> parse_dead_list(ConstBytes body) {
  const auto count = list_count(body, kDeadCopyLength);
  if (!count) return Unexpected<StorageError>(count.error());
  std::vector<DeadCopy> copies;
  copies.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::byte* at = body.data() + kListHeadLength + i * kDeadCopyLength;
    copies.push_back({SliceId(load_le<std::uint64_t>(at)), Attempt(load_le<std::uint16_t>(at + 8)),
                      StoreEpoch(load_le<std::uint16_t>(at + 10)), load_le<std::uint32_t>(at + 12)});
  }
  return copies;
}

std::vector<std::byte> encode_opaque(ConstBytes content) {
  std::vector<std::byte> body;
  body.reserve(kOpaqueHeadLength + content.size());
  FieldWriter writer(body);
  writer.put<std::uint32_t>(0).put<std::uint32_t>(0).put_bytes(content);
  seal(writer);
  return body;
}

Expected<ConstBytes, StorageError> parse_opaque(ConstBytes body) {
  if (body.size() < kOpaqueHeadLength) return Unexpected<StorageError>(StorageError::truncated);
  if (!sealed(body)) return Unexpected<StorageError>(StorageError::bad_checksum);
  return body.subspan(kOpaqueHeadLength);
}

std::vector<std::byte> encode_footer(const Footer& footer) {
  std::vector<std::byte> body;
  FieldWriter writer(body);
  writer.put<std::uint32_t>(0)
      .put(footer.content_crc)
      .put(footer.index_offset)
      .put(footer.index_length)
      .put(footer.index_count)
      .put(footer.tail_offset)
      .put(footer.live.count)
      .put(footer.live.hash_sum)
      .put(footer.records)
      .put(kEndMagic);
  seal(writer);
  WEIR_ASSERT(body.size() == kFooterBodyLength);
  return body;
}

Expected<Footer, StorageError> parse_footer(ConstBytes file, std::uint32_t tag) {
  const auto fail = [](StorageError error) { return Unexpected<StorageError>(error); };
  if (file.size() < kFooterLength || file.size() % kAlignment != 0 ||
      load_le<std::uint64_t>(file.data() + file.size() - sizeof kEndMagic) != kEndMagic) {
    return fail(StorageError::not_found);
  }
  const auto head = parse_record_head(file, file.size() - kFooterLength, tag);
  if (!head) return fail(head.error());
  if (head->type != RecordType::footer || head->body_length != kFooterBodyLength) {
    return fail(StorageError::bad_length);
  }
  const ConstBytes body = file.last(kFooterBodyLength);
  if (!sealed(body)) return fail(StorageError::bad_checksum);
  Footer footer;
  footer.content_crc = load_le<std::uint32_t>(body.data() + 4);
  footer.index_offset = load_le<std::uint64_t>(body.data() + 8);
  footer.index_length = load_le<std::uint64_t>(body.data() + 16);
  footer.index_count = load_le<std::uint64_t>(body.data() + 24);
  footer.tail_offset = load_le<std::uint64_t>(body.data() + 32);
  footer.live.count = load_le<std::uint64_t>(body.data() + 40);
  footer.live.hash_sum = load_le<std::uint64_t>(body.data() + 48);
  footer.records = load_le<std::uint64_t>(body.data() + 56);
  return footer;
}

std::string run_file_name(RunNumber run, std::string_view writer, std::uint32_t sequence) {
  return fmt::format("run-{:06}-{}-{:04}{}", run.value, writer, sequence, kFileSuffix);
}

std::optional<RunFileName> parse_run_file_name(std::string_view file_name) {
  constexpr std::string_view kStart = "run-";
  if (file_name.ends_with(kPartSuffix)) file_name.remove_suffix(kPartSuffix.size());
  std::string_view rest = file_name;
  if (!rest.starts_with(kStart) || !rest.ends_with(kFileSuffix)) return std::nullopt;
  rest.remove_prefix(kStart.size());
  rest.remove_suffix(kFileSuffix.size());
  const std::size_t first = rest.find('-');
  const std::size_t last = rest.rfind('-');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  RunFileName name;
  const auto number = [](std::string_view text, std::uint32_t& out) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && stop == text.data() + text.size() && !text.empty();
  };
  if (!number(rest.substr(0, first), name.run.value)) return std::nullopt;
  if (!number(rest.substr(last + 1), name.sequence)) return std::nullopt;
  name.writer = rest.substr(first + 1, last - first - 1);
  if (run_file_name(name.run, name.writer, name.sequence) != file_name) return std::nullopt;
  return name;
}

std::optional<std::uint32_t> run_file_sequence(std::string_view file_name, RunNumber run,
                                               std::string_view writer) {
  const auto name = parse_run_file_name(file_name);
  if (!name || name->run != run || name->writer != writer) return std::nullopt;
  return name->sequence;
}

}  // namespace weir::storage
