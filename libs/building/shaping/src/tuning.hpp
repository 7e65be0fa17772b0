#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
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
constexpr double kUp = 1.03;                 // step of the window; a gain of rate that is worth it
constexpr double kDown = 1 - (kUp - 1) / 2;  // half a step
constexpr double kFactor = 1.25;             // longest step, and what a line needs for TCP's bursts
constexpr double kClear = 1.15;              // between two rates: more than their normal variation
constexpr double kHigh = 0.8;        // quantile: after a pause a port sends faster than it can sustain
constexpr double kFast = 0.05;       // quantile of answer times: shows a queue that never empties
constexpr double kHostTimes = 5;     // of the hosts' mean time, which varies about as much
constexpr double kInSlice = 12;      // a window of a twelfth of a slice costs the slice little time
constexpr double kPieces = 2.5;      // of a window: with fewer the link idles at the end of each
constexpr double kBackOff = 0.7;     // of the window, after losses
constexpr double kTolerated = 0.05;  // of the segments: too many losses, even if worth their window
constexpr double kForget = 0.01;     // growth of the limit after a loss, per second
constexpr double kForgetBusy = 0.3;  // the same if hosts need more: losses cost less than idle time
constexpr double kFade = 0.9;        // of a line's best rate, per epoch

// Times.
constexpr DurationNs kFar = 2 * kMillisecond;     // longer than an answer on a LAN; least epoch of the start
constexpr DurationNs kEpoch = 10 * kMillisecond;  // least epoch; a host that takes longer pauses
constexpr DurationNs kTimeout = 150 * kMillisecond;     // TCP's shortest timeout is 200 ms
constexpr DurationNs kDrain = kMillisecond;             // least length of a drain
constexpr DurationNs kDrainFirst = 100 * kMillisecond;  // before the first drain; later pauses double
constexpr DurationNs kDrainMost = 4 * kSecond;          // longest pause

// Counts.
constexpr std::uint32_t kResponses = 48;      // of an epoch: its fastest twentieth is two answers
constexpr std::uint32_t kStartResponses = 8;  // of the start; silence in usual answer times
constexpr std::uint32_t kFew = 4;    // losses that are not chance; epochs of a trial; answers of an epoch
constexpr int kSure = 3;             // epochs in a row that agree
constexpr std::size_t kEpochs = 32;  // remembered
constexpr std::size_t kDrains = 8;   // remembered

}  // namespace weir::shaping::tuning
