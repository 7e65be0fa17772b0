#pragma once

#include <weir/base/time.hpp>
#include <weir/control/health.hpp>
#include <weir/v1/bus.pb.h>

#include <optional>
#include <string>

namespace weir::run_control {

// Keeps the progress of the last sequence of runs, as its client reports it.
class SequenceWatch {
 public:
  static constexpr DurationNs kSilence = 60 * kSecond;  // a client that sends nothing has died
  static constexpr DurationNs kShown = 3600 * kSecond;  // after its last message

  // Returns why it is refused: another one is in progress; empty: taken. `by`: the client.
  [[nodiscard]] std::string take(v1::Sequence told, const std::string& by, TimeNs now, UtcNs utc);
  // Reports a client that has died before its sequence was over.
  [[nodiscard]] std::optional<control::Finding> finding(TimeNs now) const;
  void add_to(v1::FarmView& view, TimeNs now) const;

 private:
  [[nodiscard]] bool is_alive(TimeNs now) const { return last_ && !last_->over() && now - at_ < kSilence; }

  std::optional<v1::Sequence> last_;
  TimeNs at_ = 0;
};

}  // namespace weir::run_control
