// The loops of run_scan.hpp with Highway: compiled once for each instruction set and chosen when the plugin
// is loaded.
#include "run_scan.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run_scan_highway.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace coincidence {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // has no vectors of 16 bytes

bool read_times(const std::byte* hits, std::uint32_t count, std::uint32_t* times) {
  return scalar_scan().read_times(hits, count, times);
}

#else

// Four hits are 24 bytes, read as bytes 0 to 15 and 8 to 23. Bytes of each that go to the four times; 0x80:
// zero.
alignas(16) constexpr std::uint8_t kTimesOfFirst[16] = {1,    2,    3,    4,    7,    8,    9,    10,
                                                        0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
alignas(16) constexpr std::uint8_t kTimesOfSecond[16] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                                         5,    6,    7,    8,    11,   12,   13,   14};
// The bit of a waveform in the first byte of each hit.
alignas(16) constexpr std::uint8_t kMarksOfFirst[16] = {0x80, 0, 0, 0, 0, 0, 0x80};
alignas(16) constexpr std::uint8_t kMarksOfSecond[16] = {0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0x80};

bool read_times(const std::byte* hits, std::uint32_t count, std::uint32_t* times) {
  const hn::FixedTag<std::uint8_t, 16> bytes;
  const hn::FixedTag<std::uint32_t, 4> words;
  const auto* at = reinterpret_cast<const std::uint8_t*>(hits);
  const auto first_times = hn::Load(bytes, kTimesOfFirst);
  const auto second_times = hn::Load(bytes, kTimesOfSecond);
  auto first_or = hn::Zero(bytes);
  auto second_or = hn::Zero(bytes);
  std::uint32_t i = 0;
  for (; i + 4 <= count; i += 4, at += 24) {
    const auto first = hn::LoadU(bytes, at);
    const auto second = hn::LoadU(bytes, at + 8);
    first_or = hn::Or(first_or, first);
    second_or = hn::Or(second_or, second);
    const auto four =
        hn::Or(hn::TableLookupBytesOr0(first, first_times), hn::TableLookupBytesOr0(second, second_times));
    hn::StoreU(hn::BitCast(words, four), words, times + i);
  }
  const auto marks = hn::Or(hn::And(first_or, hn::Load(bytes, kMarksOfFirst)),
                            hn::And(second_or, hn::Load(bytes, kMarksOfSecond)));
  if (!hn::AllFalse(bytes, hn::Ne(marks, hn::Zero(bytes)))) return false;
  if (!scalar_scan().read_times(hits + i * std::size_t{6}, count - i, times + i)) return false;

  const hn::ScalableTag<std::uint32_t> lanes;
  auto backward = hn::Lt(hn::Zero(lanes), hn::Zero(lanes));  // nowhere
  std::uint32_t j = 1;
  for (const auto step = static_cast<std::uint32_t>(hn::Lanes(lanes)); j + step <= count; j += step) {
    backward = hn::Or(backward, hn::Lt(hn::LoadU(lanes, times + j), hn::LoadU(lanes, times + j - 1)));
  }
  bool ascending = hn::AllFalse(lanes, backward);
  for (; j < count; ++j) ascending = ascending && times[j] >= times[j - 1];
  return ascending;
}

#endif

std::uint32_t* find_candidates(const std::uint32_t* times, std::uint32_t count, std::uint32_t window_ns,
                               const TimeBuckets& buckets, std::uint32_t* candidates) {
  const hn::ScalableTag<std::uint32_t> lanes;
  const hn::RebindToSigned<decltype(lanes)> offsets;
  const auto step = static_cast<std::uint32_t>(hn::Lanes(lanes));
  const auto window = hn::Set(lanes, window_ns);
  const auto beyond = hn::Set(lanes, window_ns + 1);
  const auto* base = reinterpret_cast<const std::uint32_t*>(buckets.words);
  const auto shift = hn::Set(lanes, buckets.shift);
  std::uint32_t i = 0;
  for (; i + step + 1 <= count; i += step) {
    const auto time = hn::LoadU(lanes, times + i);
    auto near = hn::Lt(hn::Sub(hn::LoadU(lanes, times + i + 1), time), beyond);
    if (base != nullptr) {
      const auto first = hn::Shr(hn::Sub(hn::Max(time, window), window), shift);
      const auto byte = hn::BitCast(offsets, hn::ShiftRight<3>(first));
      const auto found = hn::Shr(hn::GatherOffset(lanes, base, byte), hn::And(first, hn::Set(lanes, 7)));
      near = hn::Or(near, hn::TestBit(found, hn::Set(lanes, 1)));
      near = hn::Or(near, hn::TestBit(found, hn::Set(lanes, 2)));
    }
    if (HWY_LIKELY(hn::AllFalse(lanes, near))) continue;
    std::uint8_t bits[hn::MaxLanes(lanes) / 8 + 8] = {};
    hn::StoreMaskBits(lanes, near, bits);
    for (std::uint32_t lane = 0; lane < step; ++lane) {
      *candidates = times[i + lane];
      candidates += bits[lane / 8] >> lane % 8 & 1U;
    }
  }
  return scalar_scan().find_candidates(times + i, count - i, window_ns, buckets, candidates);
}

}  // namespace HWY_NAMESPACE
}  // namespace coincidence
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace coincidence {
namespace {

HWY_EXPORT(read_times);
HWY_EXPORT(find_candidates);

}  // namespace

RunScan vector_scan() {
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return {HWY_DYNAMIC_DISPATCH(read_times), HWY_DYNAMIC_DISPATCH(find_candidates)};
}

}  // namespace coincidence
#endif
