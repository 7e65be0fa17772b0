#include "size_estimates.hpp"

#include <weir/base/assert.hpp>
#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>

namespace weir::dcm {
namespace {

// Smallest limit on the bytes requested of a source of unknown size.
constexpr std::uint32_t kGuessMin = 16;

}  // namespace

std::uint64_t answer_bytes(std::uint32_t fragments, std::uint64_t bytes) {
  const bool is_long = bytes > wire::kBlockRowBytes + wire::kBlockFragmentMax;  // counted with its header
  if (fragments == 1) return is_long ? bytes : bytes - wire::kBlockRowBytes + wire::kHeaderBytes;
  return bytes + wire::kHeaderBytes;
}

SizeEstimates::SizeEstimates(std::span<const assembly::SourceInfo> sources, std::uint32_t readouts)
    : of_(sources.size()), readouts_(readouts) {
  for (const assembly::SourceInfo& source : sources) {
    ++readouts_[source.readout].sources;
    ++readouts_[source.readout].unknown;
  }
}

// Assumes that a readout's sources are alike: an answer with short fragments, or without any, halves the
// guess, and a longer fragment raises it. Requests thus cover more sources while their sizes are unknown, and
// an answer is never longer than planned.
void SizeEstimates::learn(std::uint32_t readout, std::span<const assembly::FragmentSize> sizes) {
  Readout& of = readouts_[readout];
  if (of.unknown > 0 && of.guess > 0) {
    std::uint32_t longest = kGuessMin;
    for (const assembly::FragmentSize& size : sizes) longest = std::max(longest, size.bytes);
    of.guess = std::max(longest, of.guess / 2);
  }
  for (const assembly::FragmentSize& size : sizes) {
    shaping::ExpectedSize& expected = of_[size.source];
    if (expected.is_always(size.bytes)) continue;
    if (expected.known()) {
      WEIR_ASSERT(wire::fragment_wire_bytes(expected.bytes()) <= of.bytes);
      of.bytes -= wire::fragment_wire_bytes(expected.bytes());
    } else {
      WEIR_ASSERT(of.unknown > 0);
      --of.unknown;
    }
    expected.note(size.bytes);
    of.bytes += wire::fragment_wire_bytes(expected.bytes());
  }
}

std::uint32_t SizeEstimates::guess(std::uint32_t readout, std::uint64_t piece) {
  Readout& of = readouts_[readout];
  if (of.guess == 0) of.guess = payload_of(piece);
  return std::min(of.guess, payload_of(piece));
}

std::uint64_t SizeEstimates::bytes_left(const assembly::Gathering& gathering, std::uint32_t readout) const {
  const Readout& of = readouts_[readout];
  const assembly::Gathering::Part& part = gathering.parts[readout];
  WEIR_ASSERT(part.next <= gathering.selection->by_readout[readout].size());
  const std::size_t rest = gathering.selection->by_readout[readout].size() - part.next;
  std::uint64_t left = rest == of.sources ? of.bytes : of.bytes * rest / of.sources;
  left -= std::min<std::uint64_t>(left, part.offset);
  return left + part.range_bytes;
}

}  // namespace weir::dcm
