#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::tap {

// The head in front of a published slice record (libs/records/storage/FORMAT.md, "Slice record").
// Little-endian: "WTAP" (4 bytes), version 1 (2), length of the head (2), then the four numbers (8 each). A
// reader continues after the head's length, and refuses another version.
struct SampleHead {
  std::uint64_t numbering = 0;  // changes when `sequence` starts from 0 again
  std::uint64_t sequence = 0;   // of this tag's samples, from 0: gaps are samples lost in transit
  std::uint64_t dropped = 0;    // samples of this tag that the DCM has not sent so far (TapSettings)
  std::uint64_t seen = 0;       // slices of the stream at this DCM so far, this one included
  bool operator==(const SampleHead&) const = default;
};

constexpr std::size_t kSampleHeadLength = 40;
constexpr std::uint16_t kSampleVersion = 1;

void encode_sample_head(const SampleHead& head, std::vector<std::byte>& out);  // appends

struct Sample {
  SampleHead head;
  ConstBytes record;
};
// Returns nothing if the bytes are not a sample of this version.
[[nodiscard]] std::optional<Sample> parse_sample(ConstBytes bytes);

}  // namespace weir::tap
