#pragma once

#include <algorithm>

// Lists about many slices are columns, and one that would be all zero is left out
// (docs/decisions/0004-control-lists-are-columns.md). Pure.
namespace weir::node {

// Of a column that was filled: emptied when nothing but zeros is in it.
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

// Whether a received column can be one of so many rows.
template <class Column>
[[nodiscard]] bool fits(const Column& column, int rows) {
  return column.empty() || column.size() == rows;
}

}  // namespace weir::node
