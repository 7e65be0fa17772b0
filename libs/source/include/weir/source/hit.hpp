#pragma once

#include <weir/hits.hpp>

// The format of hits is that of the header for programs outside.
namespace weir::source {

using weir::encode_hit;
using weir::encode_waveform_hit;
using weir::Hit;
using weir::HitReader;
using weir::kHitBytes;
using weir::kWaveformBit;
using weir::kWaveformBytes;
using weir::kWaveformChannelsMax;
using weir::kWaveformSamples;
using weir::waveform_hit_bytes;

}  // namespace weir::source
