#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::tap {

// What stands in front of a published slice record (libs/storage/FORMAT.md, "Slice record"). Little-endian:
// "WTAP" (4 bytes), version 1 (2), length of the head (2), then the four numbers (8 each). A reader goes on
// behind the head's length, and refuses another version.
struct SampleHead {
  std::uint64_t numbering = 0;  // another one when `sequence` begins anew
  std::uint64_t sequence = 0;   // of this tag's samples, from 0: a gap is what was lost on the way
  std::uint64_t dropped = 0;    // samples of this tag that the DCM did not give out, so far (TapSettings)
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
// Nothing: these bytes are no sample of this version.
[[nodiscard]] std::optional<Sample> parse_sample(ConstBytes bytes);

}  // namespace weir::tap
