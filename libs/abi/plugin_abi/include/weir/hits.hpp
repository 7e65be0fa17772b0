// The hit format of the `hits` source, which is that of ANTARES and KM3NeT: for filters, for sources, and for
// programs that read run files. Header only; needs nothing but the C++ library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace weir {

// One hit. Its bytes in a fragment, little-endian:
//   0      channel              u8, 0 to 127; bit 7 set: a waveform follows
//   1..4   time                 u32, ns from the slice's start
//   5      time over threshold  u8, ns
// and with bit 7 set
//   6      channels sampled     u8, 1 or 2
//   7..    samples              channels sampled x 128 x u16, at 1 GHz
// so a hit has 6, 263 or 519 bytes. A fragment is a sequence of hits, ascending in time.
struct Hit {
  std::uint8_t channel = 0;
  std::uint32_t time_ns = 0;
  std::uint8_t tot_ns = 0;
  std::span<const std::byte> waveform;  // the samples: 0, 256 or 512 bytes of the fragment
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
  for (unsigned i = 0; i < 4; ++i) to[1 + i] = static_cast<std::byte>(hit.time_ns >> (8 * i));
  to[5] = static_cast<std::byte>(hit.tot_ns);
}

// Writes the hit with its waveform, 263 or 519 bytes, at `to`. Returns their number. Requires: the waveform
// has 256 or 512 bytes.
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
// hit. Requires: `bytes` outlive the reader and the waveforms of its hits.
class HitReader {
 public:
  explicit HitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Returns the next hit; nothing at the end, or at a malformed hit.
  [[nodiscard]] std::optional<Hit> next() {
    const std::size_t left = bytes_.size() - offset_;
    if (left == 0 || malformed_) return std::nullopt;
    if (left < kHitBytes) return fail();
    const std::byte* at = bytes_.data() + offset_;
    const auto marked = static_cast<std::uint8_t>(at[0]);
    Hit hit{static_cast<std::uint8_t>(marked & ~kWaveformBit),
            time_at(at + 1),
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
  // The compiler makes one load of it.
  static std::uint32_t time_at(const std::byte* at) {
    std::uint32_t time = 0;
    for (unsigned i = 0; i < 4; ++i) time |= std::to_integer<std::uint32_t>(at[i]) << (8 * i);
    return time;
  }
  std::optional<Hit> fail() {
    malformed_ = true;
    return std::nullopt;
  }

  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
  bool malformed_ = false;
};

}  // namespace weir
