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
  std::string level = "info";  // is_log_level()
  LogFormat format = LogFormat::text;
  std::string process;  // stands in every line
  std::uint32_t run = 0;
};

// Also given to this, from `info` up, on the thread that logs; it must not log. Null: not. The level
// and text are as in the line.
using LogListener = std::function<void(UtcNs utc_ns, const std::string& level, const std::string& text)>;
void on_log_line(LogListener listener);

// One of trace, debug, info, warning, error. There is none that silences the log.
[[nodiscard]] bool is_log_level(std::string_view level);
// From now on, of the logger that set_up_logging() made. False: there is no such level, and nothing changes.
[[nodiscard]] bool set_log_level(const std::string& level);
// The run that stands in every line; 0: none is on.
void set_log_run(std::uint32_t run);

// Longer messages are cut, and say so.
constexpr std::size_t kLineBytesMax = 8192;

// Sets spdlog's default logger: one line per message on standard error, with time, level, process and run.
// Messages themselves are `what key=value key=value`; whatever is in them comes out as clean_text() (base).
// What libraries would print goes through it too, a few lines in ten seconds, with how many were left out.
void set_up_logging(const LogSettings& settings);

}  // namespace weir::telemetry
