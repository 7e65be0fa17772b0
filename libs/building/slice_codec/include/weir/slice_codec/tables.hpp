#pragma once

#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/absences.hpp>
#include <weir/slice_rows/destinations.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <vector>

// Destinations, Absences: supervisor -> readouts and DCMs. Reach: DCM -> supervisor. ReachVerdict: its
// answer.
namespace weir::slice_codec {

void encode(const slice_rows::DestinationTable& table, v1::Destinations& out);
// Replaces `table`, unless no supervisor could have made the received one.
[[nodiscard]] Expected<void, BadRow> decode(const v1::Destinations& message,
                                            slice_rows::DestinationTable& table);

void encode(const std::vector<slice_rows::AbsenceRange>& ranges, v1::Absences& out);
// Returns the ranges in the message, without further checks.
[[nodiscard]] Expected<std::vector<slice_rows::AbsenceRange>, BadRow> decode(const v1::Absences& message);

// The nodes that a DCM cannot reach: ascending and unique.
struct UnreachedNodes {
  std::vector<NodeIndex> readouts;
  std::vector<NodeIndex> writers;
};
// `readouts`, `writers`: how many the farm has.
[[nodiscard]] Expected<UnreachedNodes, BadRow> decode(const v1::Reach& reach, std::size_t readouts,
                                                      std::size_t writers);

// Returns a mark for each of `readouts` that is missing for the farm.
[[nodiscard]] Expected<std::vector<bool>, BadRow> decode(const v1::ReachVerdict& verdict,
                                                         std::size_t readouts);

}  // namespace weir::slice_codec
