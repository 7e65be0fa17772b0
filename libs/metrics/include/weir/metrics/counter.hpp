#pragma once

#include <cstdint>

namespace weir::metrics {

// Counts upwards for as long as its process lives. One thread.
class Counter {
 public:
  constexpr Counter() = default;
  constexpr explicit Counter(std::uint64_t value) : value_(value) {}

  constexpr void add(std::uint64_t n = 1) { value_ += n; }
  constexpr void merge(const Counter& other) { value_ += other.value_; }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  constexpr bool operator==(const Counter&) const = default;

 private:
  std::uint64_t value_ = 0;
};

// What is there at this moment: bytes held, slices in flight. Merged over processes it is their sum.
class Gauge {
 public:
  constexpr Gauge() = default;
  constexpr explicit Gauge(std::int64_t value) : value_(value) {}

  constexpr void set(std::int64_t value) { value_ = value; }
  constexpr void add(std::int64_t n) { value_ += n; }
  constexpr void merge(const Gauge& other) { value_ += other.value_; }
  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  constexpr bool operator==(const Gauge&) const = default;

 private:
  std::int64_t value_ = 0;
};

}  // namespace weir::metrics
