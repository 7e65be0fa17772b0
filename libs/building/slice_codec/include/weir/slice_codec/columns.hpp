#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

// Lists about many slices are columns; an all-zero column is left out
// (docs/decisions/0004-control-lists-are-columns.md). Pure.
namespace weir::slice_codec {

// Clears a filled column if it contains only zeros.
template <class Column>
void leave_out_zeros(Column& column) {
  if (std::none_of(column.begin(), column.end(), [](const auto& entry) { return entry != 0; }))
    column.Clear();
}

template <class Column>
[[nodiscard]] auto at_or_zero(const Column& column, int row) {
  using Entry = typename Column::value_type;
  return row < column.size() ? column[row] : Entry{};
}

// Returns whether a received column can have this many rows.
template <class Column>
[[nodiscard]] bool fits(const Column& column, int rows) {
  return column.empty() || column.size() == rows;
}

// Small numbers (a verdict, an outcome) take one byte each.
inline void add(std::string& column, int entry) { column.push_back(static_cast<char>(entry)); }
inline void leave_out_zeros(std::string& column) {
  if (column.find_first_not_of('\0') == std::string::npos) column.clear();
}
[[nodiscard]] inline std::uint8_t at_or_zero(const std::string& column, int row) {
  const auto place = static_cast<std::size_t>(row);
  return place < column.size() ? static_cast<std::uint8_t>(column[place]) : std::uint8_t{0};
}
[[nodiscard]] inline bool fits(const std::string& column, int rows) {
  return column.empty() || column.size() == static_cast<std::size_t>(rows);
}

}  // namespace weir::slice_codec
