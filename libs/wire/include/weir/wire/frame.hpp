#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// The frame header, as FORMAT.md specifies it. Everything that crosses a connection is a frame.
namespace weir::wire {

constexpr std::uint16_t kVersion = 4;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kHelloPayloadMax = 64 * 1024;  // hello, refuse
// A longer control message goes in several frames. Whatever the receiver's limit for data: a farm that takes
// small pieces of data still talks about thousands of slices at a time.
constexpr std::uint32_t kControlFrameMax = 1U << 20;
constexpr std::uint32_t kControlMessageMax = 256U << 20;
// Of one slice.
constexpr std::uint64_t kRecordBytesMax = std::uint64_t{64} << 30;

enum class FrameType : std::uint8_t {
  hello = 1,     // Protobuf, both ways, first on each connection
  refuse = 2,    // Protobuf: why the hello was not good enough; the connection closes
  request = 3,   // DCM -> readout: fragments of many slices
  cancel = 4,    // DCM -> readout: do not send these any more
  fragment = 5,  // readout -> DCM: (part of) one fragment
  control = 6,   // Protobuf envelope: announce, assign, decide, confirm, clear, space and grant, reports
  data = 7,      // DCM -> writer: (a piece of) one slice record
  stored = 8,    // writer -> DCM and supervisor: the acknowledgement of what is on disk
  timing = 9,    // readout -> DCM: how long it had kept a request, behind the answer
  block = 10,    // readout -> DCM: several fragments of one slice, each whole (block.hpp)
};

enum class WireError : std::uint8_t {
  unknown_type,
  bad_status,
  too_long,      // longer than the frame type may be
  bad_range,     // offset + length beyond total, or a payload that does not fit its header
  not_zero,      // a field that must be zero is not
  bad_checksum,  // a control frame's payload was altered
  bad_payload,   // the payload's own structure is broken
  not_expected,  // a good frame that has no place here (a second hello, a request to a DCM)
  bad_version,
  bad_hello,
};

[[nodiscard]] std::string_view name(WireError error);
[[nodiscard]] std::string_view name(FrameType type);

// What a decoded header says. Fields that a type does not use are zero on the wire.
struct FrameHeader {
  FrameType type = FrameType::control;
  FragmentStatus status = FragmentStatus::ok;  // fragment
  Attempt attempt;                             // fragment, data, block
  std::uint32_t length = 0;                    // payload bytes that follow
  SliceId slice;                               // fragment, data, timing, block
  SourceId source;                             // fragment
  std::uint32_t offset = 0;  // fragment, control: where the payload begins in the whole, bytes
  std::uint32_t total = 0;   // fragment: its whole length, bytes; missing: the MissingReason;
                             // control: the message's whole length, 0 when this frame has all of it
  std::uint32_t crc = 0;     // fragment: CRC32C of the whole fragment, 0 without checksums;
                             // block: CRC32C of its rows; other types but data: CRC32C of the payload
                             // data: source, offset, total and crc hold a RecordPiece
                             // timing: source and total hold numbers, see Timing
                             // block: source and offset hold numbers, see BlockHead
  bool operator==(const FrameHeader&) const = default;
};

void encode_header(const FrameHeader& header, std::span<std::byte, kHeaderBytes> out);

// Refuses what no sender of this version can have meant. `payload_max` bounds the payload of fragment and
// data frames; the other types have limits of their own.
[[nodiscard]] Expected<FrameHeader, WireError> decode_header(std::span<const std::byte, kHeaderBytes> in,
                                                             std::uint32_t payload_max);
// The same into `header`, for the one place that does it a million times a second: a header that is copied
// right after it was taken apart waits until the payload before it has left the store buffer.
[[nodiscard]] Expected<void, WireError> decode_header_into(std::span<const std::byte, kHeaderBytes> in,
                                                           std::uint32_t payload_max, FrameHeader& header);

// A missing fragment's header carries its reason where the total would be.
[[nodiscard]] FrameHeader missing_fragment(SliceId slice, Attempt attempt, SourceId source,
                                           MissingReason reason);
[[nodiscard]] MissingReason missing_reason(const FrameHeader& header);

// Where a data frame's payload lies in its record. Lengths of records have 64 bits.
struct RecordPiece {
  std::uint64_t total = 0;   // the record's length; 0: the frame has all of it
  std::uint64_t offset = 0;  // of the payload's first byte
  bool operator==(const RecordPiece&) const = default;
};
[[nodiscard]] FrameHeader data_header(SliceId slice, Attempt attempt, std::uint32_t length,
                                      const RecordPiece& piece = {});
[[nodiscard]] RecordPiece record_piece(const FrameHeader& header);

// What a readout says behind an answer of what it has asked to be told: how much of the time since the
// request was its host's, and not the network's.
struct Timing {
  SliceId slice;              // of the request, with the offset that it named
  std::uint32_t offset = 0;   // bytes
  std::uint32_t held_us = 0;  // from the request's arrival at the host to the answer's leaving the process
  std::uint32_t retransmitted = 0;  // segments of this connection that were sent once more, modulo 2^32
  bool operator==(const Timing&) const = default;
};
[[nodiscard]] FrameHeader timing_header(const Timing& timing);
[[nodiscard]] Timing timing(const FrameHeader& header);

// Header for a frame whose payload is at hand: length and checksum (none for data) filled in.
[[nodiscard]] FrameHeader payload_header(FrameType type, ConstBytes payload);
// For types other than fragment and data.
[[nodiscard]] bool payload_checksum_good(const FrameHeader& header, ConstBytes payload);

}  // namespace weir::wire
