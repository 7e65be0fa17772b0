#include "recording_sink.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/hash.hpp>
#include <weir/wire/frame_parser.hpp>

#include <array>
#include <cstdint>

// The input has a head that chooses the receiver's limit, the placements and the cuts of the stream, and the
// stream itself. The frames must not depend on the cuts, and the memory around each target must stay
// unchanged.
namespace {

using namespace weir;
using namespace weir::wire;

constexpr std::size_t kCuts = 14;
constexpr std::size_t kHeadBytes = 2 + kCuts;
constexpr std::array<std::uint32_t, 4> kLimits = {100, 4096, 70'000, 1 << 20};

struct Outcome {
  std::vector<SeenFrame> frames;
  std::size_t abandoned = 0;
  bool failed = false;
  WireError error{};
  bool operator==(const Outcome&) const = default;
};

PayloadPlace::Kind place(const FrameHeader& header, std::uint64_t seed) {
  const std::uint64_t random =
      mix64(seed ^ header.slice.value ^ (std::uint64_t{header.source.value} << 8) ^ header.crc);
  if (random % 32 == 0) return PayloadPlace::Kind::refuse;
  constexpr PayloadPlace::Kind kKinds[] = {PayloadPlace::Kind::whole, PayloadPlace::Kind::place,
                                           PayloadPlace::Kind::discard};
  return kKinds[random / 32 % 3];
}

template <class NextCut>
Outcome parse(std::uint32_t limit, std::uint64_t seed, ConstBytes stream, NextCut&& next_cut) {
  FrameParser parser(limit);
  RecordingSink sink([&](const FrameHeader& header) {
    const bool bulk = header.type == FrameType::fragment || header.type == FrameType::data;
    WEIR_ASSERT(header.length <= (bulk ? limit : kControlFrameMax));
    return place(header, seed);
  });
  const auto result = feed(parser, sink, stream, next_cut);
  if (!result) {
    Expected<void, WireError> again;
    (void)receive_some(parser, sink, stream, stream.size(), again);
    WEIR_ASSERT(!again && again.error() == result.error());
  }
  parser.ended(sink);
  WEIR_ASSERT(sink.abandoned <= 1 && (result || sink.abandoned == 0));
  return {std::move(sink.frames), sink.abandoned, !result, result ? WireError{} : result.error()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeadBytes) return 0;
  const std::uint32_t limit = kLimits[data[0] % kLimits.size()];
  const std::uint64_t seed = data[1];
  const std::uint8_t* cuts = data + 2;
  const ConstBytes stream = std::as_bytes(std::span(data, size)).subspan(kHeadBytes);

  const Outcome at_once = parse(limit, seed, stream, [&] { return stream.size(); });
  std::size_t next = 0;
  // Bytes from 128 on select long receives; smaller ones are the length itself.
  const Outcome cut = parse(limit, seed, stream, [&]() -> std::size_t {
    const std::uint8_t byte = cuts[next++ % kCuts];
    return byte < 128 ? byte : std::size_t{byte - 127U} * 64;
  });
  WEIR_ASSERT(at_once == cut);

  std::size_t bytes = 0;
  for (const SeenFrame& frame : at_once.frames) bytes += kHeaderBytes + frame.header.length;
  WEIR_ASSERT(bytes <= stream.size());
  return 0;
}
