#include <weir/slice_codec/fetch.hpp>

namespace weir::slice_codec {

using slice_rows::FetchRow;
using slice_rows::Lease;

namespace {

Attempt attempt_of(std::uint32_t value) { return Attempt(static_cast<std::uint16_t>(value)); }

}  // namespace

void append(const FetchRow& row, v1::Fetch& out) {
  out.add_slice(row.slice.value);
  out.add_attempt(row.attempt.value);
  out.add_as(row.as.value);
}

Expected<std::vector<FetchRow>, BadRow> decode(const v1::Fetch& fetch) {
  Columns columns("Fetch", fetch.slice_size());
  columns.fits_small("attempt", fetch.attempt()).fits_small("as", fetch.as());
  if (columns.are_bad()) return columns.refusal();
  std::vector<FetchRow> rows;
  for (int i = 0; i < fetch.slice_size(); ++i)
    rows.push_back({SliceId(fetch.slice(i)), attempt_of(at_or_zero(fetch.attempt(), i)),
                    attempt_of(at_or_zero(fetch.as(), i))});
  return rows;
}

void append_gone(const FetchRow& row, v1::Fetch& out) {
  out.set_gone(true);
  out.add_slice(row.slice.value);
  out.add_as(row.as.value);
}

Expected<std::vector<Lease>, BadRow> decode_gone(const v1::Fetch& gone) {
  Columns columns("Fetch", gone.slice_size());
  columns.fills_small("as", gone.as());
  if (columns.are_bad()) return columns.refusal();
  std::vector<Lease> rows;
  for (int i = 0; i < gone.slice_size(); ++i)
    rows.push_back({SliceId(gone.slice(i)), attempt_of(gone.as(i))});
  return rows;
}

void append(const Lease& row, v1::Fetched& out) {
  out.add_slice(row.slice.value);
  out.add_attempt(row.attempt.value);
}

Expected<std::vector<Lease>, BadRow> decode(const v1::Fetched& fetched) {
  Columns columns("Fetched", fetched.slice_size());
  columns.fills_small("attempt", fetched.attempt());
  if (columns.are_bad()) return columns.refusal();
  std::vector<Lease> rows;
  for (int i = 0; i < fetched.slice_size(); ++i)
    rows.push_back({SliceId(fetched.slice(i)), attempt_of(fetched.attempt(i))});
  return rows;
}

}  // namespace weir::slice_codec
