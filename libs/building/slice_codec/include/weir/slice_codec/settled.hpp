#pragma once

#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/v1/control.pb.h>

#include <span>
#include <vector>

// Settled: supervisor -> writers.
namespace weir::slice_codec {

// The part that all writers receive, and the notices about one writer's own copies.
void encode(std::span<const slice_rows::Cleared> rows, v1::Settled& out);
void encode(std::span<const slice_rows::CopyNotice> notices, NodeIndex writer, v1::Settled& out);

struct SettledSlices {
  std::vector<slice_rows::Cleared> slices;     // without the fields that are for the journal
  std::vector<slice_rows::CopyNotice> copies;  // without their writer
};
// Replaces `out`.
[[nodiscard]] Expected<void, BadRow> decode(const v1::Settled& settled, SettledSlices& out);

}  // namespace weir::slice_codec
