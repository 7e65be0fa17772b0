#include "event_log.hpp"

#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace weir::run_control {

void EventLog::note(control::Level level, const std::string& said) {
  const std::string text = clean_text(said, kBytesMax);
  constexpr const char* kNames[] = {"info", "warning", "error"};
  v1::FarmView::Line& line = lines_.emplace_back();
  line.set_utc_ns(utc_now_ns());
  line.set_level(kNames[static_cast<std::size_t>(level)]);
  line.set_text(text);
  if (lines_.size() > kKept) lines_.pop_front();
  if (level == control::Level::info) spdlog::info("{}", text);
  if (level == control::Level::warning) spdlog::warn("{}", text);
  if (level == control::Level::error) spdlog::error("{}", text);
  listener_(line);
}

void EventLog::refused(const std::string& address, const std::string& why) {
  if (++refusals_ <= kRefusalsTold)
    note(control::Level::warning, fmt::format("refused {}: {}", address, why));
}

}  // namespace weir::run_control
