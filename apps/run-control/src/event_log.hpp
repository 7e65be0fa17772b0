#pragma once

#include <weir/base/time.hpp>
#include <weir/bus/hub.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/v1/bus.pb.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace weir::run_control {

// The farm's last events; each is also passed on to the log and to listeners.
class EventLog {
 public:
  static constexpr std::size_t kKept = 500;
  static constexpr std::size_t kBytesMax = 2000;       // per text, because some contain words of strangers
  static constexpr std::uint64_t kRefusalsTold = 100;  // further ones are only counted

  static constexpr DurationNs kStrangersApart = 60 * kSecond;

  using Listener = std::function<void(const v1::FarmView::Line&)>;
  explicit EventLog(Listener listener) : listener_(std::move(listener)) {}

  void note(control::Level level, const std::string& text);
  void error(const std::string& text) { note(control::Level::error, text); }
  // A join from this address.
  void refused(const std::string& address, const std::string& why);

  // Notes new refusals of connections for their keys, by the bus' counters: an event in kStrangersApart at
  // most.
  void strangers(const bus::HubCounters& counters, TimeNs now);

  [[nodiscard]] const std::deque<v1::FarmView::Line>& lines() const { return lines_; }  // newest last
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

 private:
  Listener listener_;
  std::deque<v1::FarmView::Line> lines_;
  std::uint64_t refusals_ = 0;
  std::uint64_t strangers_told_ = 0;
  TimeNs next_strangers_ns_ = 0;
};

}  // namespace weir::run_control
