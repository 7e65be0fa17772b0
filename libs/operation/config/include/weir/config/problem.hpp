#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::config {

// Kinds of problems in a farm file. For each value a test checks the exact text of a message.
enum class ProblemKind : std::uint8_t {
  unreadable,  // no such file, too large, not text
  syntax,      // not YAML, or YAML features that farm files do not use
  unknown_key,
  duplicate_key,
  missing_key,  // a key that an entry, or another key's value, needs
  wrong_kind,   // a list where a number is expected
  bad_value,    // the right kind, but not a value of this key
  out_of_range,
  inconsistent,  // correct by itself, but contradicts another key
};

enum class Severity : std::uint8_t { error, warning };

struct Problem {
  ProblemKind kind = ProblemKind::bad_value;
  Severity severity = Severity::error;
  std::string where;  // "configs/farm.yaml:14", "--set", or empty
  std::string key;    // "dcm.credits", or empty
  std::string what;   // "0 is below 1"

  // Returns "configs/farm.yaml:14: dcm.credits: 0 is below 1", "--set dcm.credits: 0 is below 1".
  [[nodiscard]] std::string text() const;
};

using Problems = std::vector<Problem>;

// Of a file with more problems, this many are reported, and that more exist.
constexpr std::size_t kProblemsMax = 100;

[[nodiscard]] bool has_errors(const Problems& problems);

// Returns one line per problem, without a newline at the end.
[[nodiscard]] std::string to_text(const Problems& problems);

}  // namespace weir::config
