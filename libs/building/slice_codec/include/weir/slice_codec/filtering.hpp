#pragma once

#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/v1/control.pb.h>

#include <span>
#include <vector>

// Filtering, FilterKills: DCM -> supervisor.
namespace weir::slice_codec {

// `serial`: the supervisor's answer repeats it.
void encode(const slice_rows::FilterNote& note, std::uint64_t serial, v1::Filtering& out);
[[nodiscard]] Expected<slice_rows::FilterNote, BadRow> decode(const v1::Filtering& filtering);

void encode(std::span<const slice_rows::FilterKill> rows, v1::FilterKills& out);
[[nodiscard]] Expected<std::vector<slice_rows::FilterKill>, BadRow> decode(const v1::FilterKills& kills);

}  // namespace weir::slice_codec
