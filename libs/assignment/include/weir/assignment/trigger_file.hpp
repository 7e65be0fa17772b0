#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/expected.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace weir::assignment {

struct FileTrigger {
  SliceId slice;
  UtcNs time = 0;
  TriggerType type;
  std::vector<std::byte> payload;
};

// The text of a trigger file. One trigger a line, fields apart by blanks or tabs:
//
//   slice-number  time-in-ns  [type  [payload-in-hexadecimal]]
//
// `#` starts a comment, empty lines count for nothing. Slice numbers may come in any order, each once; the
// time is UTC in ns (and may be anything where the file's pace is not asked for); the type is 0 unless said.
// `path` only serves the error, which reads `path:line: what is wrong`. The first error ends it.
[[nodiscard]] Expected<std::vector<FileTrigger>, Failure> parse_trigger_file(std::string_view text,
                                                                             std::string_view path);
// Returns the first trigger with a slice number below the one before; none: the numbers ascend.
[[nodiscard]] std::optional<std::size_t> first_descending(const std::vector<FileTrigger>& triggers);

}  // namespace weir::assignment
