#include "assertion_log.hpp"
#include "library_log.hpp"
#include <weir/base/text.hpp>
#include <weir/telemetry/log.hpp>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>

namespace weir::telemetry {
namespace {

// Formats the message as the inside of a JSON string.
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

// A line may contain text of a peer or a plugin, so it is cleaned here once, before all sinks.
class CleanLogger final : public spdlog::logger {
 public:
  using spdlog::logger::logger;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const InsideLog inside;
    const std::string_view said(message.payload.data(), message.payload.size());
    const std::string text = clean_text(said, kLineBytesMax);
    if (text == said) return logger::sink_it_(message);
    spdlog::details::log_msg clean = message;
    clean.payload = text;
    logger::sink_it_(clean);
  }
};

class ListenerSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void listen(LogListener listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!listener_) return;
    const auto utc = std::chrono::duration_cast<std::chrono::nanoseconds>(message.time.time_since_epoch());
    const spdlog::string_view_t level = spdlog::level::to_string_view(message.level);
    listener_(utc.count(), std::string(level.data(), level.size()),
              std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  LogListener listener_;
};

const std::shared_ptr<ListenerSink>& listener_sink() {
  static const auto sink = [] {
    auto made = std::make_shared<ListenerSink>();
    made->set_level(spdlog::level::info);
    return made;
  }();
  return sink;
}

LogSettings& current() {
  static LogSettings settings;
  return settings;
}

std::unique_ptr<spdlog::formatter> formatter_of(const LogSettings& settings) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonPayload>('*');
  const std::string run = std::to_string(settings.run);
  if (settings.format == LogFormat::json) {
    formatter->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","process":"%n","run":)" + run +
                           R"(,"message":"%*"})");
  } else {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ level=%l process=%n run=" + run + " %v");
  }
  return formatter;
}

}  // namespace

void set_up_logging(const LogSettings& settings) {
  current() = settings;
  auto logger = std::make_shared<CleanLogger>(
      settings.process,
      spdlog::sinks_init_list{std::make_shared<spdlog::sinks::stderr_sink_mt>(), listener_sink()});
  logger->set_formatter(formatter_of(settings));
  logger->set_level(spdlog::level::from_str(settings.level));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  take_over_library_logs();
  log_broken_invariants();
}

void on_log_line(LogListener listener) { listener_sink()->listen(std::move(listener)); }

bool is_log_level(std::string_view level) {
  constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warning", "error"};
  return std::find(std::begin(kLevels), std::end(kLevels), level) != std::end(kLevels);
}

bool set_log_level(const std::string& level) {
  if (!is_log_level(level)) return false;
  current().level = level;
  spdlog::default_logger()->set_level(spdlog::level::from_str(level));
  return true;
}

void set_log_run(std::uint32_t run) {
  current().run = run;
  spdlog::default_logger()->set_formatter(formatter_of(current()));
}

}  // namespace weir::telemetry
