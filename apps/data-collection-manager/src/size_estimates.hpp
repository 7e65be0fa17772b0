#pragma once

#include <weir/assembly/assembler.hpp>
#include <weir/shaping/expected_size.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::dcm {

// Returns the payload of a frame with so many bytes; at least 1.
[[nodiscard]] inline std::uint32_t payload_of(std::uint64_t frame_bytes) {
  const std::uint64_t payload = frame_bytes > wire::kHeaderBytes ? frame_bytes - wire::kHeaderBytes : 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(payload, UINT32_MAX));
}
// Returns the bytes of an answer with this many fragments: with a block's header in addition, unless a single
// fragment has its own frame.
[[nodiscard]] std::uint64_t answer_bytes(std::uint32_t fragments, std::uint64_t bytes);

// The sizes that the next fragments are expected to have, learned from earlier ones: of each source, and of
// all sources of a readout together. Pure.
class SizeEstimates {
 public:
  SizeEstimates(std::span<const assembly::SourceInfo> sources, std::uint32_t readouts);

  // Fragments of this readout have arrived in one answer; `sizes`: the known lengths.
  void learn(std::uint32_t readout, std::span<const assembly::FragmentSize> sizes);
  // Returns the most bytes that are requested of a source of unknown size, at most the payload of `piece`.
  [[nodiscard]] std::uint32_t guess(std::uint32_t readout, std::uint64_t piece);

  [[nodiscard]] const shaping::ExpectedSize& of(assembly::SourceIndex source) const { return of_[source]; }
  // Returns how many sources the readout has.
  [[nodiscard]] std::size_t sources(std::uint32_t readout) const { return readouts_[readout].sources; }
  [[nodiscard]] bool knows_all(std::uint32_t readout) const { return readouts_[readout].unknown == 0; }
  // Returns the bytes that the readout's sources of known size send of a slice.
  [[nodiscard]] std::uint64_t bytes(std::uint32_t readout) const { return readouts_[readout].bytes; }
  // Returns about how many bytes are left to be requested of the readout: a step's selection is taken for an
  // even part of all sources.
  [[nodiscard]] std::uint64_t bytes_left(const assembly::Gathering& gathering, std::uint32_t readout) const;

 private:
  struct Readout {
    std::size_t sources = 0;
    std::size_t unknown = 0;  // sources without any fragment so far
    std::uint64_t bytes = 0;
    std::uint32_t guess = 0;  // most bytes requested of each of these; 0 before the first request
  };
  std::vector<shaping::ExpectedSize> of_;  // by source
  std::vector<Readout> readouts_;
};

}  // namespace weir::dcm
