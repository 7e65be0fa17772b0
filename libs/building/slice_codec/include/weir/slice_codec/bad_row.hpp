#pragma once

#include <weir/base/expected.hpp>
#include <weir/slice_codec/columns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::slice_codec {

// Why a message is refused: the first entry that no process sends.
struct BadRow {
  std::string_view message;  // "Assign"
  std::string_view column;   // "attempt"
  std::size_t row = 0;       // its place in the column
  bool operator==(const BadRow&) const = default;
};

// Compares the columns of one message with its rows.
class Columns {
 public:
  Columns(std::string_view message, int rows) : message_(message), rows_(rows) {}

  // A column has an entry for each row, or is left out.
  template <class Column>
  Columns& fits(std::string_view name, const Column& column) {
    if (!slice_codec::fits(column, rows_)) note(name, end_of(column));
    return *this;
  }
  // A column that may not be left out.
  template <class Column>
  Columns& fills(std::string_view name, const Column& column) {
    if (static_cast<std::size_t>(column.size()) != static_cast<std::size_t>(rows_))
      note(name, end_of(column));
    return *this;
  }
  // Likewise, of attempts, epochs or nodes: 16 bits each.
  template <class Column>
  Columns& fits_small(std::string_view name, const Column& column) {
    fits(name, column);
    return are_small(name, column);
  }
  template <class Column>
  Columns& fills_small(std::string_view name, const Column& column) {
    fills(name, column);
    return are_small(name, column);
  }
  [[nodiscard]] bool has_row(std::uint32_t index) const { return index < static_cast<std::uint32_t>(rows_); }
  [[nodiscard]] Unexpected<BadRow> refuse(std::string_view name, std::size_t row) const {
    return Unexpected<BadRow>(BadRow{message_, name, row});
  }
  [[nodiscard]] bool are_bad() const { return !bad_.message.empty(); }
  // The first of them. Requires: are_bad().
  [[nodiscard]] Unexpected<BadRow> refusal() const { return Unexpected<BadRow>(bad_); }

 private:
  template <class Column>
  Columns& are_small(std::string_view name, const Column& column) {
    const auto large =
        std::find_if(column.begin(), column.end(), [](auto entry) { return entry > UINT16_MAX; });
    if (large != column.end()) note(name, static_cast<std::size_t>(large - column.begin()));
    return *this;
  }
  // The first row without an entry, or the first entry without a row.
  template <class Column>
  [[nodiscard]] std::size_t end_of(const Column& column) const {
    return std::min(static_cast<std::size_t>(column.size()), static_cast<std::size_t>(rows_));
  }
  void note(std::string_view name, std::size_t row) {
    if (!are_bad()) bad_ = {message_, name, row};
  }

  std::string_view message_;
  int rows_;
  BadRow bad_;
};

}  // namespace weir::slice_codec
