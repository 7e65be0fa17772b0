#include <weir/base/planted.hpp>
#include <weir/slice_codec/announce.hpp>

namespace weir::slice_codec {

void each_announcement(std::span<const slice_rows::Announcement> rows, bool again,
                       std::optional<UtcNs> utc_ns, v1::Control& out, const SendMessage& send) {
  v1::Announce& announce = *out.mutable_announce();
  announce.Clear();
  const auto send_rows = [&] {
    leave_out_zeros(*announce.mutable_type());
    announce.set_again(again);
    if (utc_ns) announce.set_utc_ns(*utc_ns);
    send(out);
    announce.Clear();
  };
  for (const slice_rows::Announcement& one : rows) {
    if (announce.slice_size() > 0 && announce.duration_ns() != one.info.duration) send_rows();
    announce.add_slice(one.slice.value);
    announce.add_time_ns(one.info.time);
    announce.add_type(one.info.type.value);
    announce.set_duration_ns(one.info.duration);
    if (announce.slice_size() >= kRowsMax) send_rows();
  }
  if (announce.slice_size() > 0) send_rows();
}

Expected<void, BadRow> decode(const v1::Announce& announce, std::vector<slice_rows::Announcement>& out) {
  const int rows = announce.slice_size();
  Columns columns("Announce", rows);
  columns.fills("time_ns", announce.time_ns()).fits("type", announce.type());
  if (columns.are_bad()) return columns.refusal();
  out.clear();
  for (int i = 0; i < rows; ++i) {
    slice_rows::Announcement& one = out.emplace_back();
    one.slice = SliceId(announce.slice(i));
    one.info = {announce.time_ns(i), announce.duration_ns(), TriggerType(at_or_zero(announce.type(), i))};
  }
  return {};
}

void encode(std::span<const slice_rows::Cleared> rows, bool with_stored, v1::ClearSlices& out) {
  out.Clear();
  for (const slice_rows::Cleared& one : rows) {
    const bool forgotten = planted(Planted::forget_clear) && one.slice.value % 8 == 6;
    if (forgotten) continue;
    out.add_slice(one.slice.value);
    if (with_stored && one.outcome == slice_rows::Outcome::stored) out.add_stored(one.slice.value);
  }
}

void decode(const v1::ClearSlices& clear, ClearedSlices& out) {
  out.slices.clear();
  out.stored.clear();
  for (const std::uint64_t slice : clear.slice()) out.slices.emplace_back(slice);
  for (const std::uint64_t slice : clear.stored()) out.stored.emplace_back(slice);
}

void encode(std::span<const slice_rows::Announcement> rows, v1::OpenSlices& out) {
  out.Clear();
  for (const slice_rows::Announcement& one : rows) out.add_slice(one.slice.value);
}

std::vector<SliceId> decode(const v1::OpenSlices& open) {
  std::vector<SliceId> slices;
  for (const std::uint64_t slice : open.slice()) slices.emplace_back(slice);
  return slices;
}

}  // namespace weir::slice_codec
