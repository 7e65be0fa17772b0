#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weir::telemetry {

enum class LogFormat : std::uint8_t { text, json };

struct LogSettings {
  std::string level = "info";  // has to pass is_log_level()
  LogFormat format = LogFormat::text;
  std::string process;  // part of every line
  std::uint32_t run = 0;
};

// Also receives each line from level `info` up, on the logging thread; must not log. May be null. Level and
// text are those of the line.
using LogListener = std::function<void(UtcNs utc_ns, const std::string& level, const std::string& text)>;
void on_log_line(LogListener listener);

// Returns whether it is trace, debug, info, warning or error. No level silences the log.
[[nodiscard]] bool is_log_level(std::string_view level);
// Changes the level of the logger made by set_up_logging(). Returns false, without a change, for an unknown
// level.
[[nodiscard]] bool set_log_level(const std::string& level);
// Sets the run in every line; 0: no run.
void set_log_run(std::uint32_t run);

// Longer messages are cut and marked.
constexpr std::size_t kLineBytesMax = 8192;

// Sets spdlog's default logger: one line per message on standard error, with time, level, process and run.
// Messages have the form `event key=value key=value`; all text is passed through clean_text() (base).
// Libraries' own output goes through it as well, a few lines per ten seconds, with the number left out.
void set_up_logging(const LogSettings& settings);

}  // namespace weir::telemetry
