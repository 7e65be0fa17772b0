#include <weir/base/assert.hpp>
#include <weir/wire/frame_parser.hpp>

#include <algorithm>
#include <cstring>

namespace weir::wire {
namespace {

// Up to this length several frames per receive, each copied once, cost less than a receive for each. Above,
// half of a frame and more goes straight to its target.
constexpr std::uint32_t kGathered = 48 * 1024;

}  // namespace

FrameParser::FrameParser(std::uint32_t payload_max) : payload_max_(payload_max), spill_(kSpillInitial) {}

std::array<Bytes, 2> FrameParser::receive_space() {
  WEIR_ASSERT(spill_begin_ <= spill_end_);
  if (spill_begin_ == spill_end_) {
    spill_begin_ = spill_end_ = 0;
  } else if (spill_begin_ > 0) {
    std::memmove(spill_.data(), spill_.data() + spill_begin_, spill_end_ - spill_begin_);
    spill_end_ -= spill_begin_;
    spill_begin_ = 0;
  }
  // parse_spill() leaves less than a header, so the buffer has room whatever the limit.
  const std::size_t limit = header_.length > kGathered ? kSpillLargeFrames : kSpillSmallFrames;
  if (spill_filled_ && spill_.size() < limit) spill_.resize(2 * spill_.size());
  spill_filled_ = false;
  const Bytes spill = Bytes(spill_).first(std::min(limit, spill_.size())).subspan(spill_end_);
  spill_offered_ = spill.size();
  if (in_payload_ && target_ != nullptr && payload_missing() > 0) {
    return {Bytes(target_ + payload_have_, payload_missing()), spill};
  }
  return {spill, Bytes{}};
}

Expected<void, WireError> FrameParser::received(std::size_t bytes, FrameSink& sink) {
  if (dead_) return Unexpected<WireError>(error_);
  if (in_payload_ && target_ != nullptr) {
    const std::size_t direct = std::min(bytes, payload_missing());
    payload_have_ += direct;
    bytes -= direct;
    tell_part(direct, sink);
    if (payload_missing() > 0) return {};
    if (auto done = finish_frame(sink, ConstBytes(target_, header_.length)); !done) return done;
  }
  spill_filled_ = bytes == spill_offered_;
  spill_end_ += bytes;
  WEIR_ASSERT(spill_end_ <= spill_.size());
  return parse_spill(sink);
}

Expected<void, WireError> FrameParser::parse_spill(FrameSink& sink) {
  for (;;) {
    const std::size_t available = spill_end_ - spill_begin_;
    if (!in_payload_) {
      if (available < kHeaderBytes) return {};
      if (auto begun = begin_frame(sink); !begun) return begun;
      continue;
    }
    const std::byte* from = spill_.data() + spill_begin_;
    if (kind_ == PayloadPlace::Kind::whole && payload_have_ == 0 && available >= header_.length) {
      spill_begin_ += header_.length;
      if (auto done = finish_frame(sink, ConstBytes(from, header_.length)); !done) return done;
      continue;
    }
    spill_begin_ += take(from, available, sink);
    if (payload_missing() > 0) return {};
    const bool kept = kind_ != PayloadPlace::Kind::discard;
    if (auto done = finish_frame(sink, kept ? ConstBytes(target_, header_.length) : ConstBytes{}); !done)
      return done;
  }
}

Expected<void, WireError> FrameParser::begin_frame(FrameSink& sink) {
  const std::span<const std::byte, kHeaderBytes> bytes(spill_.data() + spill_begin_, kHeaderBytes);
  if (auto good = decode_header_into(bytes, payload_max_, header_); !good) return fail(good.error());
  spill_begin_ += kHeaderBytes;
  // Prefetches the next frame's header, which is needed once this payload is complete.
  __builtin_prefetch(spill_.data() + std::min(spill_begin_ + header_.length, spill_end_));
  payload_have_ = 0;
  target_ = nullptr;
  large_frames_ = header_.length > kLargeFrame;
  const PayloadPlace placement = sink.on_header(header_);
  if (dead_) return Unexpected<WireError>(error_);
  WEIR_ASSERT(!in_payload_);  // a sink does not call its parser
  kind_ = placement.kind;
  in_payload_ = true;
  if (kind_ == PayloadPlace::Kind::refuse) return fail(WireError::not_expected);
  if (kind_ == PayloadPlace::Kind::place) {
    WEIR_ASSERT(placement.target != nullptr || header_.length == 0);
    target_ = placement.target;
  }
  return {};
}

std::size_t FrameParser::take(const std::byte* from, std::size_t available, FrameSink& sink) {
  const std::size_t n = std::min(available, payload_missing());
  if (kind_ == PayloadPlace::Kind::whole && target_ == nullptr) {
    whole_.resize(header_.length);
    target_ = whole_.data();
  }
  if (target_ != nullptr && n > 0) std::memcpy(target_ + payload_have_, from, n);
  payload_have_ += n;
  tell_part(n, sink);
  return n;
}

void FrameParser::tell_part(std::size_t bytes, FrameSink& sink) {
  if (!large_frames_ || kind_ != PayloadPlace::Kind::place || bytes == 0) return;
  sink.on_part(header_, ConstBytes(target_ + payload_have_ - bytes, bytes));
}

Expected<void, WireError> FrameParser::finish_frame(FrameSink& sink, ConstBytes payload) {
  in_payload_ = false;
  target_ = nullptr;
  auto good = sink.on_frame(header_, payload);
  if (dead_) return Unexpected<WireError>(error_);
  if (!good) return fail(good.error());
  return {};
}

Expected<void, WireError> FrameParser::fail(WireError error) {
  dead_ = true;
  error_ = error;
  spill_begin_ = spill_end_ = 0;
  return Unexpected<WireError>(error);
}

void FrameParser::ended(FrameSink& sink) {
  if (in_payload_ && kind_ == PayloadPlace::Kind::place) sink.on_abandoned(header_);
  in_payload_ = false;
  target_ = nullptr;
  if (!dead_) (void)fail(WireError::bad_payload);
}

}  // namespace weir::wire
