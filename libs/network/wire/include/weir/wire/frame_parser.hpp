#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/wire/frame.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::wire {

// The destination of a frame's payload, decided when its header has been read.
struct PayloadPlace {
  enum class Kind : std::uint8_t {
    whole,    // pass it on in one piece, in the parser's own memory (control frames)
    place,    // receive it into `target`, which has room for header.length bytes
    discard,  // skip it
    refuse,   // the frame is not allowed here: close the connection
  };
  Kind kind = Kind::refuse;
  std::byte* target = nullptr;
};

// Receives the frames found by a parser, in order.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  [[nodiscard]] virtual PayloadPlace on_header(const FrameHeader& header) = 0;
  // The payload is complete: in the parser's memory (whole; valid during this call), at the target (place),
  // or skipped (discard: empty). An error closes the connection.
  [[nodiscard]] virtual Expected<void, WireError> on_frame(const FrameHeader& header, ConstBytes payload) = 0;
  // For a placed payload of more than FrameParser::kLargeFrame bytes: `part` was received, in order, and is
  // still in the cache. Must not end the parser.
  virtual void on_part(const FrameHeader& header, ConstBytes part) { (void)header, (void)part; }
  // The connection ended in the middle of a placed payload; `target` is free again.
  virtual void on_abandoned(const FrameHeader& header) { (void)header; }
};

// Divides a byte stream into frames. The bulk of a large payload is received directly into its target; all
// other bytes go through a spill buffer, many small frames per receive. Does no I/O: receive_space() returns
// where the next bytes go, received() processes them and calls the sink.
class FrameParser {
 public:
  // A small spill buffer limits the copied share of large payloads, a large one gathers many small frames.
  // The parser chooses by the payloads that it receives.
  static constexpr std::size_t kSpillSmallFrames = 256 * 1024;
  static constexpr std::size_t kSpillLargeFrames = 16 * 1024;
  static constexpr std::uint32_t kLargeFrame = 16 * 1024;
  // The spill buffer starts small and doubles when a receive fills it: a silent connection uses little
  // memory.
  static constexpr std::size_t kSpillInitial = 4 * 1024;

  explicit FrameParser(std::uint32_t payload_max);
  // Applies from the next frame on: an unknown peer may send less than a known one.
  void set_payload_max(std::uint32_t payload_max) { payload_max_ = payload_max; }

  // Never empty; valid until the next call of the parser.
  [[nodiscard]] std::array<Bytes, 2> receive_space();
  // Processes the first `bytes` of the receive_space(), and calls the sink for the frames in them. After an
  // error the parser is dead: every further call returns the same error.
  [[nodiscard]] Expected<void, WireError> received(std::size_t bytes, FrameSink& sink);
  // The connection ended: a partly received placed payload is given up, and the parser is dead. A sink may
  // call this from inside its own calls; in on_header, its result is then ignored.
  void ended(FrameSink& sink);
  // Returns how many payload bytes of the current frame have been received.
  [[nodiscard]] std::size_t payload_here() const { return in_payload_ ? payload_have_ : 0; }

 private:
  Expected<void, WireError> parse_spill(FrameSink& sink);
  Expected<void, WireError> begin_frame(FrameSink& sink);
  Expected<void, WireError> finish_frame(FrameSink& sink, ConstBytes payload);
  Expected<void, WireError> fail(WireError error);
  std::size_t take(const std::byte* from, std::size_t available, FrameSink& sink);
  void tell_part(std::size_t bytes, FrameSink& sink);
  [[nodiscard]] std::size_t payload_missing() const { return header_.length - payload_have_; }

  std::uint32_t payload_max_;
  std::vector<std::byte> spill_;
  std::size_t spill_begin_ = 0;
  std::size_t spill_end_ = 0;
  std::size_t spill_offered_ = 0;
  bool spill_filled_ = false;
  std::vector<std::byte> whole_;  // a control payload that is not in one piece in the spill buffer
  std::byte* target_ = nullptr;
  FrameHeader header_;
  std::size_t payload_have_ = 0;
  PayloadPlace::Kind kind_ = PayloadPlace::Kind::discard;
  bool in_payload_ = false;
  bool large_frames_ = false;
  bool dead_ = false;
  WireError error_ = WireError::bad_payload;
};

}  // namespace weir::wire
