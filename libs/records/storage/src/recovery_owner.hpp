#pragma once

#include <weir/storage/system_calls.hpp>

#include <string>

namespace weir::storage {

// Names and files of recoveries that have not published their file yet. Each has the name of its owner,
// because process ids are known only within one host, boot and name space of ids:
// ".recovering@HOST@BOOT@SPACE@PID@START".

// Returns the name in which this process writes the file `out`.
[[nodiscard]] std::string own_recovery(const std::string& out);

// Removes the files of recoveries of `out` of processes that have ended. Returns a sentence that
// names another one, which may be running.
[[nodiscard]] std::string clear_recoveries(SystemCalls& calls, const std::string& out);

}  // namespace weir::storage
