#include <weir/telemetry/log.hpp>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace weir::telemetry {
namespace {

// The message as the inside of a JSON string.
class JsonPayload final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    constexpr char kHex[] = "0123456789abcdef";
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out.push_back('\\');
        out.push_back(c);
      } else if (byte < 0x20) {
        for (const char escaped : {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]})
          out.push_back(escaped);
      } else {
        out.push_back(c);
      }
    }
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonPayload>();
  }
};

}  // namespace

void set_up_logging(const LogSettings& settings) {
  auto logger =
      std::make_shared<spdlog::logger>(settings.process, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonPayload>('*');
  const std::string run = std::to_string(settings.run);
  if (settings.format == LogFormat::json) {
    formatter->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","process":"%n","run":)" + run +
                           R"(,"message":"%*"})");
  } else {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ level=%l process=%n run=" + run + " %v");
  }
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(settings.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace weir::telemetry
