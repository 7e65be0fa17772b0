#pragma once

#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/v1/control.pb.h>

#include <span>
#include <vector>

// Decide: DCM -> supervisor. Confirm: its answer.
namespace weir::slice_codec {

// Adds a row to all columns.
void append(const slice_rows::AttemptDecision& row, v1::Decide& out);
// Replaces `out`; leaves out a column of zeros.
void encode(std::span<const slice_rows::AttemptDecision> rows, v1::Decide& out);
// Replaces `out`; its bytes are those of the message. An unknown verdict is refused: a wrong guess would
// throw the slice away.
[[nodiscard]] Expected<void, BadRow> decode(const v1::Decide& decide,
                                            std::vector<slice_rows::AttemptDecision>& out);

void encode(std::span<const slice_rows::Confirmation> rows, v1::Confirm& out);
[[nodiscard]] Expected<std::vector<slice_rows::Confirmation>, BadRow> decode(const v1::Confirm& confirm);

}  // namespace weir::slice_codec
