#pragma once

#include <weir/base/time.hpp>
#include <weir/telemetry/cause_limit.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::dcm {

// Counts failures of the filter, and limits the lines about them. Texts may come from a worker, so they
// may be anything. Pure.
class FilterErrors {
 public:
  // A line to log.
  struct Line {
    std::string reason;
    std::uint64_t count = 0;  // such events since the last line
  };
  // Count an event; nullopt: no line is due.
  [[nodiscard]] std::optional<Line> note_error(const std::string& text, TimeNs now_ns);
  [[nodiscard]] std::optional<Line> note_poison(const std::string& text, TimeNs now_ns);
  // A slice became poison elsewhere.
  void count_poison() { ++poisoned_; }
  // A worker has ended; not counted here.
  [[nodiscard]] std::optional<Line> note_end(const std::string& text, TimeNs now_ns) {
    return line_of("end ", text, text, now_ns);
  }
  // `held_slice`: the number of the slice that the filter has held for too long; empty: none.
  void add_to(v1::Report& report, const std::string& held_slice) const;

 private:
  [[nodiscard]] std::optional<Line> line_of(const char* kind, const std::string& cause,
                                            const std::string& text, TimeNs now_ns);

  std::uint64_t errors_ = 0;
  std::uint64_t poisoned_ = 0;
  std::string first_error_;
  std::string first_poison_;
  std::string last_error_;
  telemetry::CauseLimit limit_;
};

// Returns the first line of a text, clean and of limited length.
[[nodiscard]] std::string first_line(const std::string& text);

}  // namespace weir::dcm
