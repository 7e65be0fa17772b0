#pragma once

#include <cstdint>
#include <string>

namespace weir::telemetry {

enum class LogFormat : std::uint8_t { text, json };

struct LogSettings {
  std::string level = "info";  // trace, debug, info, warning, error
  LogFormat format = LogFormat::text;
  std::string process;  // stands in every line
  std::uint32_t run = 0;
};

// Sets spdlog's default logger: one line per message on standard error, with time, level, process and run.
// Messages themselves are `what key=value key=value`.
void set_up_logging(const LogSettings& settings);

}  // namespace weir::telemetry
