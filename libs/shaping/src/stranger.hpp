#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// Whether somebody else fills the port's buffer, or the port has become slower: both halve what comes. A port
// that is slower is empty as soon as this collector asks for nothing; a stranger's queue stays. Whoever goes
// on filling a buffer although others give way leaves them next to nothing, so a stranger is pushed back, up
// to half of the port. Pure.
class Stranger {
 public:
  enum class Advice : std::uint8_t {
    none,    // the window is found as on any port
    hold,    // it stays as it is
    probe,   // ask for next to nothing for a moment, and tell what was seen: probed()
    push,    // a larger one
    unpush,  // the last push brought nothing: as it was before
    gone,    // the window that it had before the first push
    slower,  // the port is another one
  };

  // What the port brought when nobody else was there, bytes per ns; the highest counts.
  void alone(double rate);
  // So much came at once at the end of an epoch, while the window was so large.
  [[nodiscard]] Advice epoch(double rate, double window, TimeNs now_ns);
  // Data was lost although the window had been made smaller.
  void lost(TimeNs now_ns) { lost_ns_ = now_ns; }
  // What waited in the port of somebody else, bytes.
  void probed(double bytes, TimeNs now_ns);
  // The port is another one, or is divided anew.
  void forget();

  // As far as the last probe said.
  [[nodiscard]] bool there() const { return there_; }
  [[nodiscard]] double before_push() const { return before_push_window_; }
  [[nodiscard]] double before_all() const { return first_window_; }

 private:
  [[nodiscard]] Advice push(double rate, double window, TimeNs now_ns);

  double alone_rate_ = 0;
  int low_epochs_ = 0;
  TimeNs low_since_ns_ = 0;
  TimeNs lost_ns_ = -kSecond;
  bool there_ = false;  // as the last probe said
  TimeNs probe_ns_ = -kSecond;
  double before_push_rate_ = 0;  // 0: no push is on trial
  double before_push_window_ = 0;
  double first_window_ = 0;
  int pushes_in_vain_ = 0;
  TimeNs no_push_until_ns_ = 0;
};

}  // namespace weir::shaping
