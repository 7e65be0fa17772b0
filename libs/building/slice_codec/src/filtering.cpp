#include <weir/slice_codec/filtering.hpp>

namespace weir::slice_codec {

using slice_rows::FilterKill;
using slice_rows::FilterNote;
using slice_rows::Lease;

void encode(const FilterNote& note, std::uint64_t serial, v1::Filtering& out) {
  out.Clear();
  out.set_serial(serial);
  for (const Lease& lease : note.for_long) {
    out.add_slice(lease.slice.value);
    out.add_attempt(lease.attempt.value);
  }
  if (note.suspect) {
    out.set_suspect(note.suspect->slice.value);
    out.set_suspect_attempt(note.suspect->attempt.value);
  }
  for (const Lease& lease : note.beside) {
    out.add_beside(lease.slice.value);
    out.add_beside_attempt(lease.attempt.value);
  }
}

Expected<FilterNote, BadRow> decode(const v1::Filtering& filtering) {
  Columns columns("Filtering", filtering.slice_size());
  columns.fills_small("attempt", filtering.attempt());
  if (columns.are_bad()) return columns.refusal();
  if (filtering.suspect_attempt() > UINT16_MAX) return columns.refuse("suspect_attempt", 0);
  Columns beside("Filtering", filtering.beside_size());
  beside.fills_small("beside_attempt", filtering.beside_attempt());
  if (beside.are_bad()) return beside.refusal();
  const auto lease = [](std::uint64_t slice, std::uint32_t attempt) {
    return Lease{SliceId(slice), Attempt(static_cast<std::uint16_t>(attempt))};
  };
  FilterNote note;
  for (int i = 0; i < filtering.slice_size(); ++i)
    note.for_long.push_back(lease(filtering.slice(i), filtering.attempt(i)));
  if (filtering.has_suspect()) note.suspect = lease(filtering.suspect(), filtering.suspect_attempt());
  for (int i = 0; i < filtering.beside_size(); ++i)
    note.beside.push_back(lease(filtering.beside(i), filtering.beside_attempt(i)));
  return note;
}

void encode(std::span<const FilterKill> rows, v1::FilterKills& out) {
  out.Clear();
  for (const FilterKill& row : rows) {
    out.add_slice(row.slice.value);
    out.add_attempt(row.attempt.value);
    out.add_number(row.number);
  }
}

Expected<std::vector<FilterKill>, BadRow> decode(const v1::FilterKills& message) {
  Columns columns("FilterKills", message.slice_size());
  columns.fills_small("attempt", message.attempt()).fills("number", message.number());
  if (columns.are_bad()) return columns.refusal();
  std::vector<FilterKill> kills;
  for (int i = 0; i < message.slice_size(); ++i)
    kills.push_back({SliceId(message.slice(i)), Attempt(static_cast<std::uint16_t>(message.attempt(i))),
                     message.number(i)});
  return kills;
}

}  // namespace weir::slice_codec
