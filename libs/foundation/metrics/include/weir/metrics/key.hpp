#pragma once

#include <weir/metrics/table.hpp>

#include <string_view>

namespace weir::metrics {

enum class Shape : std::uint8_t { one, family };

// A key of the table, made from a literal at compile time. A number that the table does not have, or has as
// another kind, does not compile.
//
//  counter_of(report, "fragments.recieved")  // error: not_in_the_table() is not constexpr
template <Entry::From from, Shape shape = Shape::one>
class Key {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a literal converts implicitly on purpose
  consteval Key(const char* text) : text_(text) {
    for (const Entry& entry : kTable) {
      if (entry.from == from && entry.key == text_ && entry.is_family() == (shape == Shape::family)) return;
    }
    not_in_the_table();
  }

  [[nodiscard]] constexpr std::string_view text() const { return text_; }

 private:
  static void not_in_the_table() {}

  std::string_view text_;
};

using CounterKey = Key<Entry::From::counter>;
using FamilyKey = Key<Entry::From::counter, Shape::family>;  // counters whose keys end in a reason
using GaugeKey = Key<Entry::From::gauge>;
using SumKey = Key<Entry::From::sum>;
using HistogramKey = Key<Entry::From::histogram>;

}  // namespace weir::metrics
