#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::launch {

// What a process said last before it failed: the reason of the last line of level error, in either log
// format; without such a line, the last line that is none of the log's (an assertion, the C library's last
// words); empty when there is none.
[[nodiscard]] std::string last_error(std::string_view log);
// The same of what a file holds beyond its first `from` bytes; empty when it cannot be read.
[[nodiscard]] std::string last_error_of_file(const std::string& path, std::uint64_t from);

}  // namespace weir::launch
