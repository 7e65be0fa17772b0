#pragma once

#include <weir/base/assert.hpp>
#include <weir/wire/frame_parser.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

// Common parts of the parser's test and its fuzz target: a sink that records its calls and checks the memory
// around its targets, and a peer that fills the parser's space. A broken promise ends the process.
namespace weir::wire {

struct SeenFrame {
  FrameHeader header;
  std::vector<std::byte> payload;  // empty when discarded
  bool operator==(const SeenFrame&) const = default;
};

class RecordingSink : public FrameSink {
 public:
  explicit RecordingSink(std::function<PayloadPlace::Kind(const FrameHeader&)> choose)
      : choose_(std::move(choose)) {}

  [[nodiscard]] PayloadPlace on_header(const FrameHeader& header) override {
    WEIR_ASSERT(!open_);
    open_ = true;
    part_bytes_ = 0;
    header_ = header;
    kind_ = choose_(header);
    if (ending != nullptr && frames.size() + 1 == end_in_header) {
      open_ = false;
      ending->ended(*this);
    }
    if (kind_ != PayloadPlace::Kind::place) return {kind_, nullptr};
    target_.assign(header.length + 2 * kGuardBytes, kGuard);
    return {kind_, target_.data() + kGuardBytes};
  }

  [[nodiscard]] Expected<void, WireError> on_frame(const FrameHeader& header, ConstBytes payload) override {
    close(header);
    const bool in_parts = kind_ == PayloadPlace::Kind::place && header.length > FrameParser::kLargeFrame;
    WEIR_ASSERT(part_bytes_ == (in_parts ? header.length : 0));
    if (kind_ == PayloadPlace::Kind::discard) {
      WEIR_ASSERT(payload.empty());
    } else {
      WEIR_ASSERT(payload.size() == header.length);
    }
    if (kind_ == PayloadPlace::Kind::place)
      WEIR_ASSERT(payload.empty() || payload.data() == target_.data() + kGuardBytes);
    frames.push_back({header, {payload.begin(), payload.end()}});
    if (ending != nullptr && frames.size() == end_in_frame) ending->ended(*this);
    if (frames.size() == fail_at) return Unexpected<WireError>(WireError::bad_hello);
    return {};
  }

  void on_part(const FrameHeader& header, ConstBytes part) override {
    WEIR_ASSERT(open_ && header == header_ && kind_ == PayloadPlace::Kind::place && !part.empty());
    WEIR_ASSERT(header.length > FrameParser::kLargeFrame);
    WEIR_ASSERT(part.data() == target_.data() + kGuardBytes + part_bytes_);
    part_bytes_ += part.size();
  }

  void on_abandoned(const FrameHeader& header) override {
    close(header);
    WEIR_ASSERT(kind_ == PayloadPlace::Kind::place);
    ++abandoned;
  }

  // Checks that the rest of a target to be filled is inside it.
  void check_space(Bytes space, bool first) const {
    const std::byte* begin = target_.data();
    const bool in_target = open_ && kind_ == PayloadPlace::Kind::place &&
                           !std::less<>{}(space.data(), begin) &&
                           std::less<>{}(space.data(), begin + target_.size());
    if (!in_target) return;
    WEIR_ASSERT(first && space.data() >= begin + kGuardBytes);
    WEIR_ASSERT(space.data() + space.size() == begin + kGuardBytes + header_.length);
  }

  std::vector<SeenFrame> frames;
  std::size_t abandoned = 0;
  std::size_t fail_at = 0;  // number of the on_frame call that returns an error, from 1
  // The parser that is ended() from inside on_header or on_frame of the frame with this number, from 1.
  FrameParser* ending = nullptr;
  std::size_t end_in_header = 0;
  std::size_t end_in_frame = 0;

 private:
  static constexpr std::size_t kGuardBytes = 64;
  static constexpr std::byte kGuard{0xa5};

  void close(const FrameHeader& header) {
    WEIR_ASSERT(open_ && header == header_);
    open_ = false;
    if (kind_ != PayloadPlace::Kind::place) return;
    const auto guard = [](std::byte byte) { return byte == kGuard; };
    WEIR_ASSERT(std::all_of(target_.begin(), target_.begin() + kGuardBytes, guard));
    WEIR_ASSERT(std::all_of(target_.end() - kGuardBytes, target_.end(), guard));
  }

  std::function<PayloadPlace::Kind(const FrameHeader&)> choose_;
  std::vector<std::byte> target_;
  FrameHeader header_;
  PayloadPlace::Kind kind_ = PayloadPlace::Kind::discard;
  std::size_t part_bytes_ = 0;
  bool open_ = false;
};

// Overwrites both ends of a range, as a receive into it might.
inline void scribble(Bytes space) {
  constexpr std::size_t kEnd = 256;
  const std::size_t n = std::min(kEnd, space.size());
  std::memset(space.data(), 0x5a, n);
  std::memset(space.data() + space.size() - n, 0x5a, n);
}

// Receives once: copies at most `most` bytes of `stream` into the parser's space. Returns their number.
inline std::size_t receive_some(FrameParser& parser, RecordingSink& sink, ConstBytes stream, std::size_t most,
                                Expected<void, WireError>& result) {
  const auto space = parser.receive_space();
  WEIR_ASSERT(!space[0].empty());
  std::size_t taken = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (space[i].empty()) continue;
    sink.check_space(space[i], i == 0);
    scribble(space[i]);
    const std::size_t n = std::min({space[i].size(), most - taken, stream.size() - taken});
    if (n > 0) std::memcpy(space[i].data(), stream.data() + taken, n);
    taken += n;
  }
  result = parser.received(taken, sink);
  return taken;
}

// Sends the whole stream, at most `next_cut()` bytes per receive, until its end or the parser's error.
template <class NextCut>
Expected<void, WireError> feed(FrameParser& parser, RecordingSink& sink, ConstBytes stream,
                               NextCut&& next_cut) {
  Expected<void, WireError> result;
  while (!stream.empty() && result) {
    const std::size_t most = std::max<std::size_t>(1, next_cut());
    stream = stream.subspan(receive_some(parser, sink, stream, most, result));
  }
  return result;
}

}  // namespace weir::wire
