#include "timings.hpp"

#include <weir/wire/frame.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::readout {
namespace {

constexpr DurationNs kLookEvery =
    20 * kMillisecond;  // for reading a connection's retransmissions: a system call

}  // namespace

void Timings::begin(const sessions::Peer& peer) {
  is_serving_ = peer.info().wants_timing;
  if (!is_serving_) return;
  serving_ = {};
  serving_.connection = peer.tag;
  serving_.arrived_utc_ns = peer.stream().arrived_utc_ns();
  serving_.read_ns = clock_.now_ns();
}

void Timings::end() {
  if (!std::exchange(is_serving_, false) || !serving_.answered) return;
  const auto same = [&](const Sample& sample) { return sample.connection == serving_.connection; };
  std::erase_if(samples_, same);
  samples_.push_back(serving_);
}

void Timings::answered(std::uint64_t connection, SliceId slice, std::uint32_t offset) {
  if (is_serving_ && connection == serving_.connection) {
    serving_.answered = true;
    serving_.slice = slice;
    serving_.offset = offset;
    return;
  }
  for (Sample& sample : samples_) sample.stale = sample.stale || sample.connection == connection;
}

void Timings::tell(sessions::Peer& peer, const Sample& sample) {
  const DurationNs since_read = clock_.now_ns() - sample.read_ns;
  constexpr DurationNs kNoSample = std::numeric_limits<std::int64_t>::max();
  DurationNs held = since_read;
  if (sample.arrived_utc_ns != 0) {
    held = clock_.utc_ns() - sample.arrived_utc_ns;
    // UTC may have jumped meanwhile.
    if (held < since_read || held > since_read + kSecond) held = kNoSample;
  }
  wire::Timing timing;
  timing.slice = sample.slice;
  timing.offset = sample.offset;
  constexpr DurationNs kMost = std::numeric_limits<std::uint32_t>::max();
  timing.held_us = static_cast<std::uint32_t>(std::clamp<DurationNs>(held / kMicrosecond, 0, kMost));
  timing.retransmitted = retransmitted(peer);
  wire::encode_header(wire::timing_header(timing),
                      peer.stream().reserve(wire::kHeaderBytes).first<wire::kHeaderBytes>());
}

std::uint32_t Timings::retransmitted(const sessions::Peer& peer) {
  Retransmitted& known = retransmitted_[peer.tag];
  const TimeNs now_ns = clock_.now_ns();
  if (now_ns - known.looked_ns >= kLookEvery) {
    known.looked_ns = now_ns;
    known.segments = peer.stream().retransmitted();
  }
  return static_cast<std::uint32_t>(known.segments);
}

}  // namespace weir::readout
