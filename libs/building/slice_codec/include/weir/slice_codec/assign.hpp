#pragma once

#include <weir/slice_codec/announce.hpp>
#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <span>
#include <vector>

// Assign: supervisor -> DCM.
namespace weir::slice_codec {

// Maximum payload bytes of one message: bounds the memory of a receiver.
constexpr std::size_t kPayloadBytesMax = 1U << 20;

// Sends assignments in as few messages as possible; the rows' offsets are in `payload`. `with_order`: ids may
// descend, or readouts were absent. `out` reuses the memory of its columns.
void each_assignment(std::span<const slice_rows::Assignment> rows, ConstBytes payload, bool with_order,
                     v1::Control& out, const SendMessage& send);
[[nodiscard]] Expected<std::vector<slice_rows::AssignedSlice>, BadRow> decode(const v1::Assign& assign);

}  // namespace weir::slice_codec
