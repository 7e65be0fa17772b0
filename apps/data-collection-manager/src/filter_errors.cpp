#include "filter_errors.hpp"

#include <weir/base/text.hpp>
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/numbers.hpp>

namespace weir::dcm {

std::string first_line(const std::string& text) {
  constexpr std::size_t kBytesMax = 1000;
  return clean_quoted(text.substr(0, text.find('\n')), kBytesMax);
}

std::optional<FilterErrors::Line> FilterErrors::line_of(const char* kind, const std::string& cause,
                                                        const std::string& text, TimeNs now_ns) {
  const auto count = limit_.ask(kind + cause, now_ns);
  if (!count) return std::nullopt;
  return Line{first_line(text), *count};
}

std::optional<FilterErrors::Line> FilterErrors::note_error(const std::string& text, TimeNs now_ns) {
  last_error_ = first_line(text);
  if (++errors_ == 1) first_error_ = last_error_;
  return line_of("error ", last_error_, text, now_ns);
}

std::optional<FilterErrors::Line> FilterErrors::note_poison(const std::string& text, TimeNs now_ns) {
  const std::string reason = first_line(text);
  if (++poisoned_ == 1) first_poison_ = reason;
  return line_of("poison ", reason, text, now_ns);
}

void FilterErrors::add_to(v1::Report& report, const std::string& held_slice) const {
  reports::ReportCounters counters(report);
  counters["dcm.filter_errors"] = errors_;
  counters["dcm.poisoned"] = poisoned_;
  reports::note_filter_failure(report, first_error_, first_poison_);
  reports::note_filter_now(report, last_error_, held_slice);
}

}  // namespace weir::dcm
