#pragma once

#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <functional>
#include <string>

namespace weir::config {

// The place of the group of this name in dcm.groups; 0 if no group has it.
[[nodiscard]] std::uint8_t place_of_group(const v1::DcmSettings& dcm, const std::string& name);

// Whether DCMs of the group at this place keep slices that they forward, because a group that they forward to
// has `fetch: builder`.
[[nodiscard]] bool keeps_slices(const v1::DcmSettings& dcm, std::uint8_t group);

// Checks dcm.groups: names, and that every group has DCMs, is reached from the first, and never again by a
// slice that has left it. Calls `inconsistent` with the key at fault and a sentence.
void check_groups(const v1::Farm& farm,
                  const std::function<void(const std::string& key, std::string what)>& inconsistent);

}  // namespace weir::config
