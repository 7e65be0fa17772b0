#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>

#include <algorithm>

namespace weir::config {

std::string Problem::text() const {
  std::string line = where;
  if (!key.empty()) {
    if (!line.empty()) line += where == kSetOption ? " " : ": ";
    line += key;
  }
  if (!line.empty()) line += ": ";
  return line + what;
}

bool has_errors(const Problems& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [](const Problem& problem) { return problem.severity == Severity::error; });
}

std::string to_text(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += problem.text();
  }
  return text;
}

}  // namespace weir::config
