#include <weir/slice_codec/settled.hpp>

#include <string>

namespace weir::slice_codec {

using slice_rows::Cleared;
using slice_rows::CopyNotice;
using slice_rows::Outcome;

static_assert(v1::OUTCOME_STORED == static_cast<int>(Outcome::stored) &&
              v1::OUTCOME_REJECTED == static_cast<int>(Outcome::rejected) &&
              v1::OUTCOME_DISCARDED == static_cast<int>(Outcome::discarded) &&
              v1::Outcome_ARRAYSIZE == static_cast<int>(Outcome::discarded) + 1);

void encode(std::span<const Cleared> rows, v1::Settled& out) {
  out.Clear();
  std::string& outcomes = *out.mutable_outcome();
  for (const Cleared& one : rows) {
    out.add_slice(one.slice.value);
    out.add_attempt(one.attempt.value);
    out.add_epoch(one.epoch.value);
    out.add_writer(one.writer.value);
    add(outcomes, static_cast<int>(one.outcome));
  }
  leave_out_zeros(*out.mutable_attempt());
  leave_out_zeros(*out.mutable_epoch());
  leave_out_zeros(*out.mutable_writer());
}

void encode(std::span<const CopyNotice> notices, NodeIndex writer, v1::Settled& out) {
  out.clear_copies();
  for (const CopyNotice& notice : notices) {
    if (notice.writer != writer) continue;
    v1::Settled::Copy& copy = *out.add_copies();
    copy.set_slice(notice.slice.value);
    copy.set_attempt(notice.attempt.value);
    copy.set_epoch(notice.epoch.value);
    copy.set_live(notice.live);
    copy.set_settled(notice.settled);
  }
}

Expected<void, BadRow> decode(const v1::Settled& settled, SettledSlices& out) {
  const int rows = settled.slice_size();
  Columns columns("Settled", rows);
  columns.fits_small("attempt", settled.attempt())
      .fits_small("epoch", settled.epoch())
      .fits_small("writer", settled.writer())
      .fits("outcome", settled.outcome());
  if (columns.are_bad()) return columns.refusal();
  out.slices.clear();
  out.copies.clear();
  for (int i = 0; i < rows; ++i) {
    if (!v1::Outcome_IsValid(at_or_zero(settled.outcome(), i)))
      return columns.refuse("outcome", static_cast<std::size_t>(i));
    Cleared& one = out.slices.emplace_back();
    one.slice = SliceId(settled.slice(i));
    one.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(settled.attempt(), i)));
    one.epoch = StoreEpoch(static_cast<std::uint16_t>(at_or_zero(settled.epoch(), i)));
    one.writer = NodeIndex(static_cast<std::uint16_t>(at_or_zero(settled.writer(), i)));
    one.outcome = static_cast<Outcome>(at_or_zero(settled.outcome(), i));
  }
  for (const v1::Settled::Copy& copy : settled.copies()) {
    if (copy.attempt() > UINT16_MAX || copy.epoch() > UINT16_MAX)
      return columns.refuse("copies", out.copies.size());
    CopyNotice& one = out.copies.emplace_back();
    one.slice = SliceId(copy.slice());
    one.attempt = Attempt(static_cast<std::uint16_t>(copy.attempt()));
    one.epoch = StoreEpoch(static_cast<std::uint16_t>(copy.epoch()));
    one.live = copy.live();
    one.settled = copy.settled();
  }
  return {};
}

}  // namespace weir::slice_codec
