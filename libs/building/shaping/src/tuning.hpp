#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

// The constants of `adaptive` and its parts, each once, with its unit and reason. Other numbers in the parts
// are 0, 1, 2, a half and a quarter.
namespace weir::shaping::tuning {

// Bytes.
constexpr double kSegment = 1448;  // TCP's payload in an Ethernet frame, with timestamps
constexpr double kTiming = 32;     // a readout's timing record, which fits into an answer's last segment
// A queue that never empties is large enough. Also the least piece.
constexpr double kQueue = 2 * kSegment;
// Least window of a DCM, after any loss: a buffer of nine frames holds two of them.
constexpr double kFloor = 4 * kSegment;
// Of all DCMs of a port without selective acknowledgements, where each lost segment costs 200 ms.
constexpr double kOldTcpPort = 9 * kSegment;
// The first window, the least one without losses, the largest usual piece, and a queue that is too long.
constexpr double kFirst = 12 * kSegment;
// 64 kB. A host sends as much at once, so fewer bytes do not show a line's rate.
constexpr double kBurst = 44 * kSegment;

// Factors and shares.
constexpr double kUp = 1.03;      // step of the window; a gain of rate that is worth it
constexpr double kFactor = 1.25;  // longest step, and what a line needs for TCP's bursts
constexpr double kClear = 1.15;   // between two rates: more than their normal variation
constexpr double kHigh = 0.8;     // quantile: after a pause a port sends faster than it can sustain
// Of answer times, the quantile that shows a queue that never empties. Of segments, too many losses, even if
// they are worth their window.
constexpr double kRare = 0.05;
constexpr double kHostTimes = 5;  // of the hosts' mean time, which varies about as much
constexpr double kInSlice = 12;   // a window of a twelfth of a slice costs the slice little time
constexpr double kPieces = 2.5;   // of a window: with fewer the link idles at the end of each
constexpr double kBackOff = 0.7;  // of the window, after losses
// Growth of the limit after a loss, per second. If hosts need more, it grows by the lost share of the window:
// losses cost less than idle time.
constexpr double kForget = 0.01;
constexpr double kFade = 0.9;  // of a line's best rate, per epoch

// Times.
// Longer than an answer on a LAN; the least epoch of the start. Half of it is the least length of a drain.
constexpr DurationNs kFar = 2 * kMillisecond;
constexpr DurationNs kEpoch = 10 * kMillisecond;        // least epoch; a host that takes longer pauses
constexpr DurationNs kTimeout = 150 * kMillisecond;     // TCP's shortest timeout is 200 ms
constexpr DurationNs kDrainFirst = 100 * kMillisecond;  // before the first drain; later pauses double

// Counts.
constexpr std::uint32_t kMany = 48;  // answers of an epoch; epochs remembered
// Answers of an epoch of the start; drains remembered; a readout is silent after so many usual answer times.
constexpr std::uint32_t kSome = 8;
// Losses that are not chance; epochs of a trial; epochs in a row that agree; least answers of an epoch;
// longest pause between drains, in seconds.
constexpr std::uint32_t kFew = 4;

}  // namespace weir::shaping::tuning
