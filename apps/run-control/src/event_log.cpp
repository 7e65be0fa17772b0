#include "event_log.hpp"

#include <weir/base/figures.hpp>
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

void EventLog::strangers(const bus::HubCounters& counters, TimeNs now) {
  const std::uint64_t all = counters.refused_key + counters.refused_handshake;
  if (all == strangers_told_ || now < next_strangers_ns_) return;
  const std::string last =
      counters.refused_from.empty() ? "" : ", the last unknown key from " + counters.refused_from;
  note(control::Level::warning, fmt::format("the bus refused {} for a missing, foreign or unknown key{}",
                                            counted(all - strangers_told_, "connection"), last));
  strangers_told_ = all;
  next_strangers_ns_ = now + kStrangersApart;
}

}  // namespace weir::run_control
