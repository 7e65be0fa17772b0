#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Conversations of the real nodes with a peer that sends arbitrary messages; each is drawn from a seed.
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
  std::uint64_t assigned = 0;    // slices assigned to the DCM by an impostor supervisor
  std::uint64_t records = 0;     // that the writer then took
  std::uint64_t produced = 0;    // by a readout
  std::size_t growth_bytes = 0;  // growth of the process's memory, beyond the stored data
};

// Runs the seed's farm and `sequences` of the seed's sequences; 0: the number that the seed draws.
// Deterministic on every machine.
[[nodiscard]] Outcome converse(Part who, std::uint64_t seed, std::uint64_t sequences = 0);

}  // namespace weir::session_test
