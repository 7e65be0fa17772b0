#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::launch {

// Returns the reason of the last log line of level error, in either log format. Without such a line, returns
// the last line that is not from the log (an assertion, a message of the C library), or an empty string.
[[nodiscard]] std::string last_error(std::string_view log);
// The same for a file's contents after its first `from` bytes; empty if the file cannot be read.
[[nodiscard]] std::string last_error_of_file(const std::string& path, std::uint64_t from);

}  // namespace weir::launch
