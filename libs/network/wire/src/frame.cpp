#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/wire/batch.hpp>
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <limits>

namespace weir::wire {
namespace {

enum HeaderOffset : std::size_t {
  kType = 0,
  kStatus = 1,
  kAttempt = 2,
  kLength = 4,
  kSlice = 8,
  kSource = 16,
  kOffset = 20,
  kTotal = 24,
  kCrc = 28,
};

bool known(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(FrameType::hello) &&
         type <= static_cast<std::uint8_t>(FrameType::block);
}

std::size_t payload_limit(FrameType type) {
  switch (type) {
    case FrameType::hello:
    case FrameType::refuse:
      return kHelloPayloadMax;
    case FrameType::request:
      return kRequestPayloadMax;
    case FrameType::cancel:
    case FrameType::stored:
      return kSliceEntriesPayloadMax;
    case FrameType::control:
      return kControlFrameMax;
    case FrameType::timing:
      return kTimingPayloadMax;
    case FrameType::block:
      return kBlockPayloadMax;
    case FrameType::fragment:
    case FrameType::data:
      break;
  }
  return std::numeric_limits<std::uint32_t>::max();
}

Expected<void, WireError> check_fragment(const FrameHeader& h) {
  if (!is_sent(h.status)) return Unexpected<WireError>(WireError::bad_status);
  if (h.status == FragmentStatus::missing) {
    const bool reason_good = h.total != 0 && h.total < kMissingReasons;
    if (h.length != 0 || h.offset != 0 || !reason_good) return Unexpected<WireError>(WireError::bad_range);
    if (h.crc != 0) return Unexpected<WireError>(WireError::not_zero);
    return {};
  }
  if (std::uint64_t{h.offset} + h.length > h.total) return Unexpected<WireError>(WireError::bad_range);
  // An answer without progress would make a DCM request the rest forever.
  if (h.length == 0 && h.offset < h.total) return Unexpected<WireError>(WireError::bad_range);
  return {};
}

Expected<void, WireError> check_data(const FrameHeader& h) {
  if (h.status != FragmentStatus::ok) return Unexpected<WireError>(WireError::not_zero);
  const RecordPiece piece = record_piece(h);
  if (piece.total == 0) {
    if (piece.offset != 0) return Unexpected<WireError>(WireError::not_zero);
    return {};
  }
  if (piece.total > kRecordBytesMax) return Unexpected<WireError>(WireError::too_long);
  const bool inside = piece.offset < piece.total && h.length <= piece.total - piece.offset;
  if (!inside || h.length == 0) return Unexpected<WireError>(WireError::bad_range);
  return {};
}

Expected<void, WireError> check_block(const FrameHeader& h) {
  if (h.status != FragmentStatus::ok) return Unexpected<WireError>(WireError::not_zero);
  const std::uint64_t rows = block_head(h).rows;
  const std::uint64_t further = block_head(h).further_slices;
  if (rows <= further || rows * kBlockRowBytes + further * kBlockSliceBytes > h.length)
    return Unexpected<WireError>(WireError::bad_range);
  return {};
}

Expected<void, WireError> check_control(const FrameHeader& h) {
  if (h.total == 0) {
    if (h.offset != 0) return Unexpected<WireError>(WireError::not_zero);
    return {};
  }
  if (h.total > kControlMessageMax) return Unexpected<WireError>(WireError::too_long);
  if (h.length == 0 || std::uint64_t{h.offset} + h.length > h.total)
    return Unexpected<WireError>(WireError::bad_range);
  return {};
}

}  // namespace

static_assert(kCrc + sizeof(std::uint32_t) == kHeaderBytes);

std::string_view name(WireError error) {
  switch (error) {
    case WireError::unknown_type:
      return "unknown frame type";
    case WireError::bad_status:
      return "unknown fragment status";
    case WireError::too_long:
      return "frame longer than the limit";
    case WireError::bad_range:
      return "range outside the whole";
    case WireError::not_zero:
      return "a field that must be zero is not";
    case WireError::bad_checksum:
      return "checksum of the payload does not match";
    case WireError::bad_payload:
      return "malformed payload";
    case WireError::not_expected:
      return "frame out of place";
    case WireError::bad_version:
      return "another protocol version";
    case WireError::bad_hello:
      return "the hello does not fit";
  }
  return "unknown error";
}

std::string_view name(FrameType type) {
  switch (type) {
    case FrameType::hello:
      return "hello";
    case FrameType::refuse:
      return "refuse";
    case FrameType::request:
      return "request";
    case FrameType::cancel:
      return "cancel";
    case FrameType::fragment:
      return "fragment";
    case FrameType::control:
      return "control";
    case FrameType::data:
      return "data";
    case FrameType::stored:
      return "stored";
    case FrameType::timing:
      return "timing";
    case FrameType::block:
      return "block";
  }
  return "unknown";
}

void encode_header(const FrameHeader& header, std::span<std::byte, kHeaderBytes> out) {
  std::byte* at = out.data();
  store_le(at + kType, static_cast<std::uint8_t>(header.type));
  store_le(at + kStatus, static_cast<std::uint8_t>(header.status));
  store_le(at + kAttempt, header.attempt.value);
  store_le(at + kLength, header.length);
  store_le(at + kSlice, header.slice.value);
  store_le(at + kSource, header.source.value);
  store_le(at + kOffset, header.offset);
  store_le(at + kTotal, header.total);
  store_le(at + kCrc, header.crc);
}

Expected<FrameHeader, WireError> decode_header(std::span<const std::byte, kHeaderBytes> in,
                                               std::uint32_t payload_max) {
  FrameHeader header;
  if (auto good = decode_header_into(in, payload_max, header); !good)
    return Unexpected<WireError>(good.error());
  return header;
}

Expected<void, WireError> decode_header_into(std::span<const std::byte, kHeaderBytes> in,
                                             std::uint32_t payload_max, FrameHeader& header) {
  const std::byte* at = in.data();
  const auto type = load_le<std::uint8_t>(at + kType);
  if (!known(type)) return Unexpected<WireError>(WireError::unknown_type);
  header.type = static_cast<FrameType>(type);
  header.status = static_cast<FragmentStatus>(load_le<std::uint8_t>(at + kStatus));
  header.attempt = Attempt(load_le<std::uint16_t>(at + kAttempt));
  header.length = load_le<std::uint32_t>(at + kLength);
  header.slice = SliceId(load_le<std::uint64_t>(at + kSlice));
  header.source = SourceId(load_le<std::uint32_t>(at + kSource));
  header.offset = load_le<std::uint32_t>(at + kOffset);
  header.total = load_le<std::uint32_t>(at + kTotal);
  header.crc = load_le<std::uint32_t>(at + kCrc);
  const bool bulk = header.type == FrameType::fragment || header.type == FrameType::data;
  if (header.length > (bulk ? payload_max : payload_limit(header.type)))
    return Unexpected<WireError>(WireError::too_long);
  if (header.type == FrameType::fragment) return check_fragment(header);
  if (header.type == FrameType::data) return check_data(header);
  if (header.type == FrameType::timing) {
    if (header.status != FragmentStatus::ok || header.attempt.value != 0 || header.crc != 0)
      return Unexpected<WireError>(WireError::not_zero);
    return {};
  }
  if (header.type == FrameType::block) return check_block(header);
  if (header.status != FragmentStatus::ok || header.source.value != 0 || header.slice.value != 0 ||
      header.attempt.value != 0) {
    return Unexpected<WireError>(WireError::not_zero);
  }
  if (header.type == FrameType::control) return check_control(header);
  if (header.offset != 0 || header.total != 0) return Unexpected<WireError>(WireError::not_zero);
  return {};
}

FrameHeader missing_fragment(SliceId slice, Attempt attempt, SourceId source, MissingReason reason) {
  FrameHeader header;
  header.type = FrameType::fragment;
  header.status = FragmentStatus::missing;
  header.attempt = attempt;
  header.slice = slice;
  header.source = source;
  header.total = static_cast<std::uint32_t>(reason);
  return header;
}

MissingReason missing_reason(const FrameHeader& header) {
  return header.status == FragmentStatus::missing ? static_cast<MissingReason>(header.total)
                                                  : MissingReason::none;
}

// Both are 64-bit numbers: `total` is in the bytes of source and offset, `offset` in those of total and crc.
FrameHeader data_header(SliceId slice, Attempt attempt, std::uint32_t length, const RecordPiece& piece) {
  FrameHeader header;
  header.type = FrameType::data;
  header.attempt = attempt;
  header.length = length;
  header.slice = slice;
  header.source = SourceId(static_cast<std::uint32_t>(piece.total));
  header.offset = static_cast<std::uint32_t>(piece.total >> 32);
  header.total = static_cast<std::uint32_t>(piece.offset);
  header.crc = static_cast<std::uint32_t>(piece.offset >> 32);
  return header;
}

RecordPiece record_piece(const FrameHeader& header) {
  return {std::uint64_t{header.offset} << 32 | header.source.value,
          std::uint64_t{header.crc} << 32 | header.total};
}

FrameHeader timing_header(const Timing& timing) {
  FrameHeader header;
  header.type = FrameType::timing;
  header.slice = timing.slice;
  header.source = SourceId(timing.held_us);
  header.offset = timing.offset;
  header.total = timing.retransmitted;
  return header;
}

Timing timing(const FrameHeader& header) {
  return {header.slice, header.offset, header.source.value, header.total};
}

FrameHeader payload_header(FrameType type, ConstBytes payload) {
  FrameHeader header;
  WEIR_ASSERT(payload.size() <= std::numeric_limits<std::uint32_t>::max());
  header.type = type;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.crc = type == FrameType::data ? 0 : crc32c(payload);
  return header;
}

bool payload_checksum_good(const FrameHeader& header, ConstBytes payload) {
  return header.crc == crc32c(payload);
}

}  // namespace weir::wire
