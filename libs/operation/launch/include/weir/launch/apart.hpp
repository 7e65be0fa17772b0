#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <functional>
#include <string>

namespace weir::launch {

// Runs `work` in a forked child process, which it may end or block, and returns its text. The processes that
// it started are killed. The error says how the child ended without a text.
// Requires: this process has one thread.
[[nodiscard]] Expected<std::string, std::string> run_apart(const std::function<std::string()>& work,
                                                           DurationNs limit);

}  // namespace weir::launch
