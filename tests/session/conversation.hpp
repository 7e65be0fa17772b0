#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Conversations of the real nodes with a peer that sends what it likes, each from a seed.
namespace weir::session_test {

// Which peer that is.
enum class Part : std::uint8_t { stranger, dcm, readout, writer, supervisor, control };
constexpr std::size_t kParts = 6;
[[nodiscard]] std::string_view name(Part who);
[[nodiscard]] std::optional<Part> part_of(std::string_view name);

struct Outcome {
  std::string problem;          // empty: all went as it must
  std::uint64_t sequences = 0;  // that were sent
  std::uint64_t triggered = 0;
  std::uint64_t refused = 0;  // hellos and frames, by the node that refused least of them
  std::uint64_t protocol_errors = 0;
  std::uint64_t assigned = 0;    // by a supervisor that says what it likes, to the DCM
  std::uint64_t records = 0;     // that the writer then took
  std::uint64_t produced = 0;    // by a readout
  std::size_t growth_bytes = 0;  // of the process meanwhile, beyond what is stored
};

// The seed's farm, and the seed's so many sequences; 0: as many as the seed says. The same on every machine.
[[nodiscard]] Outcome converse(Part who, std::uint64_t seed, std::uint64_t sequences = 0);

}  // namespace weir::session_test
