#pragma once

#include <weir/base/time.hpp>
#include <weir/control/states.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// Clients that receive every change while they renew their request in time. Pure.
class FarmWatchers {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr DurationNs kLease = 10 * kSecond;

  struct Watcher {
    std::string client;
    std::uint64_t id = 0;  // of its last request: included in each view
    TimeNs until_ns = 0;
  };
  // State that is sent immediately when it changes.
  struct Seen {
    control::State state = control::State::idle;
    std::optional<control::Command> under_way;
    bool operator==(const Seen&) const = default;
  };
  enum class Due : std::uint8_t { nothing, view, run_over /* and the view */ };

  // False: there are as many as there may be.
  [[nodiscard]] bool add(const std::string& client, std::uint64_t id, TimeNs now);
  void supervisor_reported() { told_ = false; }
  // Handles a run's end; a repeated end is not news.
  void take(const v1::BusMessage& run_over);
  // Once for each change, each report and each run's end.
  [[nodiscard]] Due due(const Seen& now);
  // Returns the clients with a recent request.
  [[nodiscard]] const std::vector<Watcher>& present(TimeNs now);
  // The last one; null: none since this process started.
  [[nodiscard]] const v1::BusMessage* run_over() const { return run_over_ ? &*run_over_ : nullptr; }

 private:
  std::vector<Watcher> watchers_;
  Seen seen_;
  bool told_ = true;  // the supervisor's last report
  std::optional<v1::BusMessage> run_over_;
  bool run_over_told_ = true;
};

}  // namespace weir::run_control
