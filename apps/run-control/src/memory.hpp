#pragma once

#include <weir/base/expected.hpp>
#include <weir/v1/bus.pb.h>

#include <string>

namespace weir::run_control {

// What run control writes down: text, replaced as a whole. The error is a sentence.
[[nodiscard]] std::string write_memory(const std::string& path, const v1::ControlMemory& memory);
// An empty one where there is no file yet.
[[nodiscard]] Expected<v1::ControlMemory, std::string> read_memory(const std::string& path);

}  // namespace weir::run_control
