#include "big_endian.hpp"
#include <weir/base/assert.hpp>
#include <weir/switching/headers.hpp>
#include <weir/switching/pause.hpp>

#include <algorithm>

namespace weir::switching {
namespace {

// The address of a link's other end; the sender's is that of no host, as the switch has none.
constexpr std::array<std::byte, 6> kLinkEnd{std::byte{0x01}, std::byte{0x80}, std::byte{0xc2},
                                            std::byte{0x00}, std::byte{0x00}, std::byte{0x01}};
constexpr std::array<std::byte, 6> kSender{std::byte{0x02}, std::byte{0x77}, std::byte{0xff},
                                           std::byte{0x00}, std::byte{0x00}, std::byte{0x01}};
constexpr std::size_t kControlTypeAt = 12;
constexpr std::size_t kOperationAt = 14;
constexpr std::size_t kQuantaAt = 16;
constexpr std::uint16_t kControlType = 0x8808;
constexpr std::uint16_t kPause = 1;
constexpr std::uint64_t kBitsPerQuantum = 512;

}  // namespace

bool is_link_control(ConstBytes frame) {
  return frame.size() >= kEthernetHeaderBytes && load_16(frame, kControlTypeAt) == kControlType;
}

std::optional<PauseQuanta> pause_in(ConstBytes frame) {
  if (!is_link_control(frame) || frame.size() < kQuantaAt + 2) return std::nullopt;
  if (!std::equal(kLinkEnd.begin(), kLinkEnd.end(), frame.begin())) return std::nullopt;
  if (load_16(frame, kOperationAt) != kPause) return std::nullopt;
  return load_16(frame, kQuantaAt);
}

std::array<std::byte, kPauseFrameBytes> pause_frame(PauseQuanta quanta) {
  std::array<std::byte, kPauseFrameBytes> frame{};
  std::copy(kSender.begin(), kSender.end(), std::copy(kLinkEnd.begin(), kLinkEnd.end(), frame.begin()));
  store_16(frame, kControlTypeAt, kControlType);
  store_16(frame, kOperationAt, kPause);
  store_16(frame, kQuantaAt, quanta);
  return frame;
}

DurationNs pause_ns(PauseQuanta quanta, std::uint64_t bits_per_s) {
  WEIR_ASSERT(bits_per_s > 0);
  const double bits = static_cast<double>(kBitsPerQuantum) * quanta;
  return static_cast<DurationNs>(bits * static_cast<double>(kSecond) / static_cast<double>(bits_per_s));
}

}  // namespace weir::switching
