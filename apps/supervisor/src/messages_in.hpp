#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/base/expected.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/frame.hpp>

#include <cstddef>
#include <vector>

namespace weir::supervisor {

// Converts messages of nodes to the machine's inputs. Errors: bad_payload where columns differ in length, an
// index is out of range, or a verdict is unknown.
[[nodiscard]] Expected<void, wire::WireError> take_decisions(const v1::Decide& decide,
                                                             std::vector<assignment::AttemptDecision>& out);
[[nodiscard]] Expected<assignment::FilterNote, wire::WireError> filter_note_of(
    const v1::Filtering& filtering);
[[nodiscard]] Expected<std::vector<assignment::FilterKill>, wire::WireError> filter_kills_of(
    const v1::FilterKills& message);
[[nodiscard]] Expected<std::vector<assignment::Lease>, wire::WireError> fetched_of(
    const v1::Fetched& fetched);
// Returns the indices of unreachable nodes, ascending and unique; `places` is the number of places.
[[nodiscard]] Expected<std::vector<NodeIndex>, wire::WireError> lost_of(
    const google::protobuf::RepeatedField<std::uint32_t>& lost, std::size_t places);

}  // namespace weir::supervisor
