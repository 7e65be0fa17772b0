#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

// A covering array of strength two: rows of values, one a column, such that every possible pair of values of
// two columns occurs in a row.
namespace weir::system_test {

struct Column {
  std::string_view name;
  std::vector<std::string_view> values;
};

// An index into each column's values.
using Row = std::vector<std::size_t>;
// A value of a column.
struct Value {
  std::size_t column = 0;
  std::size_t index = 0;
  auto operator<=>(const Value&) const = default;
};
using Pair = std::pair<Value, Value>;  // the first one's column is the lower

// Returns all pairs that `possible` allows.
[[nodiscard]] inline std::set<Pair> possible_pairs(const std::vector<Column>& columns,
                                                   const std::function<bool(const Pair&)>& possible) {
  std::set<Pair> pairs;
  for (std::size_t a = 0; a < columns.size(); ++a)
    for (std::size_t b = a + 1; b < columns.size(); ++b)
      for (std::size_t i = 0; i < columns[a].values.size(); ++i)
        for (std::size_t j = 0; j < columns[b].values.size(); ++j)
          if (const Pair pair{{a, i}, {b, j}}; possible(pair)) pairs.insert(pair);
  return pairs;
}

// Builds rows greedily, always the same ones: a row begins with the first uncovered pair, and each further
// column takes the possible value that covers most uncovered pairs. A pair that fits into no row stays
// uncovered.
class PairTable {
 public:
  PairTable(std::vector<Column> columns, std::function<bool(const Pair&)> possible)
      : columns_(std::move(columns)), possible_(std::move(possible)) {
    std::set<Pair> uncovered = possible_pairs(columns_, possible_);
    while (!uncovered.empty()) {
      const Pair first = *uncovered.begin();
      const Row row = row_with(first, uncovered);
      for (const Pair& pair : pairs_of(row)) uncovered.erase(pair);
      uncovered.erase(first);
      if (!row.empty()) rows_.push_back(row);
    }
  }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] static std::vector<Pair> pairs_of(const Row& row) {
    std::vector<Pair> pairs;
    for (std::size_t a = 0; a < row.size(); ++a)
      for (std::size_t b = a + 1; b < row.size(); ++b) pairs.push_back({{a, row[a]}, {b, row[b]}});
    return pairs;
  }

 private:
  static constexpr std::size_t kOpen = SIZE_MAX;

  [[nodiscard]] bool fits(const Row& row, Value value) const {
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (row[column] == kOpen || column == value.column) continue;
      if (!possible_(ordered({column, row[column]}, value))) return false;
    }
    return true;
  }
  [[nodiscard]] static Pair ordered(Value a, Value b) {
    return a.column < b.column ? Pair{a, b} : Pair{b, a};
  }
  [[nodiscard]] static std::size_t gain(const Row& row, Value value, const std::set<Pair>& uncovered) {
    std::size_t covered = 0;
    for (std::size_t column = 0; column < row.size(); ++column)
      if (row[column] != kOpen && column != value.column)
        covered += uncovered.count(ordered({column, row[column]}, value));
    return covered;
  }
  // Whether the open columns can be filled at all.
  [[nodiscard]] bool can_be_filled(Row& row) const {
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (row[column] != kOpen) continue;
      for (std::size_t index = 0; index < columns_[column].values.size(); ++index) {
        if (!fits(row, {column, index})) continue;
        row[column] = index;
        const bool filled = can_be_filled(row);
        row[column] = kOpen;
        if (filled) return true;
      }
      return false;
    }
    return true;
  }
  // Empty if no row has this pair.
  [[nodiscard]] Row row_with(const Pair& pair, const std::set<Pair>& uncovered) const {
    Row row(columns_.size(), kOpen);
    row[pair.first.column] = pair.first.index;
    row[pair.second.column] = pair.second.index;
    if (!can_be_filled(row)) return {};
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (row[column] != kOpen) continue;
      std::size_t best = kOpen;
      std::size_t most = 0;
      for (std::size_t index = 0; index < columns_[column].values.size(); ++index) {
        if (!fits(row, {column, index})) continue;
        row[column] = index;
        const bool filled = can_be_filled(row);
        row[column] = kOpen;
        const std::size_t covered = gain(row, {column, index}, uncovered);
        if (filled && (best == kOpen || covered > most)) {
          best = index;
          most = covered;
        }
      }
      row[column] = best;
    }
    return row;
  }

  std::vector<Column> columns_;
  std::function<bool(const Pair&)> possible_;
  std::vector<Row> rows_;
};

}  // namespace weir::system_test
