#pragma once

#include <weir/page/state.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace weir::page {

// The latest log lines; the oldest leaves for a new one when it is full, counted. One thread.
class LogRing {
 public:
  LogRing(std::size_t lines_max, std::size_t line_bytes_max)
      : lines_max_(lines_max), line_bytes_max_(line_bytes_max) {}

  struct Query {
    std::string text;                  // in the line or in the process's name, whatever the case; empty: any
    std::string process;               // exactly; empty: any
    LogLevel level = LogLevel::trace;  // this one or more important
    std::size_t lines_max = 200;
  };
  struct Entry {
    std::uint64_t number = 0;  // counts from 1
    LogLine line;
  };

  // The line as it is kept: cut where it is too long, with clean_text().
  const Entry& add(LogLine line);
  // The latest that match, in their order.
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
