#pragma once

#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/v1/control.pb.h>

#include <span>
#include <vector>

// Fetch: between DCMs. Fetched: DCM -> supervisor.
namespace weir::slice_codec {

void append(const slice_rows::FetchRow& row, v1::Fetch& out);
[[nodiscard]] Expected<std::vector<slice_rows::FetchRow>, BadRow> decode(const v1::Fetch& fetch);
// The answer about slices that are not kept: it has no attempts of the DCM that keeps them.
void append_gone(const slice_rows::FetchRow& row, v1::Fetch& out);
[[nodiscard]] Expected<std::vector<slice_rows::Lease>, BadRow> decode_gone(const v1::Fetch& gone);

void append(const slice_rows::Lease& row, v1::Fetched& out);
[[nodiscard]] Expected<std::vector<slice_rows::Lease>, BadRow> decode(const v1::Fetched& fetched);

}  // namespace weir::slice_codec
