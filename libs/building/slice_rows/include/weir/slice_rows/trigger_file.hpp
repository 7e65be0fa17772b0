#pragma once

#include <weir/base/expected.hpp>
#include <weir/slice_rows/words.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::slice_rows {

struct FileTrigger {
  SliceId slice;
  UtcNs time = 0;
  TriggerType type;
  std::vector<std::byte> payload;
};

// Parses a trigger file. One trigger per line, fields separated by blanks or tabs:
//
//   slice-number  time-in-ns  [type  [payload-in-hexadecimal]]
//
// `#` starts a comment; empty lines are ignored. Slice numbers may be in any order, each once; the time is
// UTC in ns (arbitrary if the file's pace is not used); the type defaults to 0. `path` is only used in the
// error, `path:line: description`. Stops at the first error.
[[nodiscard]] Expected<std::vector<FileTrigger>, std::string> parse_trigger_file(std::string_view text,
                                                                                 std::string_view path);
// Returns the index of the first trigger with a slice number below its predecessor's; nullopt if the numbers
// ascend.
[[nodiscard]] std::optional<std::size_t> first_descending(const std::vector<FileTrigger>& triggers);

}  // namespace weir::slice_rows
