#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/wire/frame.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::wire {

// Where a frame's payload is to go, said when its header has been read.
struct Placement {
  enum class Kind : std::uint8_t {
    whole,    // hand it over in one piece, in the parser's own memory (control frames)
    place,    // receive it into `target`, which has room for header.length bytes
    discard,  // read past it
    refuse,   // the frame has no place here: give up on the peer
  };
  Kind kind = Kind::refuse;
  std::byte* target = nullptr;
};

// What a parser tells about the frames it finds, in order.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  [[nodiscard]] virtual Placement on_header(const FrameHeader& header) = 0;
  // The payload is complete: in the parser's memory (whole; valid for this call), at the target (place), or
  // gone (discard: empty). An error gives up on the peer.
  [[nodiscard]] virtual Expected<void, WireError> on_frame(const FrameHeader& header, ConstBytes payload) = 0;
  // Of a placed payload of more than FrameParser::kLargeFrame bytes: `part` came in, in order, and is still
  // in the cache. Must not end the parser.
  virtual void on_part(const FrameHeader& header, ConstBytes part) { (void)header, (void)part; }
  // A peer that went in the middle of a placed payload; `target` is free again.
  virtual void on_abandoned(const FrameHeader& header) { (void)header; }
};

// Cuts a byte stream into frames. The bulk of a large payload is received straight into its target;
// everything else goes through a spill buffer, many small frames in one receive. No I/O here: receive_space()
// says where the next bytes go, received() takes note of them and calls the sink.
class FrameParser {
 public:
  // A small spill keeps the copied share of large payloads small, a large one gathers many small frames:
  // the parser picks between the two by the payloads it sees.
  static constexpr std::size_t kSpillSmallFrames = 256 * 1024;
  static constexpr std::size_t kSpillLargeFrames = 16 * 1024;
  static constexpr std::uint32_t kLargeFrame = 16 * 1024;
  // The spill begins small and doubles when a receive fills it: a silent connection costs little memory.
  static constexpr std::size_t kSpillInitial = 4 * 1024;

  explicit FrameParser(std::uint32_t payload_max);
  // For the frames from the next one on: what a stranger may send is shorter than what a known peer may.
  void set_payload_max(std::uint32_t payload_max) { payload_max_ = payload_max; }

  // Never empty; valid until the next call of the parser.
  [[nodiscard]] std::array<Bytes, 2> receive_space();
  // Takes note of the first `bytes` of what receive_space() gave, and tells the sink of the frames in them.
  // After an error the parser is dead: every further call gives it again.
  [[nodiscard]] Expected<void, WireError> received(std::size_t bytes, FrameSink& sink);
  // The connection ended: a placed payload that was under way is given back. The parser is dead.
  // A sink may call it from inside its own calls; from on_header, its answer does not count then.
  void ended(FrameSink& sink);
  // Of the frame that is being received, the payload bytes that are here.
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
  std::vector<std::byte> whole_;  // a control payload that does not lie in one piece in the spill
  std::byte* target_ = nullptr;
  FrameHeader header_;
  std::size_t payload_have_ = 0;
  Placement::Kind kind_ = Placement::Kind::discard;
  bool in_payload_ = false;
  bool large_frames_ = false;
  bool dead_ = false;
  WireError error_ = WireError::bad_payload;
};

}  // namespace weir::wire
