#include "../src/request_frames.hpp"

#include "weir_catch.hpp"
#include <weir/wire/frame.hpp>

#include <array>

using namespace weir;
using dcm::RequestFrames;

namespace {

std::vector<wire::FrameType> types_in(ConstBytes bytes) {
  std::vector<wire::FrameType> types;
  while (!bytes.empty()) {
    const auto header = wire::decode_header(bytes.first<wire::kHeaderBytes>(), UINT32_MAX);
    REQUIRE(header.has_value());
    types.push_back(header->type);
    bytes = bytes.subspan(wire::kHeaderBytes + header->length);
  }
  return types;
}

std::vector<wire::FrameType> take(RequestFrames& frames, std::uint32_t readout) {
  std::vector<std::byte> bytes;
  frames.take(readout, bytes);
  return types_in(bytes);
}

const wire::RequestEntry kEntry{SliceId(7), Attempt(0), wire::kAllSources, 0, 100, 0};
const std::array kCopies{wire::CopyId{SliceId(6), Attempt(0), {}}};

}  // namespace

TEST_CASE("requests to a readout share a frame, and keep their order with cancellations") {
  RequestFrames frames(2);
  frames.request(1, std::array{SourceId(3)}, false, kEntry);
  frames.request(1, {}, true, kEntry);
  frames.cancel(1, kCopies);
  frames.request(1, {}, true, kEntry);
  CHECK(frames.to_send() == std::vector<std::uint32_t>{1});
  using enum wire::FrameType;
  CHECK(take(frames, 1) == std::vector{request, cancel, request});
  CHECK(take(frames, 1).empty());
}

TEST_CASE("frames of a lost connection are discarded, and its readout stays listed") {
  RequestFrames frames(1);
  frames.request(0, {}, true, kEntry);
  frames.cancel(0, kCopies);
  frames.request(0, {}, true, kEntry);
  frames.discard(0);
  frames.request(0, {}, true, kEntry);
  CHECK(frames.to_send() == std::vector<std::uint32_t>{0});
  CHECK(take(frames, 0) == std::vector{wire::FrameType::request});
}
