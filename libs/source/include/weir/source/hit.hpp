#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::source {

// One hit, as ANTARES and KM3NeT send it. Bytes, little-endian:
//   0      channel           u8, 0 to 127; bit 7 set: a waveform follows
//   1..4   time              u32, ns from the slice's start
//   5      time over threshold  u8, ns
// and with bit 7 set
//   6      channels sampled  u8, 1 or 2
//   7..    samples           channels sampled x 128 x u16, at 1 GHz
// so a hit has 6, 263 or 519 bytes. A fragment is hits one after another, ascending in time.
struct Hit {
  std::uint8_t channel = 0;
  std::uint32_t time_ns = 0;
  std::uint8_t tot_ns = 0;
  ConstBytes waveform;  // the samples, 0, 256 or 512 bytes inside the fragment
};

constexpr std::size_t kHitBytes = 6;
constexpr std::uint8_t kWaveformBit = 0x80;
constexpr std::uint8_t kWaveformChannelsMax = 2;
constexpr std::size_t kWaveformSamples = 128;
constexpr std::size_t kWaveformBytes = 2 * kWaveformSamples;  // per channel sampled

[[nodiscard]] constexpr std::size_t waveform_hit_bytes(std::size_t channels_sampled) {
  return kHitBytes + 1 + channels_sampled * kWaveformBytes;
}

// Writes kHitBytes at `to`, without the hit's waveform.
inline void encode_hit(const Hit& hit, std::byte* to) {
  to[0] = static_cast<std::byte>(hit.channel & ~kWaveformBit);
  store_le<std::uint32_t>(to + 1, hit.time_ns);
  to[5] = static_cast<std::byte>(hit.tot_ns);
}

// Writes the hit with its waveform, which must have 256 or 512 bytes: 263 or 519 bytes at `to`. Returns their
// number.
inline std::size_t encode_waveform_hit(const Hit& hit, std::byte* to) {
  encode_hit(hit, to);
  to[0] |= static_cast<std::byte>(kWaveformBit);
  const std::size_t channels = hit.waveform.size() / kWaveformBytes;
  to[kHitBytes] = static_cast<std::byte>(channels);
  std::memcpy(to + kHitBytes + 1, hit.waveform.data(), hit.waveform.size());
  return waveform_hit_bytes(channels);
}

// Iterates over a fragment's hits. Never reads outside `bytes`, whatever they contain: it stops at the first
// hit that is cut off or has an impossible number of channels, with malformed() true and offset() at that
// hit.
class HitReader {
 public:
  explicit HitReader(ConstBytes bytes) : bytes_(bytes) {}

  [[nodiscard]] std::optional<Hit> next() {
    const std::size_t left = bytes_.size() - offset_;
    if (left == 0 || malformed_) return std::nullopt;
    if (left < kHitBytes) return fail();
    const std::byte* at = bytes_.data() + offset_;
    const auto marked = static_cast<std::uint8_t>(at[0]);
    Hit hit{static_cast<std::uint8_t>(marked & ~kWaveformBit),
            load_le<std::uint32_t>(at + 1),
            static_cast<std::uint8_t>(at[5]),
            {}};
    if ((marked & kWaveformBit) == 0) {
      offset_ += kHitBytes;
      return hit;
    }
    if (left < kHitBytes + 1) return fail();
    const auto channels = static_cast<std::uint8_t>(at[kHitBytes]);
    if (channels == 0 || channels > kWaveformChannelsMax || left < waveform_hit_bytes(channels))
      return fail();
    hit.waveform = bytes_.subspan(offset_ + kHitBytes + 1, channels * kWaveformBytes);
    offset_ += waveform_hit_bytes(channels);
    return hit;
  }

  [[nodiscard]] bool malformed() const { return malformed_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  std::optional<Hit> fail() {
    malformed_ = true;
    return std::nullopt;
  }

  ConstBytes bytes_;
  std::size_t offset_ = 0;
  bool malformed_ = false;
};

}  // namespace weir::source
