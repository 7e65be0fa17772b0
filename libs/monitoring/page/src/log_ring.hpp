#pragma once

#include <weir/page/state.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace weir::page {

// The latest log lines. A new line replaces the oldest if the ring is full, which is counted. Not
// thread-safe.
class LogRing {
 public:
  LogRing(std::size_t lines_max, std::size_t line_bytes_max)
      : lines_max_(lines_max), line_bytes_max_(line_bytes_max) {}

  struct Query {
    std::string text;                  // in the line or the process' name, ignoring case; empty: any
    std::string process;               // exact name; empty: any
    LogLevel level = LogLevel::trace;  // this level or a more important one
    std::size_t lines_max = 200;
  };
  struct Entry {
    std::uint64_t number = 0;  // counts from 1
    LogLine line;
  };

  // Adds the line, cut if it is too long and cleaned with clean_text().
  const Entry& add(LogLine line);
  // Returns the latest matching lines, in order.
  [[nodiscard]] std::deque<const Entry*> find(const Query& query) const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  std::size_t lines_max_;
  std::size_t line_bytes_max_;
  std::deque<Entry> entries_;
  std::uint64_t next_ = 1;
  std::uint64_t dropped_ = 0;
};

}  // namespace weir::page
