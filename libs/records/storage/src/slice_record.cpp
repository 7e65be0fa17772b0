#include "byte_writer.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/crc32c_combine.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/slice_record.hpp>

namespace weir::storage {
namespace {

constexpr std::uint16_t kLayout = 1;
constexpr std::size_t kHeadLength = 96;
constexpr std::size_t kFragmentLength = 32;
constexpr std::size_t kEventLength = 16;
constexpr std::size_t kTableLinesMax = 1'000'000;
constexpr std::uint16_t kFragmentKept = 1U << 0;
constexpr std::uint16_t kFragmentChecksummed = 1U << 1;

// Offsets of the head's fields.
namespace at {
constexpr std::size_t crc = 0, layout = 4, flags = 6, total_length = 8, meta_length = 16, fragments = 20,
                      slice = 24, run = 32, attempt = 36, epoch = 38, trigger_time = 40, duration = 48,
                      trigger_type = 56, decision = 60, reserved_byte = 61, dcm = 62, streams = 64,
                      prescale = 72, trigger_length = 76, result_length = 80, events = 84, reserved = 88;
}

std::uint64_t meta_length_of(const SliceRecord& record) {
  WEIR_ASSERT(record.fragments.size() <= kTableLinesMax && record.events.size() <= kTableLinesMax);
  std::uint64_t length = kHeadLength + record.fragments.size() * kFragmentLength +
                         record.events.size() * kEventLength + record.trigger_payload.size() +
                         record.filter_result.size();
  for (const OutputEvent& event : record.events) length += event.bytes.size();
  length = padded(length);
  WEIR_ASSERT(length <= UINT32_MAX);
  return length;
}

void put_head(FieldWriter& out, const SliceRecord& record) {
  const SliceHead& head = record.head;
  out.put<std::uint32_t>(0)
      .put(kLayout)
      .put(head.flags)
      .put(slice_record_length(record))
      .put(slice_meta_length(record))
      .put(static_cast<std::uint32_t>(record.fragments.size()))
      .put(head.slice.value)
      .put(head.run.value)
      .put(head.attempt.value)
      .put(head.epoch.value)
      .put(static_cast<std::uint64_t>(head.trigger_time))
      .put(static_cast<std::uint64_t>(head.duration))
      .put(head.trigger_type.value)
      .put(static_cast<std::uint8_t>(head.decision))
      .put<std::uint8_t>(0)
      .put(head.dcm.value)
      .put(head.stream_mask)
      .put(head.prescale)
      .put(static_cast<std::uint32_t>(record.trigger_payload.size()))
      .put(static_cast<std::uint32_t>(record.filter_result.size()))
      .put(static_cast<std::uint32_t>(record.events.size()))
      .put<std::uint64_t>(0);
}

void put_fragments(FieldWriter& out, const SliceRecord& record) {
  std::uint64_t offset = slice_meta_length(record);
  for (const FragmentRecord& fragment : record.fragments) {
    WEIR_ASSERT(fragment.kept || fragment.stored_length == 0);
    const auto flags = static_cast<std::uint16_t>((fragment.kept ? kFragmentKept : 0) |
                                                  (fragment.checksummed ? kFragmentChecksummed : 0));
    out.put(fragment.source.value)
        .put(static_cast<std::uint8_t>(fragment.status))
        .put(static_cast<std::uint8_t>(fragment.reason))
        .put(flags)
        .put(offset)
        .put(fragment.stored_length)
        .put(fragment.total_length)
        .put(fragment.source_crc32c)
        .put(fragment.stored_crc32c);
    offset += fragment.stored_length;
  }
}

FragmentRecord load_fragment(const std::byte* line) {
  const auto flags = load_le<std::uint16_t>(line + 6);
  FragmentRecord fragment;
  fragment.source = SourceId(load_le<std::uint32_t>(line));
  fragment.status = static_cast<FragmentStatus>(load_le<std::uint8_t>(line + 4));
  fragment.reason = static_cast<MissingReason>(load_le<std::uint8_t>(line + 5));
  fragment.kept = (flags & kFragmentKept) != 0;
  fragment.checksummed = (flags & kFragmentChecksummed) != 0;
  fragment.stored_length = load_le<std::uint32_t>(line + 16);
  fragment.total_length = load_le<std::uint32_t>(line + 20);
  fragment.source_crc32c = load_le<std::uint32_t>(line + 24);
  fragment.stored_crc32c = load_le<std::uint32_t>(line + 28);
  return fragment;
}

}  // namespace

std::uint32_t slice_meta_length(const SliceRecord& record) {
  return static_cast<std::uint32_t>(meta_length_of(record));
}

std::uint64_t slice_record_length(const SliceRecord& record) {
  std::uint64_t length = meta_length_of(record);
  for (const FragmentRecord& fragment : record.fragments) length += fragment.stored_length;
  return length;
}

void encode_slice_meta(const SliceRecord& record, std::vector<std::byte>& out) {
  const std::uint32_t meta_length = slice_meta_length(record);
  out.reserve(out.size() + meta_length);
  FieldWriter writer(out);
  put_head(writer, record);
  put_fragments(writer, record);
  std::uint64_t offset = kHeadLength + record.fragments.size() * kFragmentLength +
                         record.events.size() * kEventLength + record.trigger_payload.size() +
                         record.filter_result.size();
  for (const OutputEvent& event : record.events) {
    writer.put(event.id)
        .put(static_cast<std::uint32_t>(offset))
        .put(static_cast<std::uint32_t>(event.bytes.size()));
    offset += event.bytes.size();
  }
  writer.put_bytes(record.trigger_payload).put_bytes(record.filter_result);
  for (const OutputEvent& event : record.events) writer.put_bytes(event.bytes);
  writer.pad();
  WEIR_ASSERT(writer.written() == meta_length);
  store_le(writer.at(at::crc), crc32c(writer.view(at::layout)));
}

FragmentView SliceRecordView::fragment(std::size_t index) const {
  WEIR_ASSERT(index < fragment_count_);
  const std::byte* line = bytes_.data() + kHeadLength + index * kFragmentLength;
  const FragmentRecord record = load_fragment(line);
  return {record, bytes_.subspan(load_le<std::uint64_t>(line + 8), record.stored_length)};
}

std::optional<FragmentView> SliceRecordView::find(SourceId source) const {
  for (std::size_t i = 0; i < fragment_count_; ++i) {
    const std::byte* line = bytes_.data() + kHeadLength + i * kFragmentLength;
    if (load_le<std::uint32_t>(line) == source.value) return fragment(i);
  }
  return std::nullopt;
}

OutputEvent SliceRecordView::event(std::size_t index) const {
  WEIR_ASSERT(index < event_count_);
  const std::byte* line =
      bytes_.data() + kHeadLength + fragment_count_ * kFragmentLength + index * kEventLength;
  return {load_le<std::uint64_t>(line),
          bytes_.subspan(load_le<std::uint32_t>(line + 8), load_le<std::uint32_t>(line + 12))};
}

bool fragment_is_sound(const FragmentView& fragment) {
  const FragmentRecord& record = fragment.record;
  if (!record.kept || !record.checksummed) return true;
  if (crc32c(fragment.bytes) != record.stored_crc32c) return false;
  const bool whole = record.stored_length == record.total_length;
  return record.status != FragmentStatus::ok || !whole || record.source_crc32c == record.stored_crc32c;
}

std::uint32_t record_checksum(const SliceRecordView& record) {
  constexpr std::size_t kLong = 16U << 10U;  // from here on combining is faster than reading
  const ConstBytes bytes = record.bytes();
  std::uint32_t crc = crc32c(bytes.first(bytes.size() - record.payload_bytes()));
  for (std::size_t i = 0; i < record.fragment_count(); ++i) {
    const FragmentView fragment = record.fragment(i);
    if (fragment.record.checksummed && fragment.bytes.size() >= kLong) {
      crc = crc32c_combine(crc, fragment.record.stored_crc32c, fragment.bytes.size());
    } else {
      crc = crc32c_extend(crc, fragment.bytes);
    }
  }
  return crc;
}

class SliceRecordParser {
 public:
  explicit SliceRecordParser(ConstBytes bytes) { view_.bytes_ = bytes; }

  Expected<SliceRecordView, StorageError> parse(Check check) {
    if (auto error = parse_head()) return Unexpected<StorageError>(*error);
    if (auto error = check_fragments()) return Unexpected<StorageError>(*error);
    if (auto error = check_events()) return Unexpected<StorageError>(*error);
    if (check == Check::fragments) {
      for (std::size_t i = 0; i < view_.fragment_count_; ++i) {
        if (!fragment_is_sound(view_.fragment(i)))
          return Unexpected<StorageError>(StorageError::bad_checksum);
      }
    }
    return view_;
  }

 private:
  using Error = std::optional<StorageError>;

  [[nodiscard]] const std::byte* data(std::size_t offset) const { return view_.bytes_.data() + offset; }

  // Checks the lengths and the checksum before it uses any other field.
  Error parse_head() {
    if (view_.bytes_.size() < kHeadLength) return StorageError::truncated;
    if (load_le<std::uint16_t>(data(at::layout)) != kLayout) return StorageError::bad_version;
    const auto total_length = load_le<std::uint64_t>(data(at::total_length));
    view_.meta_length_ = load_le<std::uint32_t>(data(at::meta_length));
    if (total_length > view_.bytes_.size()) return StorageError::truncated;
    if (total_length != view_.bytes_.size() || view_.meta_length_ > total_length ||
        view_.meta_length_ < kHeadLength || view_.meta_length_ % kAlignment != 0) {
      return StorageError::bad_length;
    }
    if (crc32c(view_.bytes_.subspan(at::layout, view_.meta_length_ - at::layout)) !=
        load_le<std::uint32_t>(data(at::crc))) {
      return StorageError::bad_checksum;
    }
    if (load_le<std::uint8_t>(data(at::reserved_byte)) != 0 ||
        load_le<std::uint64_t>(data(at::reserved)) != 0) {
      return StorageError::malformed;
    }
    load_head();
    return locate_parts();
  }

  void load_head() {
    SliceHead& head = view_.head_;
    head.flags = load_le<std::uint16_t>(data(at::flags));
    head.slice = SliceId(load_le<std::uint64_t>(data(at::slice)));
    head.run = RunNumber(load_le<std::uint32_t>(data(at::run)));
    head.attempt = Attempt(load_le<std::uint16_t>(data(at::attempt)));
    head.epoch = StoreEpoch(load_le<std::uint16_t>(data(at::epoch)));
    head.trigger_time = static_cast<UtcNs>(load_le<std::uint64_t>(data(at::trigger_time)));
    head.duration = static_cast<DurationNs>(load_le<std::uint64_t>(data(at::duration)));
    head.trigger_type = TriggerType(load_le<std::uint32_t>(data(at::trigger_type)));
    head.decision = static_cast<DecisionKind>(load_le<std::uint8_t>(data(at::decision)));
    head.dcm = NodeIndex(load_le<std::uint16_t>(data(at::dcm)));
    head.stream_mask = load_le<std::uint64_t>(data(at::streams));
    head.prescale = load_le<std::uint32_t>(data(at::prescale));
  }

  // The parts are 32-bit numbers times small constants: their 64-bit sum cannot overflow.
  Error locate_parts() {
    view_.fragment_count_ = load_le<std::uint32_t>(data(at::fragments));
    view_.event_count_ = load_le<std::uint32_t>(data(at::events));
    const std::uint64_t trigger_length = load_le<std::uint32_t>(data(at::trigger_length));
    const std::uint64_t result_length = load_le<std::uint32_t>(data(at::result_length));
    const std::uint64_t trigger_offset = kHeadLength +
                                         std::uint64_t{view_.fragment_count_} * kFragmentLength +
                                         std::uint64_t{view_.event_count_} * kEventLength;
    events_offset_ = trigger_offset + trigger_length + result_length;
    if (events_offset_ > view_.meta_length_) return StorageError::bad_length;
    view_.trigger_payload_ = view_.bytes_.subspan(trigger_offset, trigger_length);
    view_.filter_result_ = view_.bytes_.subspan(trigger_offset + trigger_length, result_length);
    return std::nullopt;
  }

  Error check_fragments() const {
    std::uint64_t offset = view_.meta_length_;
    for (std::size_t i = 0; i < view_.fragment_count_; ++i) {
      const std::byte* line = data(kHeadLength + i * kFragmentLength);
      const FragmentRecord fragment = load_fragment(line);
      if (load_le<std::uint64_t>(line + 8) != offset) return StorageError::bad_length;
      if (fragment.stored_length > view_.bytes_.size() - offset) return StorageError::bad_length;
      if (!fragment.kept && fragment.stored_length != 0) return StorageError::malformed;
      offset += fragment.stored_length;
    }
    if (offset != view_.bytes_.size()) return StorageError::bad_length;
    return std::nullopt;
  }

  Error check_events() const {
    std::uint64_t offset = events_offset_;
    const std::size_t table = kHeadLength + view_.fragment_count_ * kFragmentLength;
    for (std::size_t i = 0; i < view_.event_count_; ++i) {
      const std::byte* line = data(table + i * kEventLength);
      const std::uint64_t length = load_le<std::uint32_t>(line + 12);
      if (load_le<std::uint32_t>(line + 8) != offset || length > view_.meta_length_ - offset) {
        return StorageError::bad_length;
      }
      offset += length;
    }
    if (padded(offset) != view_.meta_length_) return StorageError::bad_length;
    for (std::uint64_t i = offset; i < view_.meta_length_; ++i) {
      if (view_.bytes_[i] != std::byte{0}) return StorageError::malformed;
    }
    return std::nullopt;
  }

  SliceRecordView view_;
  std::uint64_t events_offset_ = 0;
};

Expected<SliceRecordView, StorageError> parse_slice_record(ConstBytes bytes, Check check) {
  return SliceRecordParser(bytes).parse(check);
}

}  // namespace weir::storage
