#pragma once

#include <weir/base/expected.hpp>
#include <weir/filter_try/command.hpp>

#include <string>

namespace weir::filter_try {

// The command as text, for the process that has the filter's interpreter.
[[nodiscard]] std::string to_json(const TryCommand& command);
// Errors: a sentence when the text is not of to_json().
[[nodiscard]] Expected<TryCommand, std::string> parse_command(const std::string& text);

}  // namespace weir::filter_try
