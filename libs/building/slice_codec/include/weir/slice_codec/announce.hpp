#pragma once

#include <weir/base/time.hpp>
#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_rows/rows.hpp>
#include <weir/v1/control.pb.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

// Announce, ClearSlices, OpenSlices: supervisor -> readouts.
namespace weir::slice_codec {

// Maximum rows of one message: bounds the memory of a receiver.
constexpr int kRowsMax = 16384;

using SendMessage = std::function<void(const v1::Control&)>;

// Appends announcements to `out`, which reuses the memory of its columns. `again`: for a readout that may
// have received them. `utc_ns`: the present time, in push runs.
void each_announcement(std::span<const slice_rows::Announcement> rows, bool again,
                       std::optional<UtcNs> utc_ns, v1::Control& out, const SendMessage& send);
// Replaces `out`; its rows have neither order nor payload.
[[nodiscard]] Expected<void, BadRow> decode(const v1::Announce& announce,
                                            std::vector<slice_rows::Announcement>& out);

// with_stored: also lists the stored ones.
void encode(std::span<const slice_rows::Cleared> rows, bool with_stored, v1::ClearSlices& out);

struct ClearedSlices {
  std::vector<SliceId> slices;
  std::vector<SliceId> stored;  // of them, where the supervisor lists these
};
// Replaces `out`.
void decode(const v1::ClearSlices& clear, ClearedSlices& out);

void encode(std::span<const slice_rows::Announcement> rows, v1::OpenSlices& out);
[[nodiscard]] std::vector<SliceId> decode(const v1::OpenSlices& open);

}  // namespace weir::slice_codec
