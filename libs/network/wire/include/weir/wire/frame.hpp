#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// The frame header, specified in FORMAT.md. All data on a connection are frames.
namespace weir::wire {

constexpr std::uint16_t kVersion = 5;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kHelloPayloadMax = 64 * 1024;  // hello, refuse
// A longer control message is sent in several frames. Independent of the receiver's limit for data: a farm
// that accepts only small pieces of data still exchanges messages about thousands of slices.
constexpr std::uint32_t kControlFrameMax = 1U << 20;
constexpr std::uint32_t kControlMessageMax = 256U << 20;
// Room for further fields of a later release, which a receiver skips.
constexpr std::uint32_t kTimingPayloadMax = 64;
// Of one slice.
constexpr std::uint64_t kRecordBytesMax = std::uint64_t{64} << 30;

enum class FrameType : std::uint8_t {
  hello = 1,     // Protobuf, in both directions, first on each connection
  refuse = 2,    // Protobuf: why the hello was refused; the connection closes
  request = 3,   // DCM -> readout: fragments of many slices
  cancel = 4,    // DCM -> readout: stop sending these
  fragment = 5,  // readout -> DCM: (part of) one fragment
  control = 6,   // Protobuf envelope: announce, assign, decide, confirm, clear, space and grant, reports
  data = 7,      // DCM -> writer: (a piece of) one slice record
  stored = 8,    // writer -> DCM and supervisor: acknowledges records on disk
  timing = 9,    // readout -> DCM: time that a request spent in its host, after the answer
  block = 10,    // readout -> DCM: fragments of one or several slices, each whole (block.hpp)
};

enum class WireError : std::uint8_t {
  unknown_type,
  bad_status,
  too_long,      // longer than allowed for the frame type
  bad_range,     // offset + length beyond total, or a payload that contradicts its header
  not_zero,      // a field that must be zero is not
  bad_checksum,  // a control frame's payload was altered
  bad_payload,   // the payload's own structure is broken
  not_expected,  // a valid frame that is not allowed here (a second hello, a request to a DCM)
  bad_version,
  bad_hello,
};

[[nodiscard]] std::string_view name(WireError error);
[[nodiscard]] std::string_view name(FrameType type);

// A decoded header. Fields that a type does not use are zero on the wire.
struct FrameHeader {
  FrameType type = FrameType::control;
  FragmentStatus status = FragmentStatus::ok;  // fragment
  Attempt attempt;                             // fragment, data, block
  std::uint32_t length = 0;                    // payload bytes that follow
  SliceId slice;                               // fragment, data, timing, block
  SourceId source;                             // fragment
  std::uint32_t offset = 0;                    // fragment, control: the payload's offset in the whole, bytes
  std::uint32_t total = 0;  // fragment: its whole length, bytes; missing: the MissingReason;
                            // control: the message's whole length, 0 when this frame has all of it
  std::uint32_t crc = 0;    // fragment: CRC32C of the whole fragment, 0 without checksums;
                            // block: CRC32C of its rows; other types but data: CRC32C of the payload
                            // data: source, offset, total and crc hold a RecordPiece
                            // timing: source and total hold numbers, see Timing
                            // block: source, offset and total hold numbers, see BlockHead
  bool operator==(const FrameHeader&) const = default;
};

void encode_header(const FrameHeader& header, std::span<std::byte, kHeaderBytes> out);

// Refuses headers that no sender of this version can have meant. `payload_max` bounds the payload of fragment
// and data frames; other types have their own limits.
[[nodiscard]] Expected<FrameHeader, WireError> decode_header(std::span<const std::byte, kHeaderBytes> in,
                                                             std::uint32_t payload_max);
// The same into `header`, for the place that does it a million times a second: copying a header right after
// decoding it would wait until the previous payload has left the store buffer.
[[nodiscard]] Expected<void, WireError> decode_header_into(std::span<const std::byte, kHeaderBytes> in,
                                                           std::uint32_t payload_max, FrameHeader& header);

// Returns a missing fragment's header, which has the reason in the place of the total.
[[nodiscard]] FrameHeader missing_fragment(SliceId slice, Attempt attempt, SourceId source,
                                           MissingReason reason);
[[nodiscard]] MissingReason missing_reason(const FrameHeader& header);

// The place of a data frame's payload in its record. Lengths of records have 64 bits.
struct RecordPiece {
  std::uint64_t total = 0;   // the record's length; 0: the frame contains all of it
  std::uint64_t offset = 0;  // of the payload's first byte
  bool operator==(const RecordPiece&) const = default;
};
[[nodiscard]] FrameHeader data_header(SliceId slice, Attempt attempt, std::uint32_t length,
                                      const RecordPiece& piece = {});
[[nodiscard]] RecordPiece record_piece(const FrameHeader& header);

// Sent by a readout after an answer, if the DCM requests it: how much of the time since the request was the
// host's, not the network's.
struct Timing {
  SliceId slice;              // of the request, with its offset
  std::uint32_t offset = 0;   // bytes
  std::uint32_t held_us = 0;  // from the request's arrival at the host until the answer left the process
  std::uint32_t retransmitted = 0;  // segments of this connection that were retransmitted, modulo 2^32
  bool operator==(const Timing&) const = default;
};
[[nodiscard]] FrameHeader timing_header(const Timing& timing);
[[nodiscard]] Timing timing(const FrameHeader& header);

// Returns the header for a complete payload, with length and checksum (none for data).
[[nodiscard]] FrameHeader payload_header(FrameType type, ConstBytes payload);
// Requires: a type other than fragment and data.
[[nodiscard]] bool payload_checksum_good(const FrameHeader& header, ConstBytes payload);

}  // namespace weir::wire
